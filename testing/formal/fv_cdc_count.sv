// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_cdc_count with a counter of 3 bits, for any two clocks and all runs (induction): one freely chosen input
// pulse comes out once, after exactly the pulses before it: none is lost and none is added. It, or a pulse before it, is offered at
// the third edge of the output's clock after it went in, and until it is taken. Only one bit that crosses changes at a time: a bit
// sampled early or late is then an edge that comes earlier or later. Assumed: fewer than 8 pulses wait.
module fv_cdc_count (
  input logic in_clk_i,
  input logic out_clk_i,
  input logic in_pulse_i,
  input logic out_ready_i,
  input logic choose_i
);
  localparam int unsigned Bits = 3;
  typedef logic [Bits-1:0] gray_t;
  typedef logic [Bits:0] number_t;  // pulses, modulo more than the number that can wait

  logic       out_valid, leave;
  number_t    entered_q = '0, left_q = '0, number_q;
  gray_t      gray_q = '0;
  logic       watching_q = 1'b0, done_q = 1'b0, waits, offered_q = 1'b0;
  logic [1:0] age_q = '0;  // edges of the output's clock since the watched pulse went in

  sl_cdc_count #(.Bits(Bits)) u_count (
    .in_clk_i, .in_rst_i(1'b0), .in_pulse_i, .out_clk_i, .out_rst_i(1'b0), .out_valid_o(out_valid), .out_ready_i
  );

  assign leave = out_valid && out_ready_i;
  assign waits = watching_q && !done_q;

  always_ff @(posedge in_clk_i) begin
    entered_q <= entered_q + number_t'(in_pulse_i);
    gray_q    <= u_count.count_gray_q;
    if (in_pulse_i && choose_i && !watching_q) begin
      watching_q <= 1'b1;
      number_q   <= entered_q;
    end
    if (in_pulse_i) m_fits : assume (entered_q - left_q < number_t'(2**Bits - 1));
    a_one_bit_at_a_time : assert ($countones(u_count.count_gray_q ^ gray_q) <= 1);
    c_full : cover (entered_q - left_q == number_t'(2**Bits - 1));
  end

  always_ff @(posedge out_clk_i) begin
    left_q <= left_q + number_t'(leave);
    if (waits && age_q != '1) age_q <= age_q + 1'b1;
    if (waits && leave && left_q == number_q) done_q <= 1'b1;
    offered_q <= out_valid && !out_ready_i;
    if (offered_q) a_valid_holds : assert (out_valid);
    if (out_valid) a_nothing_comes_out_that_did_not_go_in : assert (left_q != entered_q);
    if (waits && age_q >= 2'd2) a_is_offered_in_time : assert (out_valid);
    c_comes_out_behind_all_numbers : cover (waits && leave && left_q == number_q && number_q == number_t'(2**Bits));
  end

  // For the induction: the counter and its synchronised copies, in time order.
  gray_t taken, in_chain, seen, ahead;

  function automatic gray_t binary(gray_t gray);
    return {gray[2], gray[2] ^ gray[1], ^gray};
  endfunction

  assign taken    = u_count.taken_q;
  assign in_chain = binary(u_count.u_count_seen.chain_q[0]) - taken;
  assign seen     = binary(u_count.u_count_seen.chain_q[1]) - taken;
  assign ahead    = gray_t'(number_q - left_q);

  always_comb begin
    i_counters : assert (gray_t'(entered_q) == u_count.count_q && gray_t'(left_q) == taken);
    i_fits : assert (entered_q - left_q < number_t'(2**Bits));
    i_gray : assert (binary(u_count.count_gray_q) == u_count.count_q);
    i_one_bit : assert ($countones(u_count.count_gray_q ^ gray_q) <= 1);
    i_seen : assert (seen <= in_chain && in_chain <= u_count.count_q - taken);
    if (offered_q) i_waits : assert (out_valid);
    if (watching_q) i_went_in : assert (entered_q != left_q || done_q);
    if (waits) i_is_inside : assert (number_q - left_q < entered_q - left_q);
    i_age : assert (age_q == '0 || watching_q);
    if (waits && age_q >= 2'd1) i_first_edge : assert (ahead < in_chain);
    if (waits && age_q >= 2'd2) i_second_edge : assert (ahead < seen);
  end
endmodule
