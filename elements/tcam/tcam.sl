// SPDX-License-Identifier: Apache-2.0
/// A TCAM in block RAM: any mask for any entry; in a group the lowest slot wins, among groups the highest priority. For every value
/// of every byte of the key, a word says which entries can match; a lookup ANDs 13 such words. Software keeps the slots of a group
/// in priority order, and writes an entry while it is not valid.

import "../hashtcam/hashtcam.sl";

.element TCAM <Groups = 4, Entries = 512> (five_tuple4_t in -> tcam_result_t out) {
    constexpr uint BYTES = bytes(five_tuple4_t);

    .state {
        uint<Entries> matches[256][Groups * BYTES];
        register uint<Entries> valid[Groups];
        struct rule_t { uint<16> priority; uint<32> value; } rules[Entries][Groups];
    }

    constexpr uint PIECE = Entries < 64 ? Entries : 64;
    constexpr uint PIECES = Entries / PIECE;

    /// The lowest bit that is set, if any. First finds the pieces with any bit set, so that no step compares a whole word; then
    /// each step halves the rest.
    struct first_t { bool any; uint<clog2(Entries)> index; }
    first_t first(uint<Entries> rest) {
        uint<PIECES> some = 0;
        .repeat (i, 0, PIECES) { if ((uint<PIECE>) (rest >> PIECE * i) != 0) some |= 1 << i; }
        first_t found = {some != 0, 0};
        .repeat (step, 0, clog2(Entries)) {
            constexpr uint half = Entries >> step + 1;
            constexpr uint pieces = half < PIECE ? 1 : half / PIECE;
            bool is_above = half < PIECE ? (uint<half>) rest == 0 : (uint<pieces>) some == 0;
            if (is_above) {
                found.index |= half;
                rest >>= half;
                some >>= pieces;
            } else {
                rest = (uint<half>) rest;
            }
        }
        return found;
    }

    /// A word with the bit of a slot set; each step shifts by a constant, so that each can take its own cycle.
    uint<Entries> bit_of(uint<clog2(Entries)> slot) {
        uint<Entries> word = 1;
        .repeat (step, 0, clog2(Entries)) { if (slot >> step & 1) word <<= 1 << step; }
        return word;
    }

    .handler {
        uint<104> key = (uint<104>) read(in);
        tcam_result_t best;
        .repeat (group, 0, Groups) {
            uint<Entries> found = valid[group];
            .repeat (i, 0, BYTES) { found &= matches[(uint<8>) (key >> 8 * i)][group * BYTES + i]; }
            first_t lowest = first(found);
            rule_t rule = rules[lowest.index][group];
            if (lowest.any && (!best.hit || rule.priority > best.priority)) {
                best.hit = true;
                best.priority = rule.priority;
                best.value = rule.value;
            }
        }
        write(out, best);
    }
    /// For key bytes equal to `value`: bit i of `byte_matches` says whether the entry can match if byte i has this value. Byte 0 is
    /// the lowest of the key. Writing an entry takes 256 of these, while it is not valid.
    .signal void put_bytes(uint<clog2(Groups)> group, uint<clog2(Entries)> slot, uint<8> value, uint<13> byte_matches) {
        uint<Entries> here = bit_of(slot);
        .repeat (g, 0, Groups) {
            if (group == g) {
                .repeat (i, 0, BYTES) {
                    uint<Entries> others = matches[value][g * BYTES + i] & ~here;
                    matches[value][g * BYTES + i] = (byte_matches >> i & 1) ? others | here : others;
                }
            }
        }
    }
    /// Makes an entry valid with this priority and value, or invalid.
    .signal void put(uint<clog2(Groups)> group, uint<clog2(Entries)> slot, bool is_valid, uint<16> priority, uint<32> value) {
        uint<Entries> here = bit_of(slot);
        rule_t rule = {priority, value};
        .repeat (g, 0, Groups) {
            if (group == g) {
                valid[g] = is_valid ? valid[g] | here : valid[g] & ~here;
                rules[slot][g] = rule;
            }
        }
    }
}
