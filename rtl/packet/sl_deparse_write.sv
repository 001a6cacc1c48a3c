// SPDX-License-Identifier: Apache-2.0
// Writes the edited fields into realigned flits: first the image of Ethernet, tags and IP, then ports and checksum of the transport
// header at its offset. Latency WRITE_LATENCY, never stalls.
module sl_deparse_write
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_i,    // synchronous, active high
  input  logic     valid_i,
  input  aligned_t in_i,
  output logic     valid_o,  // WRITE_LATENCY cycles after valid_i
  output written_t out_o
);
  localparam int unsigned DataBits  = 8 * DATA_BYTES;
  localparam int unsigned Halves    = DATA_BYTES / 2;
  localparam int unsigned HalfBits  = $clog2(Halves);
  localparam int unsigned HeadFlits = HEAD_BYTES / DATA_BYTES;

  logic              valid_q1, valid_q2;
  /* verilator lint_off UNUSEDSIGNAL */  // the template is computed in parallel
  aligned_t          in_q;
  /* verilator lint_on UNUSEDSIGNAL */
  flit_t             flit_q;
  logic              insert_q;
  logic [15:0]       src_q, dst_q, sum_q;
  logic [Halves-1:0] src_hit_q, dst_hit_q, sum_hit_q;  // bit n: bytes 2n and 2n + 1 of the flit are replaced

  function automatic logic [DataBits-1:0] write_head(
    logic [DataBits-1:0] data, logic [8*HEAD_BYTES-1:0] image, logic [2*HEAD_BYTES-1:0] mask,
    logic [EDIT_INDEX_BITS-1:0] index
  );
    logic [DataBits-1:0] out;
    out = data;
    for (int unsigned i = 0; i < HeadFlits; i++) begin
      if (index == EDIT_INDEX_BITS'(i)) begin
        for (int unsigned n = 0; n < 2 * DATA_BYTES; n++) begin
          if (mask[2 * DATA_BYTES * i + n]) out[4*n +: 4] = image[DataBits * i + 4*n +: 4];
        end
      end
    end
    return out;
  endfunction

  function automatic logic [Halves-1:0] hits(logic write, logic [6:0] half, logic [EDIT_INDEX_BITS-1:0] index);
    logic [Halves-1:0] out;
    out = '0;
    if (write && EDIT_INDEX_BITS'(half[6:HalfBits]) == index) out[half[HalfBits-1:0]] = 1'b1;
    return out;
  endfunction

  function automatic logic [DataBits-1:0] write_transport(
    logic [DataBits-1:0] data, logic [Halves-1:0] src_hit, logic [Halves-1:0] dst_hit, logic [Halves-1:0] sum_hit,
    logic [15:0] src, logic [15:0] dst, logic [15:0] sum
  );
    logic [DataBits-1:0] out;
    out = data;
    for (int unsigned n = 0; n < Halves; n++) begin
      if (src_hit[n]) out[16*n +: 16] = swap16(src);
      if (dst_hit[n]) out[16*n +: 16] = swap16(dst);
      if (sum_hit[n]) out[16*n +: 16] = swap16(sum);
    end
    return out;
  endfunction

  always_ff @(posedge clk_i) begin
    valid_q1 <= valid_i && !rst_i;
    valid_q2 <= valid_q1 && !rst_i;
    valid_o  <= valid_q2 && !rst_i;
    if (valid_i) in_q <= in_i;
    if (valid_q1) begin
      flit_q      <= in_q.flit;
      insert_q    <= in_q.front.insert;
      flit_q.data <= write_head(in_q.flit.data, in_q.edit.image, in_q.edit.mask, in_q.index);
      src_hit_q   <= hits(in_q.edit.src_write, in_q.edit.src_half, in_q.index);
      dst_hit_q   <= hits(in_q.edit.dst_write, in_q.edit.dst_half, in_q.index);
      sum_hit_q   <= hits(in_q.edit.sum_write, in_q.edit.sum_half, in_q.index);
      src_q       <= in_q.edit.src;
      dst_q       <= in_q.edit.dst;
      sum_q       <= in_q.edit.sum;
    end
    if (valid_q2) begin
      out_o.insert <= insert_q;
      out_o.flit   <= flit_q;
      out_o.flit.data <= write_transport(flit_q.data, src_hit_q, dst_hit_q, sum_hit_q, src_q, dst_q, sum_q);
    end
  end
endmodule
