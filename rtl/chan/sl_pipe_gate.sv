// SPDX-License-Identifier: Apache-2.0
// Puts a pipeline that never stalls between two channels. A word enters only when the output FIFO has a slot for it and for
// everything in flight (sl_pipe_output), so nothing is lost however long the output stalls. Sustains one word per cycle; a result
// leaves 2 cycles after the pipeline delivers it (3 if the FIFO is in block RAM).
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
  assign stage_valid_o = in_valid_i && in_ready_o;
  assign stage_data_o  = in_data_i;

  sl_pipe_output #(.Width(OutWidth), .Latency(Latency)) u_output (
    .clk_i, .rst_i, .credit_o(in_ready_o), .take_i(stage_valid_o), .done_i(stage_valid_i), .write_i(1'b1),
    .data_i(stage_data_i), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
