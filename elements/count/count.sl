// SPDX-License-Identifier: Apache-2.0
/// Counts the packets that pass.

.element Count (packet in -> packet out) {
    .state { ulong count = 0; }
    .handler {
        flit x = read(in);
        if (x.sop) count += 1;
        write(out, x);
    }
    .signal ulong get_count() { return count; }
    .native sv "el_count_native.sv"
    .native cpp "count_native.h"
}
