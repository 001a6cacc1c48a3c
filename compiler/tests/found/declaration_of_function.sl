// g++ took the condition for the declaration of a function, as it looks like one up to its last argument.
.element DeclarationOfFunction (int<31> a -> uint<16> out) {
    uint<24> f(int<7> x, ulong y, int<17> z) {
        return (uint<24>) (x + y + z);
    }
    .handler {
        int<31> t = read(a);
        uint<16> v = 3;
        if (((ushort) f((int<7>) t, (ulong) t, (int<17>) 1) < (ushort) 7) && (t > 3)) v = 4;
        write(out, v);
    }
}
