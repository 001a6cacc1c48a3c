struct commented_t {
    uint<8> field; /* this never ends
}
