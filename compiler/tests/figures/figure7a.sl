// SPDX-License-Identifier: Apache-2.0
// Figure 7(a) of the paper, lines 1 to 7, with the names that it does not declare.

constexpr uint N = 32;

.element Sum <1, 0> {
    flit r;
    uint i;
    uint sum;

    .handler {
      r = read_input_port (PORT_1);
      ushort *p = (ushort*) &r.fd.data;
    S1:for (i = 0; i<N; i++) {
      S2: sum += p[i];
      }
    }

    .signal uint get_sum() { return sum; }
}

Sum :: sum @
from_tor -> sum
