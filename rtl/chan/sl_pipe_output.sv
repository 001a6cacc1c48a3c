// SPDX-License-Identifier: Apache-2.0
// The output of a pipeline that never stalls: a FIFO with a slot for every word that is still in the pipeline (credits), so nothing
// is lost however long the output waits. What begins takes a credit; Latency cycles later it writes a word, or gives the credit
// back. Sustains one word in every `Interval` cycles, also while up to two words wait; a word leaves 2 cycles after it was written
// (3 if the FIFO is in block RAM). A word without a credit would overflow the FIFO: an assertion catches it.
module sl_pipe_output #(
  parameter int unsigned Width    = 32,  // bits per word, at least 1
  parameter int unsigned Latency  = 1,   // cycles from take_i to done_i, at least 0
  parameter int unsigned Interval = 1    // at least so many cycles from take_i to take_i, at least 1
) (
  input  logic             clk_i,
  input  logic             rst_i,       // synchronous, active high; the pipeline must be reset with it
  output logic             credit_o,    // registered: one more may begin
  input  logic             take_i,      // one begins, only with credit_o
  input  logic             done_i,      // Latency cycles after take_i
  input  logic             write_i,     // with done_i: there is a word
  input  logic [Width-1:0] data_i,      // with write_i
  output logic [Width-1:0] out_data_o,  // registered
  output logic             out_valid_o, // registered
  input  logic             out_ready_i
);
  // A credit is there again after Latency + 4 cycles (block RAM: + 5): begin, write, through the FIFO, leave, back.
  localparam int unsigned Places = (Latency + 4 + Interval - 1) / Interval + 2;
  localparam int unsigned Depth  = Places <= 16 ? 16 : 2 ** $clog2(Places);
  localparam int unsigned CountBits = $clog2(Depth + 1);

  logic [CountBits-1:0] in_flight_q;  // credits that are taken
  logic                 return_q;     // one was given back; a cycle later, because what decides it may be late
  logic                 leave_q;      // a word left; a cycle later, because the next element may be far away
  logic [1:0]           back;
  logic [CountBits-1:0] rest, rest_and_one;

  // Whether one begins is known late: both counts are there before, and no adder is behind it.
  assign back = 2'(leave_q) + 2'(return_q);
  assign rest = in_flight_q - CountBits'(back);
  always_comb begin
    for (int unsigned i = 0; i < CountBits; i++) rest_and_one[i] = rest[i] ^ ((rest | ~((CountBits'(1) << i) - 1'b1)) == '1);
  end

  always_ff @(posedge clk_i) begin
    return_q    <= done_i && !write_i;
    leave_q     <= out_valid_o && out_ready_i;
    in_flight_q <= take_i ? rest_and_one : rest;
    if (take_i != (back != '0)) credit_o <= !take_i || in_flight_q != CountBits'(Depth - 1);
    if (rst_i) begin
      return_q    <= 1'b0;
      leave_q     <= 1'b0;
      in_flight_q <= '0;
      credit_o    <= 1'b1;
    end
  end

  logic                 fifo_ready;  // always 1 with a word, because of the credits
  logic [CountBits-1:0] unused_count;

  sl_fifo #(.Width(Width), .Depth(Depth), .Style(Depth > 64 ? 1 : 0), .Steady(1'b1)) u_fifo (
    .clk_i, .rst_i, .in_data_i(data_i), .in_valid_i(done_i && write_i), .in_ready_o(fifo_ready),
    .out_data_o, .out_valid_o, .out_ready_i, .count_o(unused_count)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && take_i) a_takes_a_credit : assert (credit_o);
    if (!rst_i && done_i && write_i) a_room_for_every_word : assert (fifo_ready);
  end
`else
  logic unused_ready;
  assign unused_ready = fifo_ready;
`endif
endmodule
