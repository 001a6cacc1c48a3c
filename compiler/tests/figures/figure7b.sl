// SPDX-License-Identifier: Apache-2.0
// Figure 7(b) of the paper, lines 1 to 12, with the names that it does not declare; `o` can be asked for.

struct request_t { ulong x; }

uint hash(ulong key) { return (uint) (key & 63); }

.element Extract (packet in -> request_t out) {
    .handler {
        flit f = read(in);
        request_t r;
        r.x = (ulong) f.data & 1023;
        if (f.sop) write(out, r);
    }
}

.element Cache (request_t in -> ulong out) {
    struct entry_t { ulong key; ulong val; } cache[64];
    local ulong gmem[1024];
    request_t r;
    uint idx;
    ulong k, o;

    .init { .repeat (n, 0, 4) { gmem[n] = 1000 + n; } }
    .handler {
      r = read_input_port (PORT_1);
      idx = hash (r.x);
    S1:if ( cache[idx].key == r.x ) {
        o = cache[idx].val;
    S2:} else {
        o = gmem[r.x];
        k = cache[idx].key;
        gmem[k] = cache[idx].val;
        cache[idx].key = r.x;
        cache[idx].val = o;
      }
      set_output_port(PORT_1, o);
    }
    .signal ulong get_o() { return o; }
}

Cache :: cache @
from_tor -> Extract -> cache -> Drop<ulong>
