// SPDX-License-Identifier: Apache-2.0
/// For `sluice bench hostio`: lane 0 straight to the host, without a parser, and a host's messages back to it, a slot each.

.element Pass (packet in -> packet out) {
    .handler { write(out, read(in)); }
}

host Pass :: send0
host Pass :: send1
host Pass :: send2
host Pass :: send3
host PktLogger :: take0
host PktLogger :: take1
host PktLogger :: take2
host PktLogger :: take3
host PktLogger :: lane
Idle -> send0 -> Pass -> take0
Idle -> send1 -> Pass -> take1
Idle -> send2 -> Pass -> take2
Idle -> send3 -> Pass -> take3
from_lane[0] -> lane
