uint even(uint n) { return n == 0 ? 1 : odd(n - 1); }
uint odd(uint n) { return n == 0 ? 0 : even(n - 1); }
.element Parity (packet in -> packet out) {
    .handler {
        flit x = read(in);
        x.meta.mark = even(3);
        write(out, x);
    }
}
