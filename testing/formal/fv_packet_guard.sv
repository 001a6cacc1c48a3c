// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_packet_guard, for all words and all runs (induction): the output consists of whole packets; well-formed
// packets pass unchanged.
module fv_packet_guard
  import sluice_pkg::*;
(
  input logic  clk_i,
  input flit_t in_data_i,
  input logic  in_valid_i
);
  logic  rst_q = 1'b1;
  flit_t out_data;
  logic  out_valid;
  logic  out_inside_q, in_inside_q, clean_q;  // inside a packet, at the output and at the input; no broken flit yet

  sl_packet_guard u_guard (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .out_data_o(out_data), .out_valid_o(out_valid)
  );

  logic breaks;
  assign breaks = in_data_i.sop == in_inside_q || (in_data_i.empty != '0 && !in_data_i.eop);

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (rst_q) begin
      out_inside_q <= 1'b0;
      in_inside_q  <= 1'b0;
      clean_q      <= 1'b1;
    end else begin
      if (out_valid) out_inside_q <= !out_data.eop;
      if (in_valid_i) in_inside_q <= !in_data_i.eop;
      if (in_valid_i && breaks) clean_q <= 1'b0;
      if (out_valid) begin
        a_first_flits_begin_packets : assert (out_data.sop == !out_inside_q);
        a_only_the_last_is_partly_empty : assert (out_data.eop || out_data.empty == '0);
      end
      if (in_valid_i && clean_q && !breaks) a_whole_packets_pass : assert (out_valid && out_data == in_data_i);
      if (in_valid_i && in_data_i.sop) a_first_flits_leave : assert (out_valid);
      i_same_state : assert (u_guard.inside_q == out_inside_q);
      if (clean_q) i_same_view : assert (in_inside_q == out_inside_q);
      c_discards : cover (in_valid_i && !out_valid);
      c_ends_early : cover (out_valid && out_data.eop && !in_data_i.eop);
    end
  end
endmodule
