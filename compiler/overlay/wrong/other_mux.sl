.element Mux (packet first, packet second -> packet out) {
    .handler {
        flit x = read(first);
        flit y = read(second);
        write(out, x);
    }
}
.element Program (packet in -> packet out) {
    .handler { write(out, read(in)); }
}
Mux :: lanes
from_lane[0] -> lanes.first
from_lane[1] -> lanes.second
lanes -> Program -> to_lane[0]
