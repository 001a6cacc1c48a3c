struct pair_t { uint<16> key; uint<8> cnt; }
uint<32> mix(uint<32> x) { if (x == 0) return 7; for (uint i = 0; i < 3; i++) { if (x > 100) return x; x = x * 3 + i; } return x; }
.element Hash (uint<32> in -> uint<32> out) {
    .state { pair_t table[64]; uint<8> small[4]; uint<16> big[32]; uint<8> grid[16][4]; }
    .init { for (uint i = 0; i < 64; i++) { table[i].key = i * 3; } small[2] = 9; }
    .handler {
        uint<32> x = read(in);
        uint<6> h = x >> 3;
        if (table[h].key == (uint<16>) x) { table[h].cnt += 1; }
        else { table[h].key = x; table[h].cnt = 0; }
        small[x & 3] += 1;
        big[5] += x; big[6] = big[5];
        for (uint i = 0; i < 4; i++) grid[(x >> 4) & 15][i] += i;
        uint<32> sum = 0;
        for (uint i = 0; i < 8; i++) { if (((x >> i) & 1) == 0) continue; if (i == 6) break; sum += i; }
        write(out, mix(x) + table[x].cnt + sum + small[1]);
    }
    .signal uint<8> get(uint<8> i) { return table[i].cnt; }
}
