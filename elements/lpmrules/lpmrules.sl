// SPDX-License-Identifier: Apache-2.0
/// Longest prefix match with rules inserted and removed one by one: for each key, whether a rule matches and, below that bit, the
/// value of the longest matching prefix, else 0. `rules_insert(key, length, value)` and `rules_remove(key, length)` answer with an
/// errno (docs/guide/language.md, tables). The native body never stalls for an update; the generated one drains first.

.element LpmRules <K = 32, V = 32, Entries = 512> (uint<K> in -> uint<V + 1> out) {
    table lpm<uint<K>, uint<V>> rules[Entries];
    .handler {
        uint<V> value;
        bool hit = rules.lookup(read(in), value);
        write(out, (uint<V + 1>) hit << V | value);
    }
    .native sv "el_lpmrules_native.sv"
}
