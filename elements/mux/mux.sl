// SPDX-License-Identifier: Apache-2.0
/// Merges its inputs, round robin if several have a token; packets are not interleaved.

.element Mux <T = packet, N = 2> (T in[N] -> T out) {
    .handler { write(out, select(in)); }
    .native sv "el_mux_native.sv"
}
