// SPDX-License-Identifier: Apache-2.0
/// Longest prefix match as a search tree: software converts prefixes into sorted address ranges; a lookup walks from the root to
/// one of 2^Levels ranges. Every level has its own memory, so that a lookup can start every cycle. `starts_L` holds for each node
/// of level L the first address of its upper half. Software writes one tree while lookups use the other; `use` switches. At most 14
/// levels.

struct lpm_result_t { bool hit; uint<32> value; }

.element LPMTree <Levels = 14> (uint<32> in -> lpm_result_t out) {
    .state {
        bool tree;  /// tree that lookups use
        lpm_result_t values[2 << Levels];
        uint<32> starts_0[Levels > 0 ? 2 : 1];
        uint<32> starts_1[Levels > 1 ? 4 : 1];
        uint<32> starts_2[Levels > 2 ? 8 : 1];
        uint<32> starts_3[Levels > 3 ? 16 : 1];
        uint<32> starts_4[Levels > 4 ? 32 : 1];
        uint<32> starts_5[Levels > 5 ? 64 : 1];
        uint<32> starts_6[Levels > 6 ? 128 : 1];
        uint<32> starts_7[Levels > 7 ? 256 : 1];
        uint<32> starts_8[Levels > 8 ? 512 : 1];
        uint<32> starts_9[Levels > 9 ? 1024 : 1];
        uint<32> starts_10[Levels > 10 ? 2048 : 1];
        uint<32> starts_11[Levels > 11 ? 4096 : 1];
        uint<32> starts_12[Levels > 12 ? 8192 : 1];
        uint<32> starts_13[Levels > 13 ? 16384 : 1];
    }
    uint<15> below(uint<15> node, uint<32> address, uint<32> start) { return node << 1 | (address >= start); }
    /// Index of a node in its level: the second tree follows the first.
    uint<16> place(uint<15> node, bool which, uint level) { return (uint<16>) which << level | node; }

    .handler {
        uint<32> address = read(in);
        uint<15> node = 0;
        bool which = tree;
        if (Levels > 0) node = below(node, address, starts_0[(uint<1>) place(node, which, 0)]);
        if (Levels > 1) node = below(node, address, starts_1[(uint<2>) place(node, which, 1)]);
        if (Levels > 2) node = below(node, address, starts_2[(uint<3>) place(node, which, 2)]);
        if (Levels > 3) node = below(node, address, starts_3[(uint<4>) place(node, which, 3)]);
        if (Levels > 4) node = below(node, address, starts_4[(uint<5>) place(node, which, 4)]);
        if (Levels > 5) node = below(node, address, starts_5[(uint<6>) place(node, which, 5)]);
        if (Levels > 6) node = below(node, address, starts_6[(uint<7>) place(node, which, 6)]);
        if (Levels > 7) node = below(node, address, starts_7[(uint<8>) place(node, which, 7)]);
        if (Levels > 8) node = below(node, address, starts_8[(uint<9>) place(node, which, 8)]);
        if (Levels > 9) node = below(node, address, starts_9[(uint<10>) place(node, which, 9)]);
        if (Levels > 10) node = below(node, address, starts_10[(uint<11>) place(node, which, 10)]);
        if (Levels > 11) node = below(node, address, starts_11[(uint<12>) place(node, which, 11)]);
        if (Levels > 12) node = below(node, address, starts_12[(uint<13>) place(node, which, 12)]);
        if (Levels > 13) node = below(node, address, starts_13[(uint<14>) place(node, which, 13)]);
        write(out, values[(uint<Levels + 1>) place(node, which, Levels)]);
    }
    .signal void set_start(uint<4> level, bool which, uint<15> node, uint<32> start) {
        switch (level) {
        case 0: if (Levels > 0) starts_0[(uint<1>) place(node, which, 0)] = start; break;
        case 1: if (Levels > 1) starts_1[(uint<2>) place(node, which, 1)] = start; break;
        case 2: if (Levels > 2) starts_2[(uint<3>) place(node, which, 2)] = start; break;
        case 3: if (Levels > 3) starts_3[(uint<4>) place(node, which, 3)] = start; break;
        case 4: if (Levels > 4) starts_4[(uint<5>) place(node, which, 4)] = start; break;
        case 5: if (Levels > 5) starts_5[(uint<6>) place(node, which, 5)] = start; break;
        case 6: if (Levels > 6) starts_6[(uint<7>) place(node, which, 6)] = start; break;
        case 7: if (Levels > 7) starts_7[(uint<8>) place(node, which, 7)] = start; break;
        case 8: if (Levels > 8) starts_8[(uint<9>) place(node, which, 8)] = start; break;
        case 9: if (Levels > 9) starts_9[(uint<10>) place(node, which, 9)] = start; break;
        case 10: if (Levels > 10) starts_10[(uint<11>) place(node, which, 10)] = start; break;
        case 11: if (Levels > 11) starts_11[(uint<12>) place(node, which, 11)] = start; break;
        case 12: if (Levels > 12) starts_12[(uint<13>) place(node, which, 12)] = start; break;
        case 13: if (Levels > 13) starts_13[(uint<14>) place(node, which, 13)] = start; break;
        }
    }
    .signal void set_value(bool which, uint<15> node, bool hit, uint<32> value) {
        lpm_result_t result = {hit, value};
        values[(uint<Levels + 1>) place(node, which, Levels)] = result;
    }
    .signal void use(bool which) { tree = which; }
}
