// SPDX-License-Identifier: Apache-2.0
/// GHASH (NIST SP 800-38D): the hash of GCM over blocks of 16 bytes, a block a cycle. Byte 0 of a block is the lowest.

struct piece_t { bool first; bool last; uint<128> block; }

.element Ghash (piece_t in -> uint<128> out) {
    .state { uint<128> key; uint<128> hash; }
    uint<128> turned(uint<128> x) {   // the first bit of a block is the highest of its first byte
        uint<128> y = 0;
        .repeat (i, 0, 16) { .repeat (j, 0, 8) { y[8 * i + 7 - j:8 * i + 7 - j] = x[8 * i + j:8 * i + j]; } }
        return y;
    }
    .handler {
        piece_t x = read(in);
        uint<128> factor = turned(x.block) ^ (x.first ? 0 : hash);
        uint<128> v = turned(key);
        uint<128> z = 0;
        .repeat (i, 0, 128) {
            if (factor[i:i]) z ^= v;
            bool low = v[127:127];
            v = v << 1;
            if (low) v ^= 0x87;
        }
        hash = z;
        if (x.last) write(out, turned(z));
    }
    .signal void set_key(uint<128> to) { key = to; }
}
