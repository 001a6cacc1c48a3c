.element E <1, 1> {
    .handler {
        flit x = read_input_port(1);
        flit y = read_input_port(3);
        set_output_port(x, PORT_1);
        unsigned int n = 3;
        for (int i = 0, j = 0; i < 3; i++) { }
        do { n--; } while (n);
        n = n++ + 1;
        x.fd.data = x.fd.data[0];
        return PORT_1
    }
}
