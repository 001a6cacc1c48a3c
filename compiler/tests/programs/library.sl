// SPDX-License-Identifier: Apache-2.0
// Small ones of the library's elements with many entries.

import "../../../elements/cuckoohash/cuckoohash.sl";
import "../../../elements/flowcache/flowcache.sl";
import "../../../elements/hashtcam/hashtcam.sl";
import "../../../elements/l4parser/l4parser.sl";
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
L4Rest :: rest
Tee<T = headers_t> :: both
from_lane[3] -> L4Parser :: parser [1] -> [1] rest [1] -> [1] SynFlood<Entries = 8> :: flood @ -> [1] ScanDetect<Entries = 8> :: scan @ -> to_lane[3]
parser.headers -> rest.headers
rest.whole -> both
both [1] -> flood.headers
both [2] -> scan.headers
