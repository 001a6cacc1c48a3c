// SPDX-License-Identifier: Apache-2.0
// Arguments that a function changes: without an address, of another type, of a signal, and beside a returned value.
void next(uint<8> *x) {
    *x = *x + 1;
}
uint<8> both(uint<8> *x) {
    return *x;
}
.element E (uint<8> in -> uint<8> out) {
    .state { uint<8> seen; }
    .handler {
        uint<8> x = read(in);
        uint<16> wide = 0;
        next(x);
        next(&wide);
        next(&x + 1);
        next(5);
        next(&x, &x);
        write(out, both(&x) + next(&x));
    }
    .signal void get(uint<8> *x) { *x = seen; }
}
