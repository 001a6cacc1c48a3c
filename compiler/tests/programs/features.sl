// SPDX-License-Identifier: Apache-2.0
// What the language has, once each; the typed tree is pinned in features.typed.

constexpr uint N = 4;
enum color_t : uint<3> { RED, GREEN = 4, BLUE }
struct pair_t { uint<12> a; color_t c; int<7> d[3]; }
header tag_t { uint<4> x; uint<12> y; }
static_assert bits(pair_t) == 36;
uint<16> add(uint<16> a, uint<16> b) { uint s = a + b; return (uint<16>) (s + (s >> 16)); }
void nothing() {}

.element Fancy <K = 8, T = uint<32>> (packet in, T side[3] -> packet out, T copy[2]) {
    .state {
        uint table1[16] = {1, 2, 3};
        pair_t pairs[K];
        register uint<5> small = 3;
        bool flag = true;
        constexpr uchar SBOX[4] = {9, 8, 7, 6};
    }
    uint bump(uint by) { small += by; return small; }
    .init { flag = false; for (uint i = 0; i < 16; i++) table1[i] += i; }
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.fd.data;
        ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
        ushort *p = (ushort *) &x.data;
        ulong sum = 0;
        if (x.sop && eth->ethertype == ETHERTYPE_IPV4) {
            ip->ttl--;
            ip[0].tos = SBOX[ip->ttl & 3];
            eth->destination = eth->source;
        } else if (eth->ethertype == 0x86dd) {
            flag = !flag;
        }
        for (int i = 0; i < 8; i += 2) { if (p[i] == 3) continue; sum += p[i]; if (sum > 10) break; }
        while (sum > 0) .unroll(7) { sum >>= 1; }
        switch (ip->protocol) {
        case IP_PROTOCOL_TCP: case IP_PROTOCOL_UDP: sum = 5; break;
        case 1: { bump(1); break; }
        default: nothing();
        }
        pairs[sum].c = BLUE; pairs[K - 1].d[2] = -1;
        pair_t v = {1, GREEN, {1, 2, 3}};
        pair_t w = pairs[sum & 3];
        if (w != v) { print("pair {} {}", w.a, w.d[1]); }
        T y = read(side[sum & 1]);
        write(copy[1], y);
        write(copy[sum], y + 1);
        sum = test(side[2]) ? add(p[0], p[1]) : (ulong) -1;
        tag_t *t = (tag_t *) &x.meta;
        x.empty = x.empty - x.eop;
        assert(sum < 100); x.meta.mark = random(); x.meta.timestamp = now();
        .repeat (j, 0, 3) { table1[j] = j; }
        write(out, x);
    }
    .signal void poke(uint a, bool b) { small = a; flag = b; }
}
.element Routes (packet in -> packet out) {
    table lpm<uint<32>, pair_t> routes[16];
    .handler {
        flit x = read(in);
        pair_t found;
        if (routes.lookup(x.meta.mark, found) && found.a != 0) { x.meta.queue = found.a; }
        write(out, x);
    }
}
.element_group Pair <M = 3> (packet in -> packet out) {
    Count :: c @
    in -> c -> Count -> out
}
.element_group Old <1, 1> { begin [1] -> Pair -> end [1] }
Pair :: pr
Fancy<K = 16> :: f @
from_lane[0] -> pr -> Old ->(16) f.in
.repeat (i, 0, 3) { Idle -> f.side[i] }
f.out =>(200) Tee<N = 3> :: t [1] -> to_lane[1]
t [2] -> Drop
t.out[2] -> Drop; f.copy[0] -> Drop<uint<32>>
f.copy[1] -> Drop<uint>
