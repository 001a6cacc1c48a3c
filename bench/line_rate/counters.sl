// SPDX-License-Identifier: Apache-2.0
/// 256 counters of packets, by mark; a signal reads one, another starts all again.

.element Counters (packet in -> packet out) {
    .state { local ulong counts[256]; }
    .handler {
        flit x = read(in);
        if (x.sop) counts[(uint<8>) x.meta.mark] += 1;
        write(out, x);
    }
    .signal ulong get(uint<8> n) { return counts[n]; }
    .signal void reset() { for (uint<9> n = 0; n < 256; n++) counts[n] = 0; }
}
