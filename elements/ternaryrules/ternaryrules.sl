// SPDX-License-Identifier: Apache-2.0
/// Rules with any mask over five-tuples, inserted and removed one by one: for each key, whether a rule matches and, below that bit,
/// the value of the rule with the highest priority, else 0. `rules_insert(key, mask, priority, value)` and `rules_remove(priority)`
/// answer with an errno (docs/guide/language.md, tables). No script manages the slots, as those of TCAM and HashTCAM have to be.

.element TernaryRules <K = 104, V = 32, Entries = 512> (uint<K> in -> uint<V + 1> out) {
    table ternary<uint<K>, uint<V>> rules[Entries];
    .handler {
        uint<V> value;
        bool hit = rules.lookup(read(in), value);
        write(out, (uint<V + 1>) hit << V | value);
    }
}
