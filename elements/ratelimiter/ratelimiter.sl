// SPDX-License-Identifier: Apache-2.0
/// A token bucket per flow; the flow is `meta.mark`. Uses virtual scheduling (ATM Forum TM 4.1, GCRA): `ready` is the time when the
/// bucket is full again, so that refilling needs neither a multiplication nor a minimum in the state update.

.element RateLimiter <Flows = 16384> (packet in -> packet out) {
    .state {
        uint<24> byte_time[Flows];  /// time per byte at the flow's rate, in 2^-12 cycles; 0: no limit
        uint<44> burst[Flows];      /// how far `ready` may be ahead, in 2^-12 cycles: burst bytes * byte_time
        uint<64> ready[Flows];      /// in 2^-12 cycles of `meta.timestamp`
        bool dropping;
        ulong dropped;
    }
    .handler {
        flit x = read(in);
        if (x.sop) dropping = false;
        if (x.sop && x.meta.mark < Flows) {
            uint<clog2(Flows)> flow = x.meta.mark;
            uint<64> time = x.meta.timestamp << 12;
            uint<64> latest = time + burst[flow];
            uint<16> length = x.meta.length;
            uint<40> cost = (uint<40>) byte_time[flow] * length;
            uint<64> full = time + cost;
            uint<64> before = ready[flow];
            dropping = (latest - before) >> 63;
            if (dropping) dropped += 1;
            else ready[flow] = (time - before) >> 63 ? before + cost : full;
        }
        if (!dropping) write(out, x);
    }
    .signal void set_rate(uint<clog2(Flows)> flow, uint<24> time_of_byte, uint<44> time_of_burst) {
        byte_time[flow] = time_of_byte;
        burst[flow] = time_of_burst;
        ready[flow] = 0;
    }
    .signal ulong get_dropped() { return dropped; }
}
