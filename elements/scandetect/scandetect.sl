// SPDX-License-Identifier: Apache-2.0
/// Finds sources that scan: that request connections to many addresses, or to many ports, within a time window. A probe is a TCP
/// segment without ACK and RST (SYN, NULL, FIN, XMAS scans) and, after `set_udp`, a UDP packet. Each source has two maps of 64
/// bits, one bit per hash of a destination address and of a destination port. A probe of a source with more bits set than the limit
/// leaves with VERDICT_DROP in `meta.verdict`, or with the verdict from `set_limits`. Every packet leaves; packets that already
/// have a verdict are ignored. `headers` come from an L4Parser and, for IPv6, L4Rest.

import "../hash/address.sl";
import "../l4parser/l4parser.sl";

.element ScanDetect <Entries = 4096> (packet in, headers_t headers -> packet out) {
    constexpr uchar ACK_RST = 0x14;
    constexpr uint PORT_SEED = 0x9e3779b9;
    .state {
        /// A slot belongs to the last source with its hash, identified by the rest of the hash, for one window.
        struct watch_t { ushort window; uint<32 - clog2(Entries)> source; ulong addresses; ulong ports; } watched[Entries];
        uint<6> window_bits = 28;   /// a window is 2 to this power, in cycles of `meta.timestamp`
        uint<7> most_addresses = 64;
        uint<7> most_ports = 64;
        verdict_t verdict = VERDICT_DROP;
        bool has_udp;
        uint secret;
        ulong probes;
        ulong address_scans;        /// probes over the address limit
        ulong port_scans;           /// probes over the port limit but not the address limit
        ulong replaced;             /// times that a source replaced another within a window
        ulong unseen;               /// TCP packets whose header is incomplete in the parsed flits
        uint<128> last_source;      /// of the last probe over a limit
    }

    uint<7> ones(ulong map) {
        uint<7> sum = 0;
        .repeat (i, 0, 64) { sum += map >> i & 1; }
        return sum;
    }

    .handler {
        flit x = read(in);
        if (x.sop) {
            headers_t h = read(headers);
            bool is_open = x.meta.verdict == VERDICT_PASS;
            bool is_tcp = h.protocol == IP_PROTOCOL_TCP;
            bool is_probe = is_tcp ? (h.tcp_flags & ACK_RST) == 0 : has_udp && h.protocol == IP_PROTOCOL_UDP;
            if (is_open && is_tcp && h.truncated) unseen += 1;
            if (is_open && is_probe && h.has_ports) {
                uint hash = address_hash(h.source, secret);
                uint<clog2(Entries)> place = hash;
                uint<32 - clog2(Entries)> source = hash >> clog2(Entries);
                ushort window = x.meta.timestamp >> window_bits;
                ulong address_bit = (ulong) 1 << (address_hash(h.destination, secret) & 63);
                ulong port_bit = (ulong) 1 << (address_hash(h.destination_port, secret ^ PORT_SEED) & 63);
                probes += 1;
                watch_t old = watched[place];
                watch_t now = {window, source, address_bit, port_bit};
                if (old.window == window && old.source == source) {
                    now.addresses |= old.addresses;
                    now.ports |= old.ports;
                } else if (old.window == window && old.addresses != 0) {
                    replaced += 1;
                }
                watched[place] = now;
                bool is_address_scan = ones(now.addresses) > most_addresses;
                bool is_port_scan = ones(now.ports) > most_ports;
                if (is_address_scan) address_scans += 1;
                else if (is_port_scan) port_scans += 1;
                if (is_address_scan || is_port_scan) {
                    last_source = h.source;
                    x.meta.verdict = verdict;
                }
            }
        }
        write(out, x);
    }
    /// Probes of sources with more bits than these get this verdict (limit 64: never).
    .signal void set_limits(uint<7> addresses, uint<7> ports, verdict_t for_scans) {
        most_addresses = addresses;
        most_ports = ports;
        verdict = for_scans;
    }
    .signal void set_window(uint<6> bits) { window_bits = bits; }
    .signal void set_udp(bool is_watched) { has_udp = is_watched; }
    .signal void set_secret(uint number) { secret = number; }
    .signal ulong get_probes() { return probes; }
    .signal ulong get_address_scans() { return address_scans; }
    .signal ulong get_port_scans() { return port_scans; }
    .signal ulong get_replaced() { return replaced; }
    .signal ulong get_unseen() { return unseen; }
    .signal uint<128> get_last_source() { return last_source; }
}
