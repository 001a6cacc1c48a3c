// SPDX-License-Identifier: Apache-2.0
/// Copies each token to all of its outputs; waits until all of them have room.

.element Tee <T = packet, N = 2> (T in -> T out[N]) {
    .handler {
        T x = read(in);
        .repeat (i, 0, N) { write(out[i], x); }
    }
    .native sv "el_tee_native.sv"
}
