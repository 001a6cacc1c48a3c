// SPDX-License-Identifier: Apache-2.0
/// A count-min sketch of four rows, the row first.

.element CountMinRows (uint in -> uint out) {
    .state { local uint rows[4][1024]; }
    uint<10> place(uint key, uint row) { return (uint<10>) ((key * (0x9e3779b1 + 0x61c88647 * row)) >> 20); }
    .handler {
        uint key = read(in);
        uint least = 0xffffffff;
        .repeat (row, 0, 4) {
            rows[row][place(key, row)] += 1;
            least = min(least, rows[row][place(key, row)]);
        }
        write(out, least);
    }
}
