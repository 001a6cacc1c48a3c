// SPDX-License-Identifier: Apache-2.0
// Simulation only: writes the tokens that move on a channel inside a design to a file (one hexadecimal number a line).
module tb_monitor #(
  parameter int unsigned Width = 32,
  parameter string       Name  = "channel"  // the file +dir/Name.seen
) (
  input logic             clk_i,
  input logic             rst_i,
  input logic [Width-1:0] data_i,
  input logic             moves_i
);
  int    file;
  string dir;

  initial begin
    if (!$value$plusargs("dir=%s", dir)) dir = ".";
    file = $fopen({dir, "/", Name, ".seen"}, "w");
  end
  final $fclose(file);

  always_ff @(posedge clk_i) if (!rst_i && moves_i) $fdisplay(file, "%h", data_i);
endmodule
