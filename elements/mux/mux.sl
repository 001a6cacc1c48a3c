// SPDX-License-Identifier: Apache-2.0
/// Joins its inputs, in turn where several have a token; a packet is not interrupted.

.element Mux <T = packet, N = 2> (T in[N] -> T out) {
    .handler { write(out, select(in)); }
    .native sv "el_mux_native.sv"
}
