.element Lengths (packet in -> uint<16> out) {
    .handler { flit x = read(in); if (x.sop) write(out, x.meta.length); }
}
from_tor -> Lengths -> Count -> to_tor
