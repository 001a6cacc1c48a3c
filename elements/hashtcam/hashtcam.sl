// SPDX-License-Identifier: Apache-2.0
/// A table of masked rules: every group has one mask and its own hash table; the highest priority of all groups wins. Software puts
/// the rules of one mask into one group, and rules that collide into several groups with the same mask.

import "../hash/five_tuple.sl";

struct tcam_result_t { bool hit; uint<16> priority; uint<32> value; }

.element HashTCAM <Groups = 16, Entries = 1024> (five_tuple4_t in -> tcam_result_t out) {
    .state {
        register uint<104> masks[Groups];
        struct entry_t { bool valid; uint<104> key; uint<16> priority; uint<32> value; } groups[Entries][Groups];
    }

    uint<clog2(Entries)> place(uint<104> key) { return five_tuple_hash((five_tuple4_t) key, 0); }

    .handler {
        uint<104> key = (uint<104>) read(in);
        tcam_result_t best;
        .repeat (group, 0, Groups) {
            uint<104> masked = key & masks[group];
            entry_t entry = groups[place(masked)][group];
            if (entry.valid && entry.key == masked && (!best.hit || entry.priority > best.priority)) {
                best.hit = true;
                best.priority = entry.priority;
                best.value = entry.value;
            }
        }
        write(out, best);
    }
    .signal void set_mask(uint<clog2(Groups)> group, five_tuple4_t mask) { masks[group] = (uint<104>) mask; }
    /// Returns the entry in the slot of `key` in a group.
    .signal entry_t get(uint<clog2(Groups)> group, five_tuple4_t key) {
        entry_t found;
        .repeat (g, 0, Groups) { if (group == g) found = groups[place((uint<104>) key & masks[g])][g]; }
        return found;
    }
    /// Writes an entry to its slot in a group, or empties the slot.
    .signal void put(uint<clog2(Groups)> group, bool valid, five_tuple4_t key, uint<16> priority, uint<32> value) {
        .repeat (g, 0, Groups) {
            if (group == g) {
                uint<104> masked = (uint<104>) key & masks[g];
                entry_t entry = {valid, masked, priority, value};
                groups[place(masked)][g] = entry;
            }
        }
    }
}
