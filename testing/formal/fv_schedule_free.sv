// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_schedule_core with records that wait for none, for all records of all modes (bounded): results leave once and in
// the order of arrival; records of one mode only are inside; those that wait for none are issued in the order of arrival, a record
// a cycle while there is room, and keep no state here; the others, of one flow, are issued Latency cycles apart or later.
module fv_schedule_free (
  input logic       clk_i,
  input logic [2:0] in_data_i,
  input logic [1:0] in_mode_i,
  input logic       in_valid_i,
  input logic       out_ready_i,
  input logic       choose_i
);
  localparam int unsigned Latency = 2, Free = 3, Window = 4;

  logic            rst_q = 1'b1, in_ready, issue_valid, forward, write_valid, out_valid, enter, leave, watching;
  logic            read_valid, ahead_valid, read_address, write_address;
  logic [2:0]      ahead, issued, out, word;
  logic [1:0]      mode_q, result_mode_q;
  logic [3:0]      inside_q = '0, ahead_of, held;
  logic [3:0][2:0] order_q;                      // of what is not issued, the oldest first
  logic [3:0]      unissued_q = '0;
  logic [Latency+Free:1]      valid_q;           // by cycles since issue
  logic [Latency+Free:1][2:0] data_q;
  logic            free;

  sl_schedule_core #(
    .AddressBits(1), .PayloadWidth(2), .ResultWidth(3), .Latency(Latency), .Depth(2), .TagBits(1), .Window(Window), .Keeps(1'b1),
    .Free(Free)
  ) u_core (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_mode_i, .in_valid_i, .in_ready_o(in_ready), .ram_ready_i(1'b1), .read_valid_o(read_valid),
    .read_address_o(read_address), .ahead_valid_o(ahead_valid), .ahead_data_o(ahead), .issue_valid_o(issue_valid),
    .issue_data_o(issued), .forward_o(forward), .write_valid_o(write_valid), .write_address_o(write_address),
    .done_result_i(data_q[free ? Latency + Free : Latency]), .out_data_o(out), .out_valid_o(out_valid), .out_ready_i
  );

  assign enter = in_valid_i && in_ready && !rst_q;
  assign leave = out_valid && out_ready_i && !rst_q;
  assign free  = mode_q[1];

  fv_watch #(.Width(3), .Most(Window)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(in_data_i), .leave_i(leave), .out_valid_i(out_valid),
    .out_data_i(out), .watching_o(watching), .word_o(word), .ahead_o(ahead_of[$clog2(Window+1)-1:0]), .held_o(held[$clog2(Window+1)-1:0])
  );
  assign ahead_of[3] = 1'b0;
  assign held[3]     = 1'b0;

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    m_modes : assume (in_mode_i != 2'd1);
    if (enter) mode_q <= in_mode_i;
    inside_q   <= inside_q + 4'(enter) - 4'(leave);
    unissued_q <= unissued_q + 4'(enter) - 4'(issue_valid && !rst_q);
    if (issue_valid) order_q <= order_q >> 3;
    if (enter) order_q[2'(unissued_q-4'(issue_valid))] <= in_data_i;
    valid_q <= rst_q ? '0 : {valid_q[Latency+Free-1:1], issue_valid};
    data_q  <= {data_q[Latency+Free-1:1], issued};

    if (!rst_q) begin
      if (enter && inside_q != '0) a_one_mode_is_inside : assert (in_mode_i == mode_q);
      if (in_valid_i && 32'(inside_q) < Window && (inside_q == '0 || (free && in_mode_i == mode_q))) begin
        a_takes_what_waits_for_none : assert (in_ready);
      end
      if (free) a_keeps_no_state : assert (!write_valid || inside_q == '0);
      if (free && issue_valid) a_issues_in_order : assert (issued == order_q[0]);
      for (int n = 1; n < Latency; n++) begin
        if (!free && issue_valid && valid_q[n]) a_of_a_flow_are_apart : assert (issued[2] != data_q[n][2]);
      end
      c_free_of_one_flow_in_a_row : cover (free && issue_valid && valid_q[2:1] == '1 && issued[2] == data_q[1][2]
                                           && issued[2] == data_q[2][2]);
      c_another_mode_waits : cover (in_valid_i && !in_ready && 32'(inside_q) < Window && free && in_mode_i == '0);
      c_back_again : cover (watching && leave && free && result_mode_q == '0 && 32'(held) > 1);
    end
    if (leave) result_mode_q <= mode_q;
  end

  logic unused;
  assign unused = &{1'b0, word, ahead_of, held, ahead, read_valid, ahead_valid, read_address, write_address, forward};

  sl_channel_check #(.Width(5), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i({in_mode_i, in_data_i}), .valid_i(in_valid_i), .ready_i(in_ready)
  );
endmodule
