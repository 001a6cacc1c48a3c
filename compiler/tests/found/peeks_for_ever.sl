// The simulation of an element that looks at a token, and never takes it, had no end.
.element PeeksForEver (uint<8> in -> uint<8> out) {
    .handler {
        write(out, peek(in));
    }
}
