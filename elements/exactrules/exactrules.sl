// SPDX-License-Identifier: Apache-2.0
/// Exact match with rules inserted and removed one by one: for each key, whether a rule exists and, below that bit, its value, else
/// 0. `rules_insert(key, value)` and `rules_remove(key)` answer with an errno (docs/guide/language.md, tables). The native body
/// never stalls for an update; the generated one drains first.

.element ExactRules <K = 104, V = 32, Entries = 4096> (uint<K> in -> uint<V + 1> out) {
    table exact<uint<K>, uint<V>> rules[Entries];
    .handler {
        uint<V> value;
        bool hit = rules.lookup(read(in), value);
        write(out, (uint<V + 1>) hit << V | value);
    }
    .native sv "el_exactrules_native.sv"
}
