// SPDX-License-Identifier: Apache-2.0
/// Counts packets and bytes of each of 4,096 flows in block RAM: a read-modify-write of one word, packet by packet.

struct count_t { uint packets; uint<40> bytes; }

.element FlowCount (packet in -> packet out) {
    .state { local count_t counts[4096]; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
        if (x.sop) {
            uint<12> flow = (uint<12>) ip->source;
            counts[flow].packets += 1;
            counts[flow].bytes += ip->total_length;
        }
        write(out, x);
    }
}
