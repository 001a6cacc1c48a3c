.element Wrong (uint<8> in -> uint<8> out) {
    .state { uint<16> ticks; }
    .handler { uint<8> x = read(in); ticks += periods(); write(out, x); }
    uint<16> twice() { return 2 * periods(); }
    .timer none (every = 0) { ticks = 0; }
    .timer long (every = 2147483648) { ticks = 0; }
    .timer reads (every = 10) { ticks = read(in); }
    .timer writes (every = 10) { write(out, 1); }
    .timer get (every = 10) { ticks = twice(); }
    .signal uint<16> get() { return ticks; }
    .timer answers (every = 10) { return ticks; }
    .timer counts (every = 10) { ticks = periods(1); }
    .timer bare { ticks = 0; }
}
