// SPDX-License-Identifier: Apache-2.0
/// Counts packets and bytes per flow; the flow is `meta.mark`. Packets whose mark is out of range are not counted.

.element FlowCounters <Entries = 4096> (packet in -> packet out) {
    .state { uint<48> packets[Entries]; uint<48> bytes[Entries]; }
    .handler {
        flit x = read(in);
        if (x.sop && x.meta.mark < Entries) {
            uint<clog2(Entries)> flow = x.meta.mark;
            packets[flow] += 1;
            bytes[flow] += x.meta.length;
        }
        write(out, x);
    }
    .signal ulong get_packets(uint<clog2(Entries)> flow) { return packets[flow]; }
    .signal ulong get_bytes(uint<clog2(Entries)> flow) { return bytes[flow]; }
}
