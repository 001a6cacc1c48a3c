.element Cache (packet in -> packet out) {
    global ulong table1[1024];
    .init { count = 1; }
    .init { count = 2; }
    .handler {
        goto_state next;
        break;
        write(out, read(in));
    }
}
