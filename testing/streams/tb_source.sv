// SPDX-License-Identifier: Apache-2.0
// Simulation only: the tokens of a file (one hexadecimal number a line) on a channel, with random pauses.
module tb_source #(
  parameter int unsigned Width = 32,
  parameter string       Name  = "in"  // the file +dir/Name.in; without it, no tokens
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  int unsigned      pause_i,   // of 256: how often it pauses
  input  logic             hold_i,    // nothing new begins
  output logic [Width-1:0] out_data_o,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic             done_o     // every token has moved
);
  int          file;
  string       dir;
  logic [Width-1:0] token;
  logic        more;

  initial begin
    out_valid_o = 1'b0;
    done_o      = 1'b0;
    more        = 1'b0;
    if (!$value$plusargs("dir=%s", dir)) dir = ".";
    file = $fopen({dir, "/", Name, ".in"}, "r");
    if (file != 0) more = $fscanf(file, "%h", token) == 1;
  end

  /* verilator lint_off BLKSEQ */  // the file is read where a token moves
  always_ff @(posedge clk_i) begin
    if (!rst_i && (!out_valid_o || out_ready_i)) begin
      out_valid_o <= 1'b0;
      if (more && !hold_i && 32'($urandom_range(255)) >= pause_i) begin
        out_data_o  <= token;
        out_valid_o <= 1'b1;
        more = $fscanf(file, "%h", token) == 1;
      end else if (!more) begin
        done_o <= 1'b1;
      end
    end
  end
  /* verilator lint_on BLKSEQ */
endmodule
