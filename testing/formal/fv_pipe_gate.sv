// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_pipe_gate around a pipeline of `Latency` stages, for all inputs and all lengths of runs (induction):
// its FIFO never overflows however long the output waits, as many results leave as words entered, and the gate lets a
// word in whenever fewer than it has places for are under way; the first word under way is offered Latency + 2 cycles after it
// entered, or the output has been busy since. That the FIFO keeps order, without a gap: fv_fifo.
module fv_pipe_gate #(
  parameter int unsigned Latency = 2  // stages of the pipeline, 1 or more
) (
  input logic       clk_i,
  input logic [1:0] in_data_i,
  input logic       in_valid_i,
  input logic       out_ready_i
);
  localparam int unsigned Places = 16;  // what sl_pipe_gate has for latencies up to 11

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
  logic [4:0]  owed_q = '0;  // words that entered and did not leave
  logic [7:0]  waits_q = '0;  // cycles in which something was owed and nothing offered

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
      // The state behind the ports, for the induction.
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
