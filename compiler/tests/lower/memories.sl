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
