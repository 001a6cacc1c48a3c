.element Views (packet in -> packet out) {
    .handler {
        flit x = read(in);
        ushort *p = &x.data;
        ushort *q;
        uchar *r = (uchar *) &x.data;
        uint y = r;
        r = r + 1;
        uint z = &x;
        write(out, x);
    }
}
