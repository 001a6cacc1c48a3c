struct key_t { uint<32> address; uint<16> port; }
.element Routes (packet in -> packet out) {
    table lpm<key_t, uchar> prefixes[16];
    table hash<uint<32>, uchar> typo[16];
    table exact<uint<32>, uchar> exact_one[16];
    .handler {
        flit x = read(in);
        ushort wide;
        if (exact_one.find(x.meta.mark)) x.sop = 1;
        if (exact_one.lookup(x.meta.mark, wide)) x.sop = 1;
        if (exact_one.lookup(x)) x.sop = 1;
        write(out, x);
    }
}
