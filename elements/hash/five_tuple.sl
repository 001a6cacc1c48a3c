// SPDX-License-Identifier: Apache-2.0
/// A hash of a five-tuple from sums, rotations and XORs only, without a multiplier: the final mixing of Jenkins' lookup3.

uint rotated(uint a, uint bits) { return a << bits | a >> (32 - bits); }

uint five_tuple_hash(five_tuple4_t key, uint seed) {
    uint a = key.ip_src + seed;
    uint b = key.ip_dst + seed;
    uint c = (key.l4_src << 16 | key.l4_dst) + (seed ^ key.ip_protocol << 8);
    c ^= b; c -= rotated(b, 14);
    a ^= c; a -= rotated(c, 11);
    b ^= a; b -= rotated(a, 25);
    c ^= b; c -= rotated(b, 16);
    a ^= c; a -= rotated(c, 4);
    b ^= a; b -= rotated(a, 14);
    c ^= b; c -= rotated(b, 24);
    return c;
}
