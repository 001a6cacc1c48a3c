// SPDX-License-Identifier: Apache-2.0
// Small ones of the library's elements with many entries.

from_lane[0] -> FlowCounters<Entries = 12> :: counters @ -> Retransmissions<Entries = 4> :: retransmissions @ -> to_lane[0]
from_lane[1] -> RateLimiter<Flows = 8> :: limiter @ -> IPChecksum<Update = 1> :: checksum @ -> to_lane[1]
