struct pair { uint<8> low; uint<8> words; };
struct both { pair pair; uint<8> Uint; uint<8> size_t; uint<8> both; };
.element FieldNames (uint<8> in -> both out) {
    .handler {
        uint<8> x = read(in);
        both b = {{x, x}, x, x, x};
        b.pair.words = 3;
        write(out, b);
    }
}
