// SPDX-License-Identifier: Apache-2.0
// Arrays of constants of a file: too many values, too large ones, none, values that are no constants, a change of one, and
// what is no element of one.
constexpr uint<8> few[2] = {1, 2, 3};
constexpr uint<8> wide[2] = {1, 256};
constexpr uint<8> cycle[1] = {cycle[0]};
constexpr uint<8> drawn[1] = {random()};
constexpr uint<8> kept[2] = {1, 2};
constexpr uint<8> missing[2];
constexpr uint<4> grid[2][2] = {{1, 2}, {3, 4}};
constexpr uint outside = kept[2];
constexpr uint row = grid[1];
constexpr uint all = kept;
constexpr uint deep = grid[1][1][0];
.element E (uint<8> in -> uint<8> out) {
    .handler {
        uint<8> x = read(in);
        kept[0] = x;
        write(out, few[x] + wide[x] + cycle[x] + drawn[x]);
    }
}
