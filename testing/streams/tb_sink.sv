// SPDX-License-Identifier: Apache-2.0
// Simulation only: writes the tokens of a channel to a file (one hexadecimal number a line), with random pauses.
module tb_sink #(
  parameter int unsigned Width = 32,
  parameter string       Name  = "out"  // the file +dir/Name.out
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  int unsigned      pause_i,  // of 256: how often it pauses
  input  logic [Width-1:0] in_data_i,
  input  logic             in_valid_i,
  output logic             in_ready_o
);
  int               file;
  string            dir;
  logic             waits_q;
  logic [Width-1:0] held_q;

  initial begin
    in_ready_o = 1'b0;
    if (!$value$plusargs("dir=%s", dir)) dir = ".";
    file = $fopen({dir, "/", Name, ".out"}, "w");
  end
  final $fclose(file);

  always_ff @(posedge clk_i) begin
    in_ready_o <= !rst_i && 32'($urandom_range(255)) >= pause_i;
    waits_q    <= in_valid_i && !in_ready_o && !rst_i;
    held_q     <= in_data_i;
    if (waits_q && !rst_i && (!in_valid_i || in_data_i != held_q)) $display("@law %m a waiting token changed");
    if (!rst_i && in_valid_i && in_ready_o) $fdisplay(file, "%h", in_data_i);
  end
endmodule
