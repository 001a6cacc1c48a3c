// A signal that writes a memory less often than the handler has no pause behind it, and the handler its interval of 2.
.element Fewer (ushort in -> ushort out) {
    .state { ushort s[100]; }
    .handler {
        ushort t = read(in);
        s[0] = t;
        s[87] &= t;
        write(out, s[87]);
    }
    .signal uchar set(ushort x) { s[3] = x; return 1; }
}
