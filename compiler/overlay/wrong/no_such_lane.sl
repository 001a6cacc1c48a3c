.element Program (packet in -> packet out) {
    .handler { write(out, read(in)); }
}
Program :: program
from_lane[0] -> program -> to_lane[4]
