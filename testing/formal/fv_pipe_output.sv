// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_pipe_output behind a pipeline of `Latency` stages of which any iteration may write or not, for all inputs
// and runs of any length (induction): its FIFO never overflows however long the output waits, as many words leave as were written,
// and a credit is there whenever fewer are taken than it has slots, those that are given back included, a cycle later; the first
// word that is written is offered 2 cycles later, or the output has been busy since. fv_fifo proves that the FIFO keeps the order,
// without a gap.
module fv_pipe_output #(
  parameter int unsigned Latency = 2  // stages of the pipeline, at least 1
) (
  input logic       clk_i,
  input logic       begins_i,
  input logic       writes_i,
  input logic [1:0] data_i,
  input logic       out_ready_i
);
  localparam int unsigned Places = 16;  // slots of sl_pipe_output for latencies up to 10

  logic               rst_q = 1'b1;
  logic               credit, begins, writes, out_valid;
  logic [1:0]         out_data;
  logic [Latency-1:0] valid_q = '0;

  assign begins = begins_i && credit;
  assign writes = valid_q[Latency-1] && writes_i;

  sl_pipe_output #(.Width(2), .Latency(Latency)) u_output (
    .clk_i, .rst_i(rst_q), .credit_o(credit), .take_i(begins), .done_i(valid_q[Latency-1]), .write_i(writes_i), .data_i,
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  int unsigned taken, stored, read;
  logic [4:0]  owed_q = '0;   // words that were written and have not left
  logic [7:0]  waits_q = '0;  // cycles with such a word and none offered

  assign taken  = 32'($countones(valid_q)) + 32'(u_output.u_fifo.count_o) + 32'(u_output.return_q)
    + 32'(u_output.leave_q);
  assign stored = 32'(u_output.u_fifo.count_o) - 32'(out_valid);
  assign read   = 32'(u_output.u_fifo.read_address_q);

  always_ff @(posedge clk_i) begin
    rst_q   <= 1'b0;
    valid_q <= rst_q ? '0 : Latency'({valid_q, begins});
    owed_q  <= owed_q + 5'(writes && !rst_q) - 5'(out_valid && out_ready_i && !rst_q);
    if (rst_q || owed_q == '0 || out_valid) waits_q <= '0;
    else waits_q <= waits_q + 1'b1;

    if (!rst_q) begin
      a_offers_in_time : assert (32'(waits_q) <= 1);
      a_there_is_room : assert (!writes || u_output.u_fifo.in_ready_o);
      a_owes_what_was_written : assert (32'(owed_q) == 32'(u_output.u_fifo.count_o) && taken <= Places);
      a_credit_until_full : assert (credit == (taken != Places));
      // Internal state, for the induction.
      i_credits : assert (32'(u_output.in_flight_q) == taken);
      i_fifo : assert (u_output.u_fifo.in_ready_o == (32'(u_output.u_fifo.count_o) != Places));
      i_stored : assert (32'(u_output.u_fifo.stored_q) == stored && u_output.u_fifo.stored_any_q == (stored != 0));
      i_addresses : assert (32'(u_output.u_fifo.write_address_q) == (read + stored) % Places);
      i_waits : assert (waits_q == '0 || out_valid);
      c_full : cover (!credit);
      c_gives_back_and_leaves : cover (u_output.return_q && u_output.leave_q && begins);
    end
  end

  sl_channel_check #(.Width(2)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
