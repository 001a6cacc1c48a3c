// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_pipe_gate around a pipeline of `Latency` stages, for all inputs and runs of any length (induction): its
// FIFO never overflows however long the output stalls, as many results leave as words entered, and the gate admits a word whenever
// fewer words are in flight than it has slots for; the first word in flight is offered Latency + 2 cycles after it entered, or the
// output has been busy since. fv_fifo proves that the FIFO keeps the order, without a gap.
module fv_pipe_gate #(
  parameter int unsigned Latency = 2  // stages of the pipeline, at least 1
) (
  input logic       clk_i,
  input logic [1:0] in_data_i,
  input logic       in_valid_i,
  input logic       out_ready_i
);
  localparam int unsigned Places = 16;  // slots of sl_pipe_gate for latencies up to 11

  logic       rst_q = 1'b1;
  logic       in_ready, out_valid, stage_valid;
  logic [1:0] out_data, stage_data;
  logic [Latency-1:0]      valid_q = '0;
  logic [Latency-1:0][1:0] data_q;

  sl_pipe_gate #(.InWidth(2), .OutWidth(2), .Latency(Latency)) u_gate (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .stage_valid_o(stage_valid), .stage_data_o(stage_data),
    .stage_valid_i(valid_q[Latency-1]), .stage_data_i(data_q[Latency-1]),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  int unsigned under_way, stored, read;
  logic [4:0]  owed_q = '0;  // words that entered and have not left
  logic [7:0]  waits_q = '0;  // cycles with a word in flight and none offered

  assign under_way = 32'($countones(valid_q)) + 32'(u_gate.u_fifo.count_o);
  assign stored    = 32'(u_gate.u_fifo.count_o) - 32'(out_valid);
  assign read      = 32'(u_gate.u_fifo.read_address_q);

  always_ff @(posedge clk_i) begin
    rst_q   <= 1'b0;
    valid_q <= rst_q ? '0 : Latency'({valid_q, stage_valid});
    data_q  <= (2 * Latency)'({data_q, ~stage_data});
    owed_q  <= owed_q + 5'(in_valid_i && in_ready && !rst_q) - 5'(out_valid && out_ready_i && !rst_q);
    if (rst_q || owed_q == '0 || out_valid) waits_q <= '0;
    else waits_q <= waits_q + 1'b1;

    if (!rst_q) begin
      a_offers_in_time : assert (32'(waits_q) <= Latency + 1);
      a_there_is_room : assert (!valid_q[Latency-1] || u_gate.u_fifo.in_ready_o);
      a_owes_what_is_under_way : assert (32'(owed_q) == under_way && under_way <= Places);
      a_lets_in_until_full : assert (in_ready == (under_way != Places));
      // Internal state, for the induction.
      i_credits : assert (u_gate.in_flight_q == owed_q);
      i_fifo : assert (32'(u_gate.u_fifo.count_o) <= Places && u_gate.u_fifo.in_ready_o == (32'(u_gate.u_fifo.count_o) != Places));
      i_stored : assert (32'(u_gate.u_fifo.stored_q) == stored && u_gate.u_fifo.stored_any_q == (stored != 0));
      i_addresses : assert (32'(u_gate.u_fifo.write_address_q) == (read + stored) % Places);
      c_full : cover (!in_ready);
    end
  end

  sl_channel_check #(.Width(2)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
