// 27 November: g++ refused a look-up ahead whose key does not depend on the packet.
.element Known (packet in -> packet out) {
    table exact<uint<8>, uint<32>> known[8];
    .handler {
        flit x = read(in);
        uint<32> value;
        if (x.sop && known.lookup(5, value)) x.meta.mark = value;
        write(out, x);
    }
}
Known :: known
from_lane[0] -> known.in
known.out -> to_lane[0]
