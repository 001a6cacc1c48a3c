// SPDX-License-Identifier: Apache-2.0
// Figure 6 of the paper, lines 1 to 15; what it leaves out (the dots) and the names it does not declare are added around it.

uint hash(ulong h) { return (uint) ((h ^ h >> 7) % 100); }

.element HashCount <1, 1> {
    .state { flit x; ulong h; ulong k; uint idx; }
    struct hash_entry
    {
      ulong key;
      ulong cnt;
    } A[100];

    .init { .repeat (n, 0, 100) { A[n].key = n; } }
    .handler {
      x = read_input_port(PORT_1);
      h = (ulong) x.fd.data & 127;
      k = h;
      idx = hash (h);
    S1: if (A[idx].key==k) {

    S2: A[idx].cnt ++;

      }
      set_output_port(PORT_1, x);
    }
    .signal ulong count_of(uint n) { return A[n].cnt; }
}

HashCount :: flows @
from_tor -> flows -> to_tor
