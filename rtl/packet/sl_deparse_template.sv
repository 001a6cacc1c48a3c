// SPDX-License-Identifier: Apache-2.0
// The store of header templates, and their per-packet fields: IP length and checksum, UDP length and source port, tunnel id.
// Latency TEMPLATE_LATENCY, never stalls; no packet may come in the cycle of a write, so that each packet sees one whole template.
// A template that was never written, or was removed, is `missing`.
module sl_deparse_template
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,          // synchronous, active high: removes all templates
  input  logic           write_valid_i,  // stores a template, or removes it if its size is 0; later packets see it
  input  logic [7:0]     write_index_i,
  input  template_t      write_data_i,   // size: even, at most TEMPLATE_BYTES
  input  logic           valid_i,        // a packet that gets a template
  /* verilator lint_off UNUSEDSIGNAL */  // `insert` is valid_i
  input  deparse_front_t front_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [15:0]    length_i,       // bytes of the packet after the template
  output logic           valid_o,        // TEMPLATE_LATENCY cycles after valid_i
  output front_header_t  header_o
);
  localparam int unsigned Halves    = TEMPLATE_BYTES / 2;
  localparam int unsigned HalfBits  = $clog2(Halves) + 1;  // an offset, including the end
  localparam int unsigned ReadCycles = 2;

  typedef logic [8*TEMPLATE_BYTES-1:0] bytes_t;

  /* verilator lint_off UNUSEDSIGNAL */  // reserved bits; not every stage uses all of a front
  template_t      stored, named_q;
  deparse_front_t front, front_q, front_q2;
  template_info_t info_q2;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [TEMPLATES-1:0] present_q;
  logic [15:0]    length, ip_length_q, udp_length_q, ip_length_q2;
  logic [16:0]    ip_sum_q2;
  logic           present, read_valid, missing_q, missing_q2, valid_q, valid_q2;
  bytes_t         bytes_q2;

  // Bytes from an offset to the end of the packet. Per-packet fields count from an offset inside the template.
  function automatic logic [15:0] length_from(logic [15:0] packet, logic [7:0] size, logic [5:0] place);
    return packet + 16'(size) - 16'({place, 1'b0});
  endfunction

  // Writes 16 bits at an offset; nothing beyond the end.
  function automatic bytes_t put(bytes_t bytes, logic enable, logic [HalfBits-1:0] place, logic [15:0] value);
    bytes_t x;
    x = bytes;
    for (int unsigned n = 0; n < Halves; n++) begin
      if (enable && place == HalfBits'(n)) x[16*n +: 16] = swap16(value);
    end
    return x;
  endfunction

  // Keeps the lower byte of the 16 bits.
  function automatic bytes_t put_high(bytes_t bytes, logic enable, logic [HalfBits-1:0] place, logic [7:0] value);
    bytes_t x;
    x = bytes;
    for (int unsigned n = 0; n < Halves; n++) begin
      if (enable && place == HalfBits'(n)) x[16*n +: 8] = value;
    end
    return x;
  endfunction

  sl_ram_block #(.Width($bits(template_t)), .Depth(TEMPLATES), .Latency(ReadCycles)) u_store (
    .clk_i, .write_valid_i, .write_address_i(write_index_i), .write_data_i,
    .read_valid_i(valid_i), .read_address_i(front_i.index), .read_data_o(stored)
  );
  sl_delay #(.Width($bits(deparse_front_t) + 17), .Cycles(ReadCycles)) u_wait (
    .clk_i, .rst_i, .valid_i, .data_i({front_i, length_i, present_q[front_i.index]}),
    .valid_o(read_valid), .data_o({front, length, present})
  );

  always_ff @(posedge clk_i) begin
    if (write_valid_i) present_q[write_index_i] <= write_data_i.info.size != '0;
    if (rst_i) present_q <= '0;
  end

  always_ff @(posedge clk_i) begin
    valid_q  <= read_valid && !rst_i;
    valid_q2 <= valid_q && !rst_i;
    valid_o  <= valid_q2 && !rst_i;
    if (read_valid) begin
      named_q      <= stored;
      front_q      <= front;
      missing_q    <= !present;
      ip_length_q  <= length_from(length, stored.info.size, stored.info.ip_place) - (stored.info.is_ipv6 ? 16'd40 : 16'd0);
      udp_length_q <= length_from(length, stored.info.size, stored.info.udp_place);
    end
    if (valid_q) begin
      front_q2     <= front_q;
      info_q2      <= named_q.info;
      missing_q2   <= missing_q;
      ip_length_q2 <= ip_length_q;
      ip_sum_q2    <= 17'(named_q.info.ip_sum) + 17'(ip_length_q);
      bytes_q2     <= put(put(named_q.bytes, named_q.info.has_udp, HalfBits'(named_q.info.udp_place), front_q.udp_src),
                          named_q.info.has_udp, HalfBits'(named_q.info.udp_place) + HalfBits'(2), udp_length_q);
    end
    if (valid_q2) begin
      header_o.missing <= missing_q2;
      header_o.size    <= missing_q2 ? '0 : info_q2.size;
      header_o.bytes   <= put_high(put(put(put(bytes_q2,
        info_q2.is_ipv4 || info_q2.is_ipv6, HalfBits'(info_q2.ip_place) + (info_q2.is_ipv4 ? HalfBits'(1) : HalfBits'(2)), ip_length_q2),
        info_q2.is_ipv4, HalfBits'(info_q2.ip_place) + HalfBits'(5), ~(ip_sum_q2[15:0] + 16'(ip_sum_q2[16]))),
        info_q2.has_id && front_q2.write_id, HalfBits'(info_q2.id_place), front_q2.tunnel_id[23:8]),
        info_q2.has_id && front_q2.write_id, HalfBits'(info_q2.id_place) + HalfBits'(1), front_q2.tunnel_id[7:0]);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (write_valid_i && !rst_i) a_no_packet_beside_a_write : assert (!valid_i);
  end
`endif
endmodule
