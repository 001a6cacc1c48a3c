// SPDX-License-Identifier: Apache-2.0
// Puts a pipeline that never stalls between two channels. A word enters only when the output FIFO has a slot for it and for
// everything in flight (credits), so nothing is lost however long the output stalls. Sustains one word per cycle; a result leaves 2
// cycles after the pipeline delivers it (3 if the FIFO is in block RAM). A word that leaves the pipeline without having entered
// would overflow the FIFO: an assertion catches it.
module sl_pipe_gate #(
  parameter int unsigned InWidth  = 32,  // bits per word into the pipeline, at least 1
  parameter int unsigned OutWidth = 32,  // bits per word out of it, at least 1
  parameter int unsigned Latency  = 1    // cycles from stage_valid_o to stage_valid_i, at least 0
) (
  input  logic                clk_i,
  input  logic                rst_i,          // synchronous, active high; the pipeline must be reset with it
  input  logic [InWidth-1:0]  in_data_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,     // registered: a credit is available
  output logic                stage_valid_o,  // a word enters the pipeline
  output logic [InWidth-1:0]  stage_data_o,
  input  logic                stage_valid_i,  // a word leaves the pipeline, Latency cycles after it entered
  input  logic [OutWidth-1:0] stage_data_i,
  output logic [OutWidth-1:0] out_data_o,     // registered
  output logic                out_valid_o,    // registered
  input  logic                out_ready_i
);
  // A credit returns after Latency + 4 cycles (block RAM: + 5): enter, leave the pipeline, through the FIFO, back.
  localparam int unsigned Places = Latency + 5;
  localparam int unsigned Depth  = Places <= 16 ? 16 : 2 ** $clog2(Places);
  localparam int unsigned CountBits = $clog2(Depth + 1);

  logic [CountBits-1:0] in_flight_q;  // words that entered and have not left the output
  logic                 enter, leave;

  assign enter         = in_valid_i && in_ready_o;
  assign leave         = out_valid_o && out_ready_i;
  assign stage_valid_o = enter;
  assign stage_data_o  = in_data_i;

  always_ff @(posedge clk_i) begin
    if (enter != leave) begin
      in_flight_q <= enter ? in_flight_q + 1'b1 : in_flight_q - 1'b1;
      in_ready_o  <= !enter || in_flight_q != CountBits'(Depth - 1);
    end
    if (rst_i) begin
      in_flight_q <= '0;
      in_ready_o  <= 1'b1;
    end
  end

  logic                 fifo_ready;  // always 1, because of the credits
  logic [CountBits-1:0] unused_count;

  sl_fifo #(.Width(OutWidth), .Depth(Depth), .Style(Depth > 64 ? 1 : 0)) u_fifo (
    .clk_i, .rst_i,
    .in_data_i(stage_data_i), .in_valid_i(stage_valid_i), .in_ready_o(fifo_ready),
    .out_data_o, .out_valid_o, .out_ready_i, .count_o(unused_count)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (stage_valid_i && !rst_i) a_room_for_every_word : assert (fifo_ready);
  end
`else
  logic unused_ready;
  assign unused_ready = fifo_ready;
`endif
endmodule
