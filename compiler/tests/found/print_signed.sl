// The simulator printed the bits above a signed value that does not fill its word.
.element PrintSigned (int<200> a -> int<16> out) {
    .handler {
        int<200> x = read(a);
        print("{} {} {} {}", (int<17>) x, x, (int<40>) (x >> 20), (int<5>) (x >> 3));
        write(out, (int<16>) x);
    }
    .signal int<24> get0(int<17> b, int<200> c) {
        print("{} {}", b, c);
    }
}
