// SPDX-License-Identifier: Apache-2.0
// Converts packets to a data width wider or narrower by a power of two; byte 0 is in bits 7:0. Widening takes one word per cycle
// and joins words; narrowing emits one word per cycle and omits pieces without a byte of the packet. The error of a packet is the
// error of its last word. Latency 1 after the last piece of a word.
module sl_width_convert #(
  parameter int unsigned InBytes  = 64,  // at least 2, a power of two
  parameter int unsigned OutBytes = 32   // at least 2, a power of two, not InBytes
) (
  input  logic                        clk_i,
  input  logic                        rst_i,        // synchronous, active high
  input  logic [8*InBytes-1:0]        in_data_i,
  input  logic [$clog2(InBytes)-1:0]  in_empty_i,   // unused bytes at eop; 0 elsewhere
  input  logic                        in_sop_i,
  input  logic                        in_eop_i,
  input  logic                        in_error_i,   // valid at eop only
  input  logic                        in_valid_i,
  output logic                        in_ready_o,
  output logic [8*OutBytes-1:0]       out_data_o,   // registered, like all outputs of the channel
  output logic [$clog2(OutBytes)-1:0] out_empty_o,
  output logic                        out_sop_o,
  output logic                        out_eop_o,
  output logic                        out_error_o,
  output logic                        out_valid_o,
  input  logic                        out_ready_i
);
  localparam int unsigned OutEmptyBits = $clog2(OutBytes);
  localparam int unsigned Ratio = InBytes > OutBytes ? InBytes / OutBytes : OutBytes / InBytes;
  localparam int unsigned IndexBits = $clog2(Ratio);

  logic [IndexBits-1:0]    index_q;  // the piece of the wider word
  logic [8*OutBytes-1:0]   data;
  logic [OutEmptyBits-1:0] empty;
  logic                    sop, eop, last, valid, room, move;

  assign move = in_valid_i && room;
  assign eop  = in_eop_i && last;

  always_ff @(posedge clk_i) begin
    if (move) index_q <= last ? '0 : index_q + 1'b1;
    if (rst_i) index_q <= '0;
  end

  if (InBytes > OutBytes) begin : gen_narrow
    logic [IndexBits-1:0] final_piece;  // the last piece that holds a byte of the packet

    assign final_piece = in_eop_i ? IndexBits'(Ratio - 1) - in_empty_i[OutEmptyBits +: IndexBits] : IndexBits'(Ratio - 1);
    assign last  = index_q == final_piece;
    assign data  = in_data_i[32'(index_q) * 8 * OutBytes +: 8 * OutBytes];
    assign empty = eop ? in_empty_i[OutEmptyBits-1:0] : '0;
    assign sop   = in_sop_i && index_q == '0;
    assign valid = in_valid_i;
    assign in_ready_o = room && last;
  end else begin : gen_wide
    logic [8*OutBytes-1:0] data_q;
    logic                  sop_q;

    assign last  = in_eop_i || index_q == IndexBits'(Ratio - 1);
    assign sop   = index_q == '0 ? in_sop_i : sop_q;
    assign empty = eop ? OutEmptyBits'((Ratio - 1 - 32'(index_q)) * InBytes + 32'(in_empty_i)) : '0;
    assign valid = in_valid_i && last;
    assign in_ready_o = room;

    always_comb begin
      data = index_q == '0 ? '0 : data_q;
      data[32'(index_q) * 8 * InBytes +: 8 * InBytes] = in_data_i;
    end

    always_ff @(posedge clk_i) begin
      if (move && !last) begin
        data_q <= data;
        sop_q  <= sop;
      end
    end
  end

  sl_skid #(.Width(8 * OutBytes + OutEmptyBits + 3)) u_skid (
    .clk_i, .rst_i, .in_data_i({data, empty, sop, eop, eop && in_error_i}), .in_valid_i(valid), .in_ready_o(room),
    .out_data_o({out_data_o, out_empty_o, out_sop_o, out_eop_o, out_error_o}), .out_valid_o, .out_ready_i
  );
endmodule
