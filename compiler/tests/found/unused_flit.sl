// 27 November: a flit that is read and never looked at was an error of g++.
.element Sink (packet in -> packet out) {
    .handler {
        flit x = read(in);
    }
}
Sink :: sink
from_lane[0] -> sink.in
sink.out -> to_lane[0]
