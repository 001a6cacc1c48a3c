// Broken syntax: every declaration reports its own error, and the parser goes on behind it.
struct missing_semicolon_t {
    uint<8> first
    uint<8> second;
}
strukt misspelled_t {
    uint<8> field;
}
enum no_size_t { NO_SIZE_A = 0 }
registers no_offset {
    rw uint<32> a @ 0x0;
    rw uint<32> b;
    uint<32> c @ 0x8;
}
constexpr uint NO_VALUE = ;
constexpr uint BAD_NUMBER = 0x12g4;
constexpr uint BAD_CHARACTER = 1 # 2;
import bare_word;
static_assert ((1 == 1);
constexpr uint LIST[2] = 3;
