// SPDX-License-Identifier: Apache-2.0
/// Checksums of headers of which a word changes.

/// The Internet checksum of a header in which a word was `old` and is `now` (RFC 1624, equation 3). A checksum that was wrong stays
/// wrong. `./sluice deploy` makes a checksum unit of the pipeline of it.
uint<16> checksum_updated(uint<16> checksum, uint<16> old, uint<16> now) {
    if (old == now) return checksum;
    uint sum = (uint) (uint<16>) ~checksum + (uint<16>) ~old + now;
    uint once = (sum & 0xffff) + (sum >> 16);
    return ~(uint<16>) ((once & 0xffff) + (once >> 16));
}
