.element Nothing (packet in -> packet out) {
    .handler { write(out, read(in)); }
    .native sv "nothing.sv"
    .native vhdl "nothing.vhd"
}
