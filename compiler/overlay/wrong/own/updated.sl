/// Of a user: another function of the library's name, in a file of its name.
uint<16> checksum_updated(uint<16> checksum, uint<16> old, uint<16> now) {
    return checksum + old - now;
}
