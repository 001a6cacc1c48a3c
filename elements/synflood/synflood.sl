// SPDX-License-Identifier: Apache-2.0
/// Finds floods of TCP connection requests (SYN without ACK) and limits them: one token bucket per source and one per destination,
/// in slots selected by a hash. A SYN over the limit of its source leaves with VERDICT_DROP in `meta.verdict`, a SYN over the limit
/// of its destination (a flood from many sources) unchanged; `set_verdicts` sets other verdicts. Every packet leaves; packets that
/// already have a verdict are ignored. `headers` come from an L4Parser and, for IPv6, L4Rest.

import "../hash/address.sl";
import "../l4parser/l4parser.sl";

.element SynFlood <Entries = 4096> (packet in, headers_t headers -> packet out) {
    constexpr uchar SYN = 0x02;
    constexpr uchar ACK = 0x10;
    .state {
        /// When the bucket of a slot is full again, in cycles of `meta.timestamp` (virtual scheduling, as in RateLimiter).
        /// Right while the last SYN of a slot, or time 0, is at most 2^55 cycles ago: five years at 200 MHz.
        uint<56> source_ready[Entries];
        uint<56> destination_ready[Entries];
        struct limit_t { uint period; uint<48> burst; } source, destination;    /// cycles per SYN, 0: no limit; how far `ready` may lead
        verdict_t source_verdict = VERDICT_DROP;
        verdict_t destination_verdict = VERDICT_PASS;
        uint secret;
        ulong syns;
        ulong limited;              /// SYNs over the limit of their source
        ulong flooding;             /// SYNs over the limit of their destination
        ulong unseen;               /// TCP packets whose header is incomplete in the parsed flits
        uint<128> last_source;      /// of the last SYN over a limit
        uint<128> last_destination;
    }

    bool is_before(uint<56> one, uint<56> other) { return (uint<56>) (one - other) >> 55; }
    bool is_over(limit_t limit, uint<56> ready, uint<56> time) {
        return limit.period != 0 && is_before(time + limit.burst, ready);
    }
    uint<56> taken(limit_t limit, uint<56> ready, uint<56> time) {
        return is_before(time, ready) ? ready + limit.period : time + limit.period;
    }

    .handler {
        flit x = read(in);
        if (x.sop) {
            headers_t h = read(headers);
            bool is_open = x.meta.verdict == VERDICT_PASS && h.protocol == IP_PROTOCOL_TCP;
            if (is_open && h.truncated) unseen += 1;
            if (is_open && h.has_ports && (h.tcp_flags & (SYN | ACK)) == SYN) {
                uint<56> time = x.meta.timestamp;
                uint<clog2(Entries)> from = address_hash(h.source, secret);
                uint<clog2(Entries)> to = address_hash(h.destination, secret);
                verdict_t verdict = VERDICT_PASS;
                syns += 1;
                uint<56> before = source_ready[from];
                bool is_limited = is_over(source, before, time);
                if (is_limited) {
                    limited += 1;
                    verdict = source_verdict;
                } else {
                    source_ready[from] = taken(source, before, time);
                }
                uint<56> ready = destination_ready[to];
                bool is_flooding = !is_limited && is_over(destination, ready, time);
                if (is_flooding) {
                    flooding += 1;
                    verdict = destination_verdict;
                } else if (!is_limited) {
                    destination_ready[to] = taken(destination, ready, time);
                }
                if (is_limited || is_flooding) {
                    last_source = h.source;
                    last_destination = h.destination;
                }
                x.meta.verdict = verdict;
            }
        }
        write(out, x);
    }
    /// One SYN every `period` cycles, and bursts of up to `burst` cycles' worth; period 0: no limit.
    .signal void set_source_limit(uint period, uint<48> burst) { source = {period, burst}; }
    .signal void set_destination_limit(uint period, uint<48> burst) { destination = {period, burst}; }
    /// Sets the verdicts of SYNs over a limit.
    .signal void set_verdicts(verdict_t for_source, verdict_t for_destination) {
        source_verdict = for_source;
        destination_verdict = for_destination;
    }
    .signal void set_secret(uint number) { secret = number; }
    .signal ulong get_syns() { return syns; }
    .signal ulong get_limited() { return limited; }
    .signal ulong get_flooding() { return flooding; }
    .signal ulong get_unseen() { return unseen; }
    .signal uint<128> get_last_source() { return last_source; }
    .signal uint<128> get_last_destination() { return last_destination; }
}
