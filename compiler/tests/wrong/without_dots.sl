element B (packet in -> packet out) {
    handler { write(out, read(in)); }
}
B : b
from_tor -> b -> to_tor
