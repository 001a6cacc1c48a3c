// SPDX-License-Identifier: Apache-2.0
/// The sixteen keys that were used last, the latest first: a key moves to the front, and says where it was.
/// Each cell hands the key that it had to the next one, up to where the key was.

struct move_t { uint key; uint moved; uint<5> at; bool ends; }

.element Front (uint in -> move_t out) {
    .handler {
        move_t m;
        m.key = read(in);
        m.moved = m.key;
        m.at = 16;
        write(out, m);
    }
}
.element Cell <Number> (move_t in -> move_t out) {
    .state { uint key; bool is_used; }
    .handler {
        move_t m = read(in);
        uint own = key;
        bool was_used = is_used;
        if (!m.ends) {
            key = m.moved;
            is_used = true;
            m.moved = own;
            m.ends = !was_used || own == m.key;
            if (was_used && own == m.key) m.at = Number;
        }
        write(out, m);
    }
}
.element Place (move_t in -> uint<5> out) {
    .handler { move_t m = read(in); write(out, m.at); }
}
.element_group Lru (uint in -> uint<5> out) {
    in -> Front
        -> Cell<0> -> Cell<1> -> Cell<2> -> Cell<3> -> Cell<4> -> Cell<5> -> Cell<6> -> Cell<7>
        -> Cell<8> -> Cell<9> -> Cell<10> -> Cell<11> -> Cell<12> -> Cell<13> -> Cell<14> -> Cell<15>
        -> Place -> out
}

/// A packet's key is its mark.
.element Key (packet in -> uint out) {
    .handler { flit x = read(in); if (x.sop) write(out, x.meta.mark); }
}
.element Mark (uint<5> in -> packet out) {
    .handler { flit x; x.sop = 1; x.eop = 1; x.meta.mark = read(in); write(out, x); }
}
Key :: key
Lru :: lru
Mark :: mark
from_tor -> key -> lru -> mark -> to_tor
