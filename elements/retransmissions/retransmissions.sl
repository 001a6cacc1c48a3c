// SPDX-License-Identifier: Apache-2.0
/// Counts the TCP packets of each flow whose sequence number is lower than the previous one (Algorithm 1 of the AccelSDP paper).
/// The flow is `meta.mark`; the sequence number must be in the first flit, after up to 5 words of IPv4 options.

.element Retransmissions <Entries = 4096> (packet in -> packet out) {
    .state { struct flow_t { uint sequence; uint number; } flows[Entries]; }
    .handler {
        flit x = read(in);
        write(out, x);
        if (x.sop) {
            bool found = false;
            uint sequence = 0;
            uint<7> size = x.eop ? DATA_BYTES - x.empty : DATA_BYTES;
            .state_machine (x.data) {
                ethernet: {
                    ethernet_t *eth = take(ethernet_t);
                    if (eth->ethertype == ETHERTYPE_IPV4) goto_state ipv4;
                }
                ipv4: {
                    ipv4_t *ip = take(ipv4_t);
                    if (ip->protocol == IP_PROTOCOL_TCP && ip->fragment_offset == 0) {
                        .repeat (words, 5, 11) {
                            if (ip->ihl == words) {
                                skip(4 * words - 20);
                                goto_state tcp;
                            }
                        }
                    }
                }
                tcp: {
                    udp_t *ports = take(udp_t);   // the first 8 bytes: ports and sequence number
                    sequence = ports->length << 16 | ports->checksum;
                    found = offset() <= size;
                }
            }
            uint<clog2(Entries)> flow = x.meta.mark;
            if (found && x.meta.mark < Entries) {
                if (sequence < flows[flow].sequence) flows[flow].number += 1;
                flows[flow].sequence = sequence;
            }
        }
    }
    .signal uint get_number(uint<clog2(Entries)> flow) { return flows[flow].number; }
}
