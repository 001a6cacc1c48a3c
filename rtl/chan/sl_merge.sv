// SPDX-License-Identifier: Apache-2.0
// Joins two packet channels, whole packets only. `fast` has priority; `slow` is guaranteed a share of the flits: while both always
// have packets, slow gets `share_i` of every 256 flits, give or take one packet. Flits that slow sends while fast is idle do not
// count against it. Both must be store-and-forward, so that neither stalls in the middle of a packet for long.
module sl_merge (
  input  logic              clk_i,
  input  logic              rst_i,         // synchronous, active high
  input  logic [7:0]        share_i,       // share of slow, out of 256
  input  sluice_pkg::flit_t fast_data_i,
  input  logic              fast_valid_i,
  output logic              fast_ready_o,
  input  sluice_pkg::flit_t slow_data_i,
  input  logic              slow_valid_i,
  output logic              slow_ready_o,
  output sluice_pkg::flit_t out_data_o,    // registered
  output logic              out_valid_o,   // registered
  input  logic              out_ready_i
);
  import sluice_pkg::*;

  logic signed [17:0] credit_q;  // of slow; positive: slow has priority
  logic               locked_q, slow_turn_q, take_slow, any, room, move;
  flit_t              word;

  assign take_slow = locked_q ? slow_turn_q : slow_valid_i && (!fast_valid_i || credit_q > 18'sd0);
  assign any  = take_slow ? slow_valid_i : fast_valid_i;
  assign word = take_slow ? slow_data_i : fast_data_i;
  assign move = any && room;
  assign slow_ready_o = move && take_slow;
  assign fast_ready_o = move && !take_slow;

  always_ff @(posedge clk_i) begin
    if (move) begin
      locked_q    <= !word.eop;
      slow_turn_q <= take_slow;
      if (take_slow && fast_valid_i && credit_q > -18'sd65536) credit_q <= credit_q - 18'sd256 + 18'(share_i);
      else if (!take_slow && credit_q < (slow_valid_i ? 18'sd4096 : 18'sd0)) credit_q <= credit_q + 18'(share_i);
    end
    if (rst_i) begin
      locked_q <= 1'b0;
      credit_q <= '0;
    end
  end

  sl_skid #(.Width(FLIT_BITS)) u_out (
    .clk_i, .rst_i, .in_data_i(word), .in_valid_i(any), .in_ready_o(room), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
