// SPDX-License-Identifier: Apache-2.0
/// Around an element with a body for whole packets, in the place of `It`: packets with any metadata, as they came, in frames that others
/// share, and made of flits that an element wrote.

import "../../elements/mux/mux.sl";
import "../../elements/tee/tee.sl";

constexpr uint PACKETS = 64;

/// Gives each packet its metadata.
.element Dress (packet in -> packet out) {
    .state { meta_t metas[PACKETS]; uint<clog2(PACKETS)> next; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            x.meta = metas[next];
            next += 1;
        }
        write(out, x);
    }
    .signal void set(uint<clog2(PACKETS)> number, meta_t meta) { metas[number] = meta; }
}

/// Marks some packets as bad, in their last flit.
.element Spoil (packet in -> packet out) {
    .state { bool bad[PACKETS]; uint<clog2(PACKETS)> next; }
    .handler {
        flit x = read(in);
        if (x.eop) {
            x.error = bad[next];
            next += 1;
        }
        write(out, x);
    }
    .signal void set(uint<clog2(PACKETS)> number, bool is_bad) { bad[number] = is_bad; }
}

.element It (packet in -> packet out) {
    .handler { write(out, read(in)); }
}

Dress :: dress @
Dress :: dress_copies @
Dress :: dress_flits @
Spoil :: spoil @
Tee :: tee
Mux :: mux
It :: it @
It :: it_behind @

from_lane[0] -> dress -> it -> to_lane[0]
from_lane[1] -> dress_copies -> tee
tee[1] -> mux.in[0]
tee[2] -> to_lane[1]
from_lane[2] -> dress_flits -> spoil -> mux.in[1]
mux -> it_behind -> to_lane[2]
