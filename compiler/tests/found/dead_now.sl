// The log of the RTL had no time where the time changed nothing, and the interpreter asked for it.
.element DeadNow (uint<8> in -> uint<8> out) {
    .handler {
        uint<8> x = read(in);
        write(out, (uint<8>) (x | ((uint<8>) 0 & (uint<8>) now())));
    }
}
