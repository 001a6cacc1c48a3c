// SPDX-License-Identifier: Apache-2.0
/// Marks packets with the bytes of their flow so far, which stop at a limit: an addition that is clamped, as one writes it.

constexpr uint LIMIT = 1000000;

.element ClampedAdd (packet in -> packet out) {
    .state { local uint used[4096]; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
        if (x.sop) {
            uint<12> flow = (uint<12>) ip->source;
            used[flow] += ip->total_length;
            if (used[flow] > LIMIT) used[flow] = LIMIT;
            x.meta.mark = used[flow];
        }
        write(out, x);
    }
}
