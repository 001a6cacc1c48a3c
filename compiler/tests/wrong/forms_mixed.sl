.element Count <1, 1> {
    .handler {
        flit x = read_input_port(PORT_2);
        write(out, x);
        set_output_port(PORT_1, x);
        return PORT_1;
    }
}
