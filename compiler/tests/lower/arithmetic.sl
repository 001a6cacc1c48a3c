// Signs, widths, division at its edges, conversions, shifts, conditional and short-circuit evaluation.
uint<8> count_up(uint<8> n) { if (n > 9) return n; return n + 3; }
.element Arithmetic (uint<48> in -> uint<32> out, int<64> wide) {
    .state { int<16> low; uint<32> calls; bool odd; int<7> tiny; }
    .init { low = -3; }
    .handler {
        uint<48> x = read(in);
        int<16> a = (int<16>) x;
        int<16> b = (int<16>) (x >> 16);
        uint<8> n = x >> 40;
        int<32> q = (a / b) * (a % b) + (a >> n) - (b << (n & 31));
        uint<32> u = (uint<32>) x / ((uint<32>) (x >> 20)) ^ (uint<32>) x % n;
        low = low > a ? a : (low + b);
        odd = a < b && count_up(n) > 5 || n == 3; if (odd) calls += 1;
        tiny = tiny * 3 + n;
        if (!odd) write(out, u + (uint<32>) q);
        write(wide, (int<64>) a * b - tiny);
        print("{} {}", a, u);
        assert(n != 17);
    }
}
