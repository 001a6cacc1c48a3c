// SPDX-License-Identifier: Apache-2.0
/// An exact table in block RAM: an entry is stored in its slot in one of the banks (Pagh and Rodler, cuckoo hashing). A lookup
/// reads all banks at once. Software moves entries: `get` reads a key's slot in a bank, `put` writes it.

import "../hash/five_tuple.sl";

struct cuckoo_result_t { bool hit; uint<32> value; }

.element CuckooHash <Banks = 4, Entries = 32768> (five_tuple4_t in -> cuckoo_result_t out) {
    .state { struct entry_t { bool valid; five_tuple4_t key; uint<32> value; } banks[Entries][Banks]; }

    uint<clog2(Entries)> place(five_tuple4_t key, uint bank) { return five_tuple_hash(key, 0x3c6ef372 * (bank + 1)); }

    .handler {
        five_tuple4_t key = read(in);
        cuckoo_result_t result;
        .repeat (bank, 0, Banks) {
            entry_t entry = banks[place(key, bank)][bank];
            if (entry.valid && entry.key == key) {
                result.hit = true;
                result.value |= entry.value;
            }
        }
        write(out, result);
    }
    /// Returns the entry in the slot of `key` in a bank.
    .signal entry_t get(uint<2> bank, five_tuple4_t key) {
        entry_t found;
        .repeat (b, 0, Banks) { if (bank == b) found = banks[place(key, b)][b]; }
        return found;
    }
    /// Writes the entry of `key` to its slot in a bank, or empties the slot.
    .signal void put(uint<2> bank, bool valid, five_tuple4_t key, uint<32> value) {
        entry_t entry = {valid, key, value};
        .repeat (b, 0, Banks) { if (bank == b) banks[place(key, b)][b] = entry; }
    }
}
