// SPDX-License-Identifier: Apache-2.0
/// The IPv4 header checksum (RFC 791), after up to two VLAN tags. `IPChecksum` drops packets with a wrong checksum,
/// `IPChecksum<Update = 1>` writes the correct one. A packet whose header does not fit in its first flit passes unchanged and is
/// counted.

.element IPChecksum <Update = 0> (packet in -> packet out) {
    .state { bool dropping; ulong checked; ulong wrong; ulong skipped; }

    /// Ones' complement of the 32-bit sum of 16-bit words.
    ushort folded(uint sum) {
        uint once = (sum & 0xffff) + (sum >> 16);
        return ~(ushort) ((once & 0xffff) + (once >> 16));
    }

    .handler {
        flit x = read(in);
        if (x.sop) {
            dropping = false;
            uint<7> size = x.eop ? DATA_BYTES - x.empty : DATA_BYTES;
            ethernet_t *untagged = (ethernet_t *) &x.data;
            ethernet_t *tagged = (ethernet_t *) (&x.data + 4);
            ethernet_t *twice = (ethernet_t *) (&x.data + 8);
            .repeat (tags, 0, 3) {
                ethernet_t *eth = (ethernet_t *) (&x.data + 4 * tags);
                ushort *words = (ushort *) (&x.data + 14 + 4 * tags);
                ipv4_t *ip = (ipv4_t *) (&x.data + 14 + 4 * tags);
                bool first = untagged->ethertype == ETHERTYPE_VLAN || untagged->ethertype == ETHERTYPE_QINQ;
                bool second = tagged->ethertype == ETHERTYPE_VLAN;
                bool here = tags == 0 || first && (tags == 1 || second);
                if (here && eth->ethertype == ETHERTYPE_IPV4) {
                    uint<7> end = 14 + 4 * tags + 4 * ip->ihl;
                    if (ip->version != 4 || ip->ihl < 5 || end > size) {
                        skipped += 1;
                    } else {
                        uint sum = 0;
                        .repeat (i, 0, 25 - 2 * tags) {
                            if (i != 5 && (i < 10 || i < 2 * ip->ihl)) sum += words[i];
                        }
                        checked += 1;
                        ushort right = folded(sum);
                        if (right != words[5]) wrong += 1;
                        if (Update) words[5] = right;
                        else dropping = right != words[5];
                    }
                }
            }
        }
        if (!dropping) write(out, x);
    }
    .signal ulong get_checked() { return checked; }
    .signal ulong get_wrong() { return wrong; }
    .signal ulong get_skipped() { return skipped; }
    .native sv "el_ipchecksum_native.sv"
}
