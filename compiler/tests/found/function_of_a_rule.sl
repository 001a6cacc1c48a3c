// A state's next value shifts what a table says by the state: the function that was forwarded looked at the table itself.
.element FunctionOfARule (uint<8> key -> uint<1> out) {
    .state { uint<1> state; }
    table ternary<uint<8>, uint<48>> rules[2];
    .handler {
        uint<48> value;
        bool found = rules.lookup(read(key), value);
        if ((uint<2>) (value >> (uint<4>) state) == 1) state = 1;
        write(out, state);
    }
}
