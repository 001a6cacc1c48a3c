// SPDX-License-Identifier: Apache-2.0
// A function to be mutated in the test of `sluice mutate`.
unsigned tiny_bits(unsigned value, unsigned most) {
    unsigned count = 0;
    while (value) {
        count += value & 1;
        value >>= 1;
    }
    return count > most ? most : count;
}
