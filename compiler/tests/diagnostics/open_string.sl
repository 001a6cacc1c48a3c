import "no_end.sl;
struct after_t { uint<8> field; }
