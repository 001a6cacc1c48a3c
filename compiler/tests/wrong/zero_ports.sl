// SPDX-License-Identifier: Apache-2.0
// A number of ports that an instance gets wrong, and an array of constants outside of an element.
constexpr uint<8> TABLE[4] = {1, 2, 3, 4};
.element Join <N = 2> (packet in[N] -> packet out) {
    .handler { write(out, select(in)); }
}
Join<N = 0> :: join
from_tor -> join -> to_tor
