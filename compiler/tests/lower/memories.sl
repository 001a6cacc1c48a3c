// Memories written several times, at one index and at different ones, whole structs, nested arrays, in signals too.
struct way_t { uint<12> tag; uint<4> age; bool valid; }
struct set_t { way_t ways[2]; uint<8> hits; }
.element Cache (uint<32> in -> uint<32> out) {
    .state { set_t sets[16]; local uint<8> few[4]; uint<16> flat[5][3]; uint<8> odd[100]; way_t copy; }
    .init { for (uint i = 0; i < 16; i++) { sets[i].ways[1].tag = i + 1; sets[i].ways[1].valid = true; } flat[4][2] = 99; }
    .handler {
        uint<32> x = read(in);
        uint<8> i = x & 15;
        uint<12> tag = x >> 4;
        bool hit = false;
        for (uint w = 0; w < 2; w++) {
            if (sets[i].ways[w].valid && sets[i].ways[w].tag == tag) { hit = true; sets[i].hits += 1; sets[i].ways[w].age = 0; }
            else sets[i].ways[w].age += 1;
        }
        if (!hit) { way_t fresh; fresh.tag = tag; fresh.valid = x & 1; sets[i].ways[tag & 1] = fresh; copy = sets[i].ways[0]; }
        few[x] += 1; few[x + 1] += few[x];
        flat[x % 5][x % 3] += tag; flat[tag][1] ^= 5;
        odd[x] = odd[tag] + 1;
        odd[tag] = odd[x] + few[2];
        write(out, sets[i].hits + odd[x] + flat[1][1] + (hit ? 1000 : 0) + copy.tag);
    }
    .signal uint<12> tag(uint<8> set, uint<8> way) { set_t s = sets[set]; sets[set].hits = 0; return s.ways[way].tag; }
}
// Memories in an array whose indices are all constants: one for each entry.
struct row_t { uint<16> cells[20]; uint<8> sum; }
.element Parts (uint<32> in -> uint<32> out) {
    .state { local uint<16> rows[3][20]; row_t more[2]; uint<8> small[2][4]; uint<16> one[2][20]; uint<16> both[3][20]; }
    .init { for (uint i = 0; i < 20; i++) { rows[1][i] = i; more[1].cells[i] = 2 * i; } more[0].sum = 7; both[2][19] = 5; }
    .handler {
        uint<32> x = read(in);
        uint<32> all = 0;
        .repeat (r, 0, 3) { rows[r][(x >> 3 * r) & 31] += 1 + r; all += rows[r][(x >> 3 * r) & 31]; }
        .repeat (r, 0, 2) { more[r].cells[x & 15] += all; more[r].sum += 1; all += more[r].cells[(x >> 4) & 15] + more[r].sum; }
        small[1][x & 3] += 1;
        one[1][x & 31] = one[0][x & 15] + 1;
        both[2][x & 15] += 1;
        both[x & 3][0] ^= 9;
        write(out, all + small[1][x >> 5] + one[1][3] + both[2][x & 7]);
    }
    .signal uint<16> get(uint<8> n) { one[0] = one[1]; return rows[2][n] + more[1].cells[n] + both[n & 1][n]; }
}
