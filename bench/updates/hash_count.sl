// SPDX-License-Identifier: Apache-2.0
/// Figure 6 of the ClickNP paper over 4,096 entries: a counter of 64 bits beside a key, counted where the key is the packet's.

uint<12> hash(uint key) { return (uint<12>) (key ^ key >> 12); }

.element HashCount (packet in -> packet out) {
    .state { struct hash_entry { uint key; ulong cnt; } entries[4096]; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
        if (x.sop) {
            uint<12> idx = hash(ip->source);
            if (entries[idx].key == 0) entries[idx].key = ip->source;
            if (entries[idx].key == ip->source) entries[idx].cnt++;
            x.meta.mark = (uint) entries[idx].cnt;
        }
        write(out, x);
    }
}
