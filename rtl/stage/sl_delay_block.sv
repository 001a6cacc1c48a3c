// SPDX-License-Identifier: Apache-2.0
// Delays words as sl_delay does, in a ring of block RAM: for long delays of wide words, where LUT RAM and the choice among its columns
// would take more than they are worth. Only the valid bits are reset; a word without its valid is never used.
module sl_delay_block #(
  parameter int unsigned Width  = 512,  // bits per word, at least 1
  parameter int unsigned Cycles = 40    // delay, at least 4
) (
  input  logic             clk_i,
  input  logic             rst_i,    // synchronous, active high: discards the words inside
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,  // valid_i, Cycles later
  output logic [Width-1:0] data_o    // registered; stable until the next valid word
);
  localparam int unsigned AddressBits = $clog2(Cycles);

  logic [Cycles-1:0]      valid_q;
  logic [AddressBits-1:0] write_place_q, read_place_q;

  // A word is read two cycles before another takes its place: the RAM has two registers.
  sl_ram_block #(.Width(Width), .Depth(Cycles), .Latency(2)) u_ram (
    .clk_i, .write_valid_i(valid_i), .write_address_i(write_place_q), .write_data_i(data_i),
    .read_valid_i(valid_q[Cycles-3]), .read_address_i(read_place_q), .read_data_o(data_o)
  );

  function automatic logic [AddressBits-1:0] after(logic [AddressBits-1:0] place);
    return place == AddressBits'(Cycles - 1) ? '0 : place + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    write_place_q <= after(write_place_q);
    read_place_q  <= after(read_place_q);
    valid_q       <= {valid_q[Cycles-2:0], valid_i};
    if (rst_i) begin
      write_place_q <= '0;
      read_place_q  <= AddressBits'(2);
      valid_q       <= '0;
    end
  end
  assign valid_o = valid_q[Cycles-1];
endmodule
