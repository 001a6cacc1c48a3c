.element Toggle (packet in -> packet out) {
    .state { bool on; }
    .handler { flit x = read(in); if (on) write(out, x); }
    .timer toggle (every = 1000) { on = !on; }
}
from_tor -> Toggle -> to_tor
