// SPDX-License-Identifier: Apache-2.0
/// The CRC-32 (IEEE 802.3) of messages of whole 64 bytes, 64 bytes a cycle.

struct piece_t { bool sop; bool eop; uint<512> data; }

.element Crc32 (piece_t in -> uint out) {
    .state { uint crc; }
    .handler {
        piece_t x = read(in);
        uint c = x.sop ? 0xffffffff : crc;
        .repeat (n, 0, 512) {
            uint<1> low = (uint<1>) (c ^ (uint) x.data[n:n]);
            c = c >> 1;
            if (low) c = c ^ 0xedb88320;
        }
        crc = c;
        if (x.eop) write(out, ~c);
    }
}
