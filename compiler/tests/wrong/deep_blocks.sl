// SPDX-License-Identifier: Apache-2.0
// Blocks nested too deeply: one message, whatever stands behind each.
.element Deep (uint<8> in -> uint<8> out) {
    .handler {
        uint<8> x = read(in);
        if (x == 0) {
        if (x == 1) {
        if (x == 2) {
        if (x == 3) {
        if (x == 4) {
        if (x == 5) {
        if (x == 6) {
        if (x == 7) {
        if (x == 8) {
        if (x == 9) {
        if (x == 10) {
        if (x == 11) {
        if (x == 12) {
        if (x == 13) {
        if (x == 14) {
        if (x == 15) {
        if (x == 16) {
        if (x == 17) {
        if (x == 18) {
        if (x == 19) {
        if (x == 20) {
        if (x == 21) {
        if (x == 22) {
        if (x == 23) {
        if (x == 24) {
        if (x == 25) {
        x += 1;
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        } else { x += 2; }
        if (x == 0) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) if (x == 1) x = 0;
        else x = 1;
        write(out, x);
    }
}
