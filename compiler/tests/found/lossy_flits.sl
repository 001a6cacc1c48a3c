// A lossy channel as RTL forgot the metadata of every flit but the first, wrote another length there, and dropped packets that
// were short or marked by the program.
.element Mark (packet in -> packet out) {
    .state {
        uint<16> n;
    }
    .handler {
        flit x = read(in);
        n += 3;
        x.meta.length = n;
        x.error = x.eop & (uint<1>) n;
        write(out, x);
    }
}
.element Sum (packet in -> packet out) {
    .state {
        ulong sum;
    }
    .handler {
        flit x = read(in);
        sum = sum * 5 + x.meta.length + x.error;
        write(out, x);
    }
}
Mark :: mark
Sum :: sum
from_lane[0] -> mark => sum -> to_lane[0]
