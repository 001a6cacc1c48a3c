// SPDX-License-Identifier: Apache-2.0
/// A token bucket per flow, as a textbook has it: tokens of bytes grow with time up to a burst, and a packet that finds fewer
/// than its length is dropped.

constexpr uint BURST = 20000;

struct bucket_t { uint tokens; uint last; }

.element TokenBucket (packet in -> packet out) {
    .state { local bucket_t buckets[1024]; bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            uint<10> flow = (uint<10>) x.meta.mark;
            uint time = x.meta.timestamp;
            uint gained = min(BURST, time - buckets[flow].last);
            uint level = min(BURST, buckets[flow].tokens + gained);
            passes = level >= x.meta.length;
            buckets[flow].tokens = passes ? level - x.meta.length : level;
            buckets[flow].last = time;
        }
        if (passes) write(out, x);
    }
}
