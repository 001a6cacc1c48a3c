// SPDX-License-Identifier: Apache-2.0
/// Packets by size, in 16 classes of 128 bytes; a signal reads a class, another starts again.

.element Histogram (packet in -> packet out) {
    .state { local ulong classes[16]; }
    .handler {
        flit x = read(in);
        if (x.sop) classes[(uint<4>) (x.meta.length >> 7)] += 1;
        write(out, x);
    }
    .signal ulong get(uint<4> n) { return classes[n]; }
    .signal void reset() { for (uint<5> n = 0; n < 16; n++) classes[n] = 0; }
}
