uint mix(uint a, uint b) { return a ^ b; }
void note(uint a) { }
.element Calls (packet in -> packet out) {
    .handler {
        flit x = read(in);
        x.meta.mark = mix(1);
        x.meta.mark = mxi(1, 2);
        x.meta.mark = note(3);
        x.meta.mark = x;
        read(in, out);
        write(out, 5);
    }
}
