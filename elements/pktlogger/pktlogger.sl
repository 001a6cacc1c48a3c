// SPDX-License-Identifier: Apache-2.0
/// Consumes and counts packets; on the host its input is written to a capture.

.element PktLogger (packet in ->) {
    .state { ulong packets; }
    .handler {
        flit x = read(in);
        if (x.eop) packets += 1;
    }
    .signal ulong get_packets() { return packets; }
}
