// SPDX-License-Identifier: Apache-2.0
/// Sends each packet to the output given by `meta.queue`; a packet with a queue out of range is dropped and counted.

.element Demux <N = 2> (packet in -> packet out[N]) {
    .state { uint<4> chosen; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            chosen = x.meta.queue;
            if (chosen >= N) dropped += 1;
        }
        write(out[chosen], x);
    }
    .signal ulong get_dropped() { return dropped; }
    .native sv "el_demux_native.sv"
}
