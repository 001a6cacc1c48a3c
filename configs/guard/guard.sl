// SPDX-License-Identifier: Apache-2.0
/// A bump in the wire that finds SYN floods and scans (FAS, paper 002, 4.1: security modules between FIFOs, their commands in the
/// metadata of each packet), and drops the packets that they mark.

import "../../elements/l4parser/l4parser.sl";

/// Drops packets with VERDICT_DROP; all others pass.
.element Obey (packet in -> packet out) {
    .state { bool is_dropped; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            is_dropped = x.meta.verdict == VERDICT_DROP;
            if (is_dropped) dropped += 1;
        }
        if (!is_dropped) write(out, x);
    }
    .signal ulong get_dropped() { return dropped; }
}

L4Parser :: parser
L4Rest :: rest
Tee<T = headers_t> :: tee
SynFlood :: flood @
ScanDetect :: scan @
Obey :: obey @

from_tor -> parser [1] -> [1] rest [1] ->(64) [1] flood ->(64) [1] scan -> obey -> to_tor
parser.headers -> rest.headers
rest.whole -> tee
tee [1] -> flood.headers
tee [2] ->(64) scan.headers
