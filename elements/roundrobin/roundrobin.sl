// SPDX-License-Identifier: Apache-2.0
/// Distributes packets over its outputs, round robin.

.element RoundRobin <N = 2> (packet in -> packet out[N]) {
    .state { uchar turn; }
    .handler {
        flit x = read(in);
        write(out[turn], x);
        if (x.eop) turn = turn == N - 1 ? 0 : turn + 1;
    }
}
