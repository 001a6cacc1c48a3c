// A signal that writes a memory less often than the handler has no pause behind it, and the handler its interval of 2.
.element Fewer (ushort in -> ushort out) {
    .state { ushort s[100]; }
    .handler {
        ushort t = read(in);
        write(out, s[t & 3] + s[87]);
        s[t & 3] = t;
        s[87] += t;
    }
    .signal uchar set(ushort x) { s[3] = x; return 1; }
}
