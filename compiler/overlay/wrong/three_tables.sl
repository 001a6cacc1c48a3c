.element Three (packet in -> packet out) {
    table exact<uint<16>, uint<8>> a[16];
    table exact<uint<16>, uint<8>> b[16];
    table exact<uint<16>, uint<8>> c[16];
    .handler {
        flit x = read(in);
        ushort *words = (ushort *) &x.data;
        uint<8> value;
        if (x.sop && a.lookup(words[0], value)) x.meta.queue = (uint<4>) value;
        if (x.sop && b.lookup(words[1], value)) x.meta.mark = value;
        if (x.sop && c.lookup(words[2], value)) words[3] = value;
        write(out, x);
    }
}
from_tor -> Three -> to_tor
