// SPDX-License-Identifier: Apache-2.0
/// Algorithm 1 of the stateful data plane paper: counts the TCP packets of a flow whose sequence number goes back.

struct tcp_flow_t { uint sequence; uint<16> number; }

.element RetransmissionCount (packet in -> packet out) {
    .state { local tcp_flow_t flows[4096]; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
        tcp_t *tcp = (tcp_t *) (&x.fd.data + 34);
        if (x.sop) {
            uint<12> flow = (uint<12>) ip->source;
            if (tcp->sequence_number < flows[flow].sequence) flows[flow].number += 1;
            flows[flow].sequence = tcp->sequence_number;
            x.meta.mark = flows[flow].number;
        }
        write(out, x);
    }
}
