// SPDX-License-Identifier: Apache-2.0
/// The OpenFlow firewall of ClickNP (paper 004, 6.2): five-tuples against 128K exact rules, 16K rules over 16 masks, 2K rules of
/// any mask. An exact rule wins over all others (OpenFlow 1.0, 3.4); otherwise the highest priority wins; at equal priority, any of
/// them. `manager.py` writes the rules while packets pass.

import "../../elements/cuckoohash/cuckoohash.sl";
import "../../elements/fivetuple/fivetuple.sl";
import "../../elements/hashtcam/hashtcam.sl";

constexpr uint BANKS = 4;
constexpr uint BANK_ENTRIES = 32768;
constexpr uint MASKS = 16;
constexpr uint MASK_ENTRIES = 1024;
constexpr uint TCAM_GROUPS = 4;
constexpr uint TCAM_ENTRIES = 512;

/// The action of a rule; the value of every table.
struct action_t {
    bool       set_queue;
    bool       set_mark;
    verdict_t  verdict;     /// VERDICT_DROP: the packet is dropped; otherwise it leaves with this verdict
    uint<4>    queue;
    uint<23>   mark;
}

/// Gives each table the key of each packet; 0 if the packet has none.
.element Spread (flow_id_t in -> five_tuple4_t exact, five_tuple4_t masked, five_tuple4_t ternary, bool valid) {
    .handler {
        flow_id_t flow = read(in);
        write(exact, flow.tuple);
        write(masked, flow.tuple);
        write(ternary, flow.tuple);
        write(valid, flow.valid);
    }
}

/// Applies to each packet the actions that the tables found.
.element Verdict (packet in, bool valid, cuckoo_result_t exact, tcam_result_t masked, tcam_result_t ternary -> packet out) {
    .state {
        action_t miss;      /// for IPv4 packets that match no rule
        action_t other;     /// for packets that are not IPv4
        bool is_dropped;    /// the current packet
        ulong passed;
        ulong dropped;
    }
    .init {
        miss.verdict = VERDICT_DROP;
        other.verdict = VERDICT_PASS;
    }
    .handler {
        flit x = read(in);
        if (x.sop) {
            bool is_ip = read(valid);
            cuckoo_result_t first = read(exact);
            tcam_result_t second = read(masked);
            tcam_result_t third = read(ternary);
            action_t action = miss;
            if (third.hit) action = (action_t) third.value;
            if (second.hit && (!third.hit || second.priority >= third.priority)) action = (action_t) second.value;
            if (first.hit) action = (action_t) first.value;
            if (!is_ip) action = other;
            is_dropped = action.verdict == VERDICT_DROP;
            if (is_dropped) dropped += 1;
            else passed += 1;
            x.meta.verdict = action.verdict;
            if (action.set_queue) x.meta.queue = action.queue;
            if (action.set_mark) x.meta.mark = action.mark;
        }
        if (!is_dropped) write(out, x);
    }
    .signal void set_default(bool for_ip, action_t action) {
        if (for_ip) miss = action;
        else other = action;
    }
    .signal ulong get_passed() { return passed; }
    .signal ulong get_dropped() { return dropped; }
}

FiveTuple :: parser
Spread :: spread
CuckooHash<Banks = BANKS, Entries = BANK_ENTRIES> :: exact @
HashTCAM<Groups = MASKS, Entries = MASK_ENTRIES> :: masked @
TCAM<Groups = TCAM_GROUPS, Entries = TCAM_ENTRIES> :: ternary @
Verdict :: verdict @
Tee :: tee

from_tor -> tee [1] ->(128) [1] verdict -> to_tor
tee [2] -> parser -> spread
spread.exact -> exact ->(64) verdict.exact
spread.masked -> masked ->(64) verdict.masked
spread.ternary -> ternary ->(64) verdict.ternary
spread.valid ->(64) verdict.valid
