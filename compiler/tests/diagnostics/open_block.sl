// A block that is not closed before the next declaration.
registers open_registers {
    ro uint<32> a @ 0x0;

struct closed_t {
    uint<8> field;
}
