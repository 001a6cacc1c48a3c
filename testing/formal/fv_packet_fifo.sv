// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_packet_fifo with 8 slots, 4 packets and packets of 2 to 12 bytes (3 flits of 4), for all packets and
// stalls (bounded): every packet is stored or counted as one kind of drop in the cycle after its end, according to its bytes and
// its mark; it is dropped for lack of room only if its flits and those inside are too many, or 4 packets are inside, and never with
// lossless_i, which applies back-pressure only while a whole packet is inside. A stored packet leaves whole, in order
// (fv_packet_watch; a few bits of data and metadata represent all), with its length. It is offered within 4 cycles of the end of
// its input, unless an earlier packet is. Assumed: whole packets.
module fv_packet_fifo
  import sluice_pkg::*;
(
  input logic       clk_i,
  input logic       lossless_i,  // constant
  input flit_t      in_data_i,
  input logic       in_valid_i,
  input logic       out_ready_i,
  input logic       choose_i,
  input logic [2:0] place_i
);
  localparam int unsigned Flits = 8, Packets = 4, Smallest = 2, Largest = 12;

  logic        rst_q = 1'b1, inside_q = 1'b0, lossless_q, started_q = 1'b0, ended_q = 1'b0, marked_q, watched;
  logic        in_ready, out_valid, empty, stored, drop_error, drop_oversize, drop_runt, drop_overflow, enter, leave;
  logic [15:0] stored_length, bytes, bytes_q = '0;
  logic [3:0]  packets;
  logic [4:0]  flits, flits_q, count_q = '0;  // inside; when the packet began; in the packet
  logic [3:0]  packets_q;
  logic [2:0]  waits_q = '0;
  logic [15:0] out_bytes, out_bytes_q, out_length_q;
  flit_t       out_data;

  sl_packet_fifo #(.Flits(Flits), .Packets(Packets), .SmallestPacket(Smallest), .LargestPacket(Largest)) u_fifo (
    .clk_i, .rst_i(rst_q), .lossless_i, .in_data_i, .in_valid_i, .in_ready_o(in_ready), .out_data_o(out_data),
    .out_valid_o(out_valid), .out_ready_i, .empty_o(empty), .stored_o(stored), .stored_length_o(stored_length),
    .drop_error_o(drop_error), .drop_oversize_o(drop_oversize), .drop_runt_o(drop_runt), .drop_overflow_o(drop_overflow)
  );

  assign enter = in_valid_i && in_ready && !rst_q;
  assign leave = out_valid && out_ready_i && !rst_q;
  assign out_bytes = (out_data.sop ? '0 : out_bytes_q) + 16'(DATA_BYTES) - 16'(out_data.empty);
  assign bytes = (in_data_i.sop ? '0 : bytes_q) + 16'(DATA_BYTES) - 16'(in_data_i.empty);

  // A few bits of data and metadata represent all, which take the same path.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic [2:0] sample(flit_t flit);
    return {flit.empty[0], flit.data[8*DATA_BYTES-1], flit.sop && flit.meta.mark[0]};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  fv_packet_watch #(.Width(3)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .place_i, .enter_i(enter), .enter_first_i(in_data_i.sop), .enter_last_i(in_data_i.eop),
    .enter_word_i(sample(in_data_i)), .kept_i(stored && !rst_q), .leave_i(leave), .out_valid_i(out_valid), .out_first_i(out_data.sop),
    .out_last_i(out_data.eop), .out_word_i(sample(out_data)), .leaves_watched_o(watched), .packets_o(packets), .flits_o(flits)
  );

  always_ff @(posedge clk_i) begin
    rst_q      <= 1'b0;
    started_q  <= 1'b1;
    lossless_q <= lossless_i;
    if (started_q) m_one_mode : assume (lossless_i == lossless_q);
    if (in_valid_i) m_packets : assume (in_data_i.sop == !inside_q && (in_data_i.eop || in_data_i.empty == '0) && !rst_q);
    ended_q <= enter && in_data_i.eop;
    if (enter) begin
      inside_q  <= !in_data_i.eop;
      bytes_q   <= bytes;
      marked_q  <= in_data_i.error;
      if (in_data_i.sop) begin
        flits_q   <= flits;
        packets_q <= packets;
      end
      count_q <= (in_data_i.sop ? '0 : count_q) + 5'd1;
    end
    if (leave) begin
      out_bytes_q <= out_bytes;
      if (out_data.sop) out_length_q <= out_data.meta.length;
    end
    waits_q <= packets == '0 || out_valid ? '0 : waits_q + 1'b1;

    if (!rst_q) begin
      a_one_outcome_of_each : assert ($countones({stored, drop_error, drop_oversize, drop_runt, drop_overflow}) == 32'(ended_q));
      if (stored) a_stores_what_is_good : assert (stored_length == bytes_q && bytes_q >= 16'(Smallest) && bytes_q <= 16'(Largest)
                                                 && !marked_q);
      a_knows_oversize : assert (drop_oversize == (ended_q && bytes_q > 16'(Largest)));
      if (drop_error) a_knows_errors : assert (marked_q);
      if (drop_runt) a_knows_runts : assert (bytes_q < 16'(Smallest) && !marked_q);
      if (drop_overflow) a_drops_for_want_of_room_only : assert (!lossless_i && (32'(flits_q) + 32'(count_q) > Flits || 32'(packets_q) >= Packets));
      a_presses_back_only_when_one_will_leave : assert (in_ready || (lossless_i && packets != '0));
      a_empty : assert (empty == (packets == '0 && !inside_q && !out_valid));
      if (out_valid && !out_data.sop) a_metadata_at_the_first_only : assert (!out_data.meta.mark[0]);
      if (out_valid && out_data.eop) a_length_is_what_leaves : assert (out_bytes == (out_data.sop ? out_data.meta.length : out_length_q));
      if (out_valid) a_good : assert (!out_data.error);
      a_is_offered_in_time : assert (waits_q <= 3'd3);
      c_leaves_behind_another : cover (watched && u_watch.number_q == 4'd1 && place_i == 3'd1);
      c_no_room : cover (drop_overflow);
      c_presses_back : cover (!in_ready && lossless_i);
      c_runt : cover (drop_runt);
      c_oversize : cover (drop_oversize);
    end
  end
endmodule
