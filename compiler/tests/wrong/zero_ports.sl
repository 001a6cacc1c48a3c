// SPDX-License-Identifier: Apache-2.0
// A number of ports that an instance gets wrong.
.element Join <N = 2> (packet in[N] -> packet out) {
    .handler { write(out, select(in)); }
}
Join<N = 0> :: join
from_tor -> join -> to_tor
