.element Cache (packet in -> packet out) {
    global ulong table1[1024];
    .handler {
        goto_state next;
        break;
        write(out, read(in));
    }
}
