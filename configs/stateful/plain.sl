// SPDX-License-Identifier: Apache-2.0
/// What the applications beside this file share.

/// Whether the transport header is where it is without tags, options and fragments: behind byte 34.
bool is_plain(ethernet_t eth, ipv4_t ip) {
    return eth.ethertype == ETHERTYPE_IPV4 && ip.version == 4 && ip.ihl == 5 && !ip.more_fragments && ip.fragment_offset == 0;
}
