// SPDX-License-Identifier: Apache-2.0
// Prepends its header to each packet that needs one; all others pass. One flit per cycle out: the input waits while whole flits of
// the header are sent, and one cycle more if the packet grows by a flit. If the header is missing, the packet stays unchanged and
// is marked bad at its end. A packet waits for its header, a header for its packet.
module sl_deparse_prepend
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_i,           // synchronous, active high
  input  written_t      in_data_i,       // `insert`: same for all flits of a packet
  input  logic          in_valid_i,
  output logic          in_ready_o,      // combinational from header_valid_i and out_ready_i
  input  front_header_t header_data_i,
  input  logic          header_valid_i,
  output logic          header_ready_o,  // combinational from in_valid_i and out_ready_i: taken with the packet's last flit
  output flit_t         out_data_o,      // registered
  output logic          out_valid_o,
  input  logic          out_ready_i
);
  flit_t         flit;
  logic          insert;
  front_header_t header;

  assign {insert, flit} = in_data_i;
  assign header         = header_data_i;

  localparam int unsigned EmptyBits   = $clog2(DATA_BYTES);
  localparam int unsigned HeaderFlits = TEMPLATE_BYTES / DATA_BYTES;
  localparam int unsigned WholeBits   = 8 - EmptyBits;

  logic [WholeBits-1:0] sent_q;         // header-only flits that were sent
  logic                 spill_q;        // the remainder of the packet is in tail_q
  logic [EmptyBits-1:0] spill_empty_q;
  logic                 spill_error_q;
  flit_data_t           tail_q;         // start of the next output flit

  logic                 free, start, alone, spills, take;
  logic [WholeBits-1:0] whole;          // header-only flits
  flit_half_t           rest;           // the rest of the header, in 2-byte units
  logic [EmptyBits-1:0] rest_bytes;

  assign whole      = header.size[7:EmptyBits];
  assign rest_bytes = header.size[EmptyBits-1:0];
  assign rest       = rest_bytes[EmptyBits-1:1];
  assign free       = !out_valid_o || out_ready_i;
  assign start      = in_valid_i && (!insert || header_valid_i);
  assign alone      = insert && flit.sop && sent_q != whole;
  assign spills     = insert && flit.eop && flit.empty < rest_bytes;
  assign take       = in_valid_i && in_ready_o;

  assign in_ready_o     = free && !spill_q && (!insert || (header_valid_i && !alone));
  assign header_ready_o = take && insert && flit.eop;

  function automatic flit_data_t header_flit(logic [8*TEMPLATE_BYTES-1:0] bytes, logic [WholeBits-1:0] index);
    flit_data_t x;
    x = '0;
    for (int unsigned i = 0; i < HeaderFlits; i++) begin
      if (index == WholeBits'(i)) x = bytes[8*DATA_BYTES*i +: 8*DATA_BYTES];
    end
    return x;
  endfunction

  function automatic meta_t longer(meta_t meta, logic [7:0] size);
    meta_t m;
    m        = meta;
    m.length = meta.length + 16'(size);
    return m;
  endfunction

  always_ff @(posedge clk_i) begin
    if (free) begin
      out_valid_o <= spill_q || start;
      if (spill_q) begin
        out_data_o       <= '0;
        out_data_o.eop   <= 1'b1;
        out_data_o.empty <= spill_empty_q;
        out_data_o.error <= spill_error_q;
        out_data_o.data  <= tail_q;
        spill_q          <= 1'b0;
      end else if (start && !insert) begin
        out_data_o <= flit;
      end else if (start) begin
        out_data_o      <= '0;
        out_data_o.sop  <= flit.sop && sent_q == '0;
        if (flit.sop && sent_q == '0) out_data_o.meta <= longer(flit.meta, header.size);
        if (alone) begin
          out_data_o.data <= header_flit(header.bytes, sent_q);
          sent_q          <= sent_q + 1'b1;
        end else begin
          out_data_o.eop   <= flit.eop && !spills;
          out_data_o.empty <= flit.eop && !spills ? flit.empty - rest_bytes : '0;
          out_data_o.error <= flit.eop && !spills && (flit.error || header.missing);
          out_data_o.data  <= join_at(flit.sop ? header_flit(header.bytes, whole) : tail_q,
                                      rotate_up(flit.data, rest), rest);
          tail_q           <= join_at(rotate_up(flit.data, rest), '0, rest);
          sent_q           <= '0;
          spill_q          <= spills;
          spill_empty_q    <= flit.empty - rest_bytes;
          spill_error_q    <= flit.error || header.missing;
        end
      end
    end
    if (rst_i) begin
      out_valid_o <= 1'b0;
      spill_q     <= 1'b0;
      sent_q      <= '0;
    end
  end
endmodule
