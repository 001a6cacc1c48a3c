.element Sum (packet in -> packet out) {
    .state { uint sum; }
    .handler {
        flit x = read(in);
        uchar *p = (uchar *) &x.data;
        for (uint i = 0; i < x.meta.length; i++) sum += p[i];
        while (sum > 10) sum -= 10;
        write(out, x);
    }
}
