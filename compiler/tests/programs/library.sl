// SPDX-License-Identifier: Apache-2.0
// Small ones of the library's elements with many entries.

import "../../../elements/cuckoohash/cuckoohash.sl";
import "../../../elements/flowcache/flowcache.sl";
import "../../../elements/hashtcam/hashtcam.sl";
import "../../../elements/lpmtree/lpmtree.sl";
import "../../../elements/tcam/tcam.sl";

from_lane[0] -> FlowCounters<Entries = 12> :: counters @ -> Retransmissions<Entries = 4> :: retransmissions @ -> to_lane[0]
from_lane[1] -> RateLimiter<Flows = 8> :: limiter @ -> IPChecksum<Update = 1> :: checksum @ -> to_lane[1]
from_lane[2] -> NVGREEncap<Tunnels = 4> :: encap @ -> to_lane[2]
Idle -> CuckooHash<Banks = 2, Entries = 16> :: cuckoo @ -> Drop<cuckoo_result_t>
Idle -> HashTCAM<Groups = 3, Entries = 8> :: tcam @ -> Drop<tcam_result_t>
Idle -> TCAM<Groups = 2, Entries = 8> :: ternary @ -> Drop<tcam_result_t>
Idle -> FlowCache<Entries = 8> :: cache @ -> Drop<cache_reply_t>
Idle -> LPMTree<Levels = 4> :: tree @ -> Drop<lpm_result_t>
