// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_queues with 2 queues of 4 slots, for all packets, schedules and stalls (bounded), for one freely chosen
// queue: each of its packets is kept, or dropped with one pulse in the cycle after its end, only if it and the flits inside exceed
// the slots; a kept packet leaves whole and in order (fv_packet_watch; a few bits of data and metadata represent all). While any
// packet is kept, one is offered within 3 cycles; the input waits only with lossless_i and while a whole packet is inside; empty_o
// is on exactly while nothing is inside. Assumed: whole packets.
module fv_queues
  import sluice_pkg::*;
(
  input logic             clk_i,
  input logic             lossless_i,     // constant, like all settings
  input logic [1:0]       strict_from_i,
  input logic             queue_i,        // the watched queue
  input flit_t            in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i,
  input logic             choose_i,
  input logic [2:0]       place_i
);
  localparam int unsigned Flits = 4;

  logic       rst_q = 1'b1, started_q = 1'b0, inside_q = 1'b0, ended_q = 1'b0, out_inside_q = 1'b0;
  logic       mine, mine_q, out_mine, out_mine_q, ended_mine_q = 1'b0;
  logic       in_ready, out_valid, empty, enter, leave, kept, leaves_watched;
  logic [1:0] drop;
  logic [3:0] setup, setup_q, packets;
  logic [4:0] flits, flits_q, count_q = '0, all_q = '0;  // inside; when the packet began; in the packet; inside both queues
  logic [2:0] waits_q = '0;
  flit_t      out_data;

  sl_queues #(.Queues(2), .Flits(Flits)) u_queues (
    .clk_i, .rst_i(rst_q), .lossless_i, .strict_from_i, .quantum_i({16'd8, 16'd8}), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i, .empty_o(empty), .drop_o(drop)
  );

  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic [2:0] sample(flit_t flit);
    return {flit.empty[0], flit.data[0], flit.meta.mark[0]};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  assign setup    = {lossless_i, strict_from_i, queue_i};
  assign enter    = in_valid_i && in_ready && !rst_q;
  assign leave    = out_valid && out_ready_i && !rst_q;
  assign mine     = in_data_i.sop ? in_data_i.meta.queue[0] == queue_i : mine_q;
  assign out_mine = out_data.sop ? out_data.meta.queue[0] == queue_i : out_mine_q;
  assign kept     = ended_mine_q && drop == '0;

  fv_packet_watch #(.Width(3)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .place_i, .enter_i(enter && mine), .enter_first_i(in_data_i.sop),
    .enter_last_i(in_data_i.eop), .enter_word_i(sample(in_data_i)), .kept_i(kept), .leave_i(leave && out_mine),
    .out_valid_i(out_valid && out_mine), .out_first_i(out_data.sop), .out_last_i(out_data.eop), .out_word_i(sample(out_data)),
    .leaves_watched_o(leaves_watched), .packets_o(packets), .flits_o(flits)
  );

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    setup_q   <= setup;
    if (started_q) m_one_setup : assume (setup == setup_q);
    m_setup : assume (strict_from_i <= 2'd2);
    if (in_valid_i) m_packets : assume (in_data_i.sop == !inside_q && (in_data_i.eop || in_data_i.empty == '0) && !rst_q);
    ended_q      <= enter && in_data_i.eop;
    ended_mine_q <= enter && in_data_i.eop && mine;
    all_q        <= all_q + ((ended_q && drop == '0) ? count_q : '0) - 5'(leave);
    if (enter) begin
      inside_q <= !in_data_i.eop;
      mine_q   <= mine;
      count_q  <= (in_data_i.sop ? '0 : count_q) + 5'd1;
      if (in_data_i.sop) flits_q <= flits;
    end
    if (leave) begin
      out_inside_q <= !out_data.eop;
      out_mine_q   <= out_mine;
    end
    waits_q <= rst_q || all_q == '0 || out_valid ? '0 : waits_q + 1'b1;

    if (!rst_q) begin
      a_pulses_for_the_queue_of_the_packet : assert (!drop[queue_i] || ended_mine_q);
      a_no_other_pulses : assert (drop == '0 || (ended_q && (drop[queue_i] == ended_mine_q) && $onehot(drop)));
      if (drop[queue_i]) a_drops_for_want_of_room_only : assert (32'(flits_q) + 32'(count_q) > Flits);
      a_waits_only_when_one_will_leave : assert (in_ready || (lossless_i && all_q + ((ended_q && drop == '0) ? count_q : '0) != '0));
      a_is_offered_in_time : assert (waits_q <= 3'd2);
      if (out_valid) a_packets_are_not_mixed : assert (out_data.sop == !out_inside_q);
      a_empty : assert (empty == (all_q == '0 && !(ended_q && drop == '0) && !inside_q && !out_valid));
      c_leaves_behind_another : cover (leaves_watched && u_watch.number_q == 4'd1 && place_i == 3'd1);
      c_drops : cover (drop[queue_i] && lossless_i == 1'b0);
      c_waits : cover (in_valid_i && !in_ready);
    end
  end

  logic unused;
  assign unused = &{1'b0, packets};

  sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i(in_data_i), .valid_i(in_valid_i), .ready_i(in_ready)
  );
endmodule
