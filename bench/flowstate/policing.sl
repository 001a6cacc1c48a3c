// SPDX-License-Identifier: Apache-2.0
/// A token bucket for each flow: tokens of bytes grow by RATE in a microsecond up to BURST, and a packet that finds fewer than its
/// length is dropped. A new flow has a full bucket.

import "record.sl";

constexpr uint RATE = 16;               /// 128 Mbit/s
constexpr uint BURST = 20000;

struct bucket_t { uint<20> tokens; uint<32> last; }
struct answer_t { bool passes; uint<20> tokens; }

.element Policing <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<flow_t, bucket_t> flows[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        uint<20> length = packet.length;
        bucket_t bucket;
        answer_t answer;
        bool is_known = flows.find(packet.flow, bucket, time);
        uint<20> gained = (uint<20>) (RATE * min(BURST / RATE, time - bucket.last));
        if (!is_known) gained = BURST;
        uint<20> level = (uint<20>) min(BURST, bucket.tokens + gained);
        answer.passes = level >= length;
        bucket.tokens = answer.passes ? level - length : level;
        bucket.last = time;
        flows.insert(packet.flow, bucket, time);
        answer.tokens = bucket.tokens;
        write(out, answer);
    }
}
