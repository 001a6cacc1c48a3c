.element Swap (packet a -> packet b) {
    .handler {
        flit x = read(b);
        write(a, x);
        write(c, x);
    }
}
