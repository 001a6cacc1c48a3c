// SPDX-License-Identifier: Apache-2.0
/// A token bucket per flow, as a textbook has it: tokens of bytes grow with time up to a burst, and a packet that finds fewer
/// than its length is dropped.

constexpr uint BURST = 20000;

struct bucket_t { uint<20> tokens; uint last; }

.element TokenBucket (packet in -> packet out) {
    .state { local bucket_t buckets[1024]; bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            uint<10> flow = (uint<10>) x.meta.mark;
            uint time = x.meta.timestamp;
            uint<20> length = x.meta.length;
            uint<20> gained = (uint<20>) min(BURST, time - buckets[flow].last);
            uint<20> level = buckets[flow].tokens + gained;
            if (level > BURST) level = BURST;
            passes = level >= length;
            buckets[flow].tokens = passes ? level - length : level;
            buckets[flow].last = time;
        }
        if (passes) write(out, x);
    }
}
