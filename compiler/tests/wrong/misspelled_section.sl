.element Count (packet in -> packet out) {
    .states { ulong count; }
    .handler { write(out, read(in)); }
    .signals ulong get() { return 1; }
}
.elemnt Other (packet in -> packet out) { }
.element Third (packet in, packet out) { }
