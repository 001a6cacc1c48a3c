// SPDX-License-Identifier: Apache-2.0
// A register for a channel, in both directions: data, valid and ready all leave from flip-flops, one word per cycle, one cycle of
// latency. Holds up to two words, so that a word in flight has a slot when the receiver stops.
module sl_skid #(
  parameter int unsigned Width = 32  // bits per word, at least 1
) (
  input  logic             clk_i,
  input  logic             rst_i,       // synchronous, active high
  input  logic [Width-1:0] in_data_i,
  input  logic             in_valid_i,
  output logic             in_ready_o,  // registered
  output logic [Width-1:0] out_data_o,
  output logic             out_valid_o,
  input  logic             out_ready_i
);
  logic [Width-1:0] spare_q;
  logic             spare_valid_q;

  assign in_ready_o = !spare_valid_q;

  always_ff @(posedge clk_i) begin
    if (out_ready_i || !out_valid_o) begin
      if (spare_valid_q || in_valid_i) out_data_o <= spare_valid_q ? spare_q : in_data_i;
      out_valid_o   <= spare_valid_q || in_valid_i;
      spare_valid_q <= 1'b0;
    end else if (in_valid_i && in_ready_o) begin
      spare_q       <= in_data_i;
      spare_valid_q <= 1'b1;
    end
    if (rst_i) begin
      out_valid_o   <= 1'b0;
      spare_valid_q <= 1'b0;
    end
  end
endmodule
