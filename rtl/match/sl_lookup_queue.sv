// SPDX-License-Identifier: Apache-2.0
// Between a table, which never stops, and a pipeline that stalls as a whole while an output has no room: holds the answers until
// the pipeline takes them. The pipeline takes an answer (`take_i`) in the stage before the one that reads it, which its token
// reaches at least Latency + 1 cycles after its key entered. So an answer is always available, and there are never more than Depth.
module sl_lookup_queue #(
  parameter int unsigned Width   = 33,  // bits per answer, at least 1
  parameter int unsigned Latency = 18   // cycles of the table
) (
  input  logic             clk_i,
  input  logic             rst_i,       // synchronous, active high
  input  logic             in_valid_i,
  input  logic [Width-1:0] in_data_i,
  input  logic             take_i,
  output logic [Width-1:0] out_data_o   // from the cycle after take_i until the next take_i
);
  localparam int unsigned Bits  = $clog2(Latency + 2);
  localparam int unsigned Depth = 2 ** Bits;

  logic [Bits-1:0]  write_q, read_q;
  logic [Width-1:0] oldest;

  sl_ram_lut #(.Width(Width), .Depth(Depth)) u_ram (
    .clk_i, .write_valid_i(in_valid_i), .write_address_i(write_q), .write_data_i(in_data_i),
    .read_address_i(read_q), .read_data_o(oldest)
  );

  always_ff @(posedge clk_i) begin
    if (in_valid_i) write_q <= write_q + 1'b1;
    if (take_i) begin
      read_q     <= read_q + 1'b1;
      out_data_o <= oldest;
    end
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
    end
  end

`ifndef SYNTHESIS
  logic [Bits:0] count_q;
  always_ff @(posedge clk_i) begin
    count_q <= rst_i ? '0 : count_q + (Bits + 1)'(in_valid_i) - (Bits + 1)'(take_i);
    if (!rst_i && take_i) a_is_there : assert (count_q != '0);
    if (!rst_i && in_valid_i && !take_i) a_has_room : assert (count_q != (Bits + 1)'(Depth));
  end
`endif
endmodule
