// SPDX-License-Identifier: Apache-2.0
/// A hash of an IP address (IPv4: in the low 32 bits). `secret` prevents others from finding addresses that collide.

import "five_tuple.sl";

uint address_hash(uint<128> address, uint secret) {
    uint ports = address >> 32;
    five_tuple4_t words;
    words.ip_src = address;
    words.ip_dst = address >> 64;
    words.l4_src = ports >> 16;
    words.l4_dst = ports;
    return five_tuple_hash(words, secret ^ (uint) (address >> 96));
}
