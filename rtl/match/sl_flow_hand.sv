// SPDX-License-Identifier: Apache-2.0
// The hand of each set of `sl_flow_place`, one-hot: the way that the next new flow takes if it finds none free. It moves on when its
// way is taken. A key reads it in stage 5 and writes it in stage 11; the keys between hand theirs over.
module sl_flow_hand #(
  parameter int unsigned Sets = 256,
  parameter int unsigned Ways = 4,
  localparam int unsigned SetBits = $clog2(Sets)
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               clear_i,
  input  logic [SetBits-1:0] clear_set_i,
  input  logic [SetBits-1:0] set5_i,
  input  logic               insert8_i,
  input  logic [8:5]         same_i,       // the key of this stage has the set of that in stage 10
  input  logic               same11_i,     // that in stage 5 the set of that in stage 11
  input  logic               same_next_i,  // that in stage 8 the set of that in stage 9
  output logic [Ways-1:0]    victim_o,     // for the key in stage 9, if it is to be inserted
  input  logic [Ways-1:0]    taken10_i,    // the way that the key in stage 10 took
  input  logic [SetBits-1:0] set11_i,
  input  logic               place11_i
);
  logic [Ways-1:0] hand6_q, hand7_q, hand7, hand8_q, hand9_q, hand10_q, after10, after11_q, hand9;
  logic [Ways-1:0] victim9_q, moves9_q;  // for the loop: the hand, if the key is to be inserted; if the key ahead can move it
  logic            known6_q, known7_q;

  function automatic logic [Ways-1:0] next(logic [Ways-1:0] hand);
    return Ways'(hand << 1) | Ways'(hand >> (Ways - 1));
  endfunction

  sl_ram_block #(.Width(Ways), .Depth(Sets), .Latency(2)) u_hands (
    .clk_i, .write_valid_i(place11_i || clear_i), .write_address_i(clear_i ? clear_set_i : set11_i),
    .write_data_i(clear_i ? Ways'(1) : after11_q), .read_valid_i(1'b1), .read_address_i(set5_i), .read_data_o(hand7)
  );

  assign after10  = (taken10_i & hand10_q) != '0 ? next(hand10_q) : hand10_q;
  assign hand9    = same_i[8] ? after10 : hand8_q;
  assign victim_o = (taken10_i & moves9_q) != '0 ? next(victim9_q) : victim9_q;

  always_ff @(posedge clk_i) begin
    known6_q  <= same_i[5] || same11_i;
    hand6_q   <= same_i[5] ? after10 : after11_q;
    known7_q  <= known6_q || same_i[6];
    hand7_q   <= same_i[6] ? after10 : hand6_q;
    hand8_q   <= same_i[7] ? after10 : known7_q ? hand7_q : hand7;
    hand9_q   <= hand9;
    victim9_q <= insert8_i && !rst_i ? hand9 : '0;
    moves9_q  <= same_next_i ? hand9 : '0;
    hand10_q  <= (taken10_i & moves9_q) != '0 ? next(hand9_q) : hand9_q;
    after11_q <= after10;
  end
endmodule
