.element C (packet in, packet in2 -> packet out) {
    .handler {
        flit x = read(in);
        if (x.length > 100) return x;
        x.data[3] = 5;
        x.meta.mark = "hello";
        int y = x.sop ? x : 3;
        float z = 1.5;
        char c = 'a';
        write(x, out);
        out = x;
        return;
    }
}
