// Values and sizes.
constexpr uint ZERO = 0;
constexpr uint DIVIDED = 8 / ZERO;
constexpr uint NEGATIVE = 0 - 1;
constexpr uint SHIFTED = 1 << 4000;
constexpr uint LOGARITHM = clog2(ZERO);
struct no_width_t { uint<ZERO> field; }
struct no_elements_t { uint<8> field[ZERO]; }
struct empty_t { }
enum none_t : uint<8> { }
enum small_t : uint<2> { SMALL_A = 3, SMALL_B }
header half_byte_t { uint<12> field; }
record bits_in_record_t { uint<3> low; uint<5> high; }
registers windows {
    ro uint<32> first    @ 0x000;
    ro uint<32> same     @ 0x000;
    ro uint<32> odd      @ 0x006;
    ro uint<64> wide     @ 0x010;
    rw uint<4>  full     @ 0x014 = 16;
    ro uint<32> last[2]  @ 0xffc;
}
static_assert bits(small_t) == 3;
