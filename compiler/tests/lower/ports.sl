// Numbered ports, masks, select, test, waits that depend on tokens.
.element Masks <3, 2> {
    .state { uint turns; }
    .handler {
        uint<32> have = get_input_port();
        turns += have;
        if (have & PORT_2) {
            flit x = read_input_port(PORT_2);
            if (test_input_port(PORT_1)) { set_output_port(PORT_2, peek_input_port(PORT_1)); return PORT_1; }
            set_output_port(PORT_1, x);
            return PORT_1 | PORT_3;
        }
        if (have & PORT_1) { set_output_port(PORT_1, read_input_port(PORT_1)); return PORT_2 | PORT_3 | PORT_1; }
        flit z = read_input_port(PORT_3);
        set_output_port(PORT_1, z);
        if (z.sop) return PORT_2;
    }
    .signal { ClSignal p; p.Sig.LParam[0] = turns; p.Sig.LParam[1] = read_signal().Sig.LParam[0]; set_signal(p); }
}
.element Merge (packet a, packet b, packet c -> packet out) {
    .state { uint<2> last; uint<16> words; }
    .handler {
        flit x = select(a, b, c);
        words += 1;
        write(out, x);
    }
}
.element Arbiter (uint<8> a, uint<8> b, uint<8> control -> uint<8> out, uint<8> log) {
    .state { uint<8> skip; uint<8> seen; }
    .handler {
        if (test(control)) { skip = read(control); write(log, skip); }
        if (skip > 0) { skip -= 1; if (skip & 1) seen = read(a); else seen += read(b); }
        else { uint<8> x = select(a, b); if (x == 3) return; write(out, x + seen); }
    }
}
