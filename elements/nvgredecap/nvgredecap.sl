// SPDX-License-Identifier: Apache-2.0
/// Decapsulates packets from NVGRE (RFC 7637) over IPv4 without options; `meta.mark` becomes the virtual subnet. Other packets pass
/// unchanged; a packet with nothing inside is dropped and counted. A flit leaves once the next one has come; the last may take one
/// more cycle.

/// Ethernet, IPv4 and NVGRE headers, grouped into fields that need few comparisons.
header nvgre_outer_t {
    uint<96>  addresses;
    uint<24>  ipv4;         /// EtherType, version, header size: 0x080045
    uint<40>  length;       /// and TOS, identification
    uint<2>   flags;
    uint<14>  fragment;     /// more fragments, offset: 0
    uint<8>   ttl;
    uint<8>   protocol;
    uint<80>  ip;           /// checksum, addresses
    uint<32>  gre;          /// flags, protocol: 0x20006558
    uint<24>  subnet_id;
    uint<8>   flow_id;
}

.element NVGREDecap (packet in -> packet out) {
    constexpr uint REMOVED = 42;
    constexpr uint KEPT = DATA_BYTES - REMOVED; /// bytes that a flit contributes to the previous one
    .state {
        uint<8 * KEPT> rest;            /// the end of the previous flit
        /// Which fields of the packet's first flit match NVGRE; the next flit's cycle combines them.
        struct matches_t { bool ipv4; bool whole; bool protocol; bool gre; } is;
        bool has_more;                  /// the packet ends with only `rest`
        bool is_first;                  /// no flit of the packet has left
        uint<clog2(DATA_BYTES)> empty;
        uint<1> error;
        meta_t meta;
        ulong dropped;
    }
    bool is_nvgre() {
        return (is.ipv4 && is.whole) && (is.protocol && is.gre);
    }
    .handler {
        flit y;
        bool passes = true;
        if (has_more) {
            y.data = rest;
            y.eop = 1;
            y.empty = empty;
            y.error = error;
            has_more = false;
        } else {
            flit x = read(in);
            y = x;
            nvgre_outer_t *outer = (nvgre_outer_t *) &x.data;
            has_more = is_nvgre() && (!x.sop && x.eop && x.empty < KEPT);
            bool goes_on = !x.sop && is_nvgre();
            if (x.sop) {
                is.ipv4 = outer->ipv4 == 0x080045;
                is.whole = outer->fragment == 0;
                is.protocol = outer->protocol == IP_PROTOCOL_GRE;
                is.gre = outer->gre == 0x20006558;
            }
            bool starts = x.sop && is_nvgre();
            uint<8 * KEPT> tail = x.data >> 8 * REMOVED;
            if (goes_on) {
                y.data = (uint<8 * DATA_BYTES>) x.data << 8 * KEPT | rest;
                y.sop = is_first;
                if (is_first) y.meta = meta;
                is_first = false;
                if (x.eop) {
                    y.eop = !has_more;
                    y.empty = has_more ? 0 : x.empty - KEPT;
                    empty = (uint<clog2(DATA_BYTES)>) (x.empty + REMOVED);
                    error = x.error;
                    if (has_more) y.error = 0;
                }
            } else if (starts) {
                meta = x.meta;
                meta.mark = outer->subnet_id;
                if (meta.length > REMOVED) meta.length -= REMOVED;
                is_first = true;
                y.data = tail;
                y.meta = meta;
                passes = x.eop && x.empty < KEPT;
                if (x.eop && !passes) dropped += 1;
                y.empty = x.empty + REMOVED;
            }
            rest = tail;
        }
        if (passes) write(out, y);
    }
    .signal ulong get_dropped() { return dropped; }
    .native packet "nvgredecap_packet.h"
}
