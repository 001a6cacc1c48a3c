// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_packet_arbiter, for all well-formed packets, stalls and pauses, and all lengths of runs (induction):
// packets come out whole and never mixed, every flit that enters leaves once and in order (it passes one place after
// another), a pause begins no packet, and a waiting flit holds still. Bits 1:0 of the data say which port a flit came from.
module fv_packet_arbiter
  import sluice_pkg::*;
#(
  parameter int unsigned Ports = 3  // 2 to 4
) (
  input logic              clk_i,
  input logic              pause_i,
  input flit_t [Ports-1:0] in_data_i,
  input logic [Ports-1:0]  in_valid_i,
  input logic              out_ready_i
);
  typedef struct packed {
    logic       is_open;  // between sop and eop
    logic [1:0] port;    // whose packet it is
  } place_t;

  logic             rst_q = 1'b1;
  logic [Ports-1:0] in_ready;
  logic             out_valid;
  flit_t            out_data;

  sl_packet_arbiter #(.Ports(Ports)) u_arbiter (
    .clk_i, .rst_i(rst_q), .pause_i, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  /* verilator lint_off UNUSEDSIGNAL */  // a flit has more than these look at
  // The stream's place behind a flit, and whether the flit may come there.
  function automatic place_t behind(flit_t flit, logic valid, place_t place);
    return valid ? '{is_open: !flit.eop, port: flit.data[1:0]} : place;
  endfunction
  function automatic logic is_legal(flit_t flit, logic valid, place_t place);
    return !valid || (flit.sop == !place.is_open && (flit.sop || flit.data[1:0] == place.port));
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic [Ports-1:0] inside_q = '0;
  place_t           out_q = '0, behind_out, behind_spare, choice;

  assign behind_out   = behind(out_data, out_valid, out_q);
  assign behind_spare = behind(u_arbiter.u_out.spare_q, u_arbiter.u_out.spare_valid_q, behind_out);
  assign choice       = '{is_open: u_arbiter.locked_q, port: u_arbiter.turn_q};

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (out_valid && out_ready_i && !rst_q) out_q <= behind_out;

    for (int unsigned i = 0; i < Ports; i++) begin
      if (in_valid_i[i] && in_ready[i] && !rst_q) inside_q[i] <= !in_data_i[i].eop;
      if (in_valid_i[i]) assume (in_data_i[i].sop == !inside_q[i] && in_data_i[i].data[1:0] == 2'(i));
      if (!rst_q) assert (inside_q[i] == (choice.is_open && 32'(choice.port) == i));
    end

    if (!rst_q) begin
      a_packets_are_whole_and_unmixed : assert (is_legal(out_data, out_valid, out_q));
      a_takes_one_at_a_time : assert ($onehot0(in_ready));
      a_pause_begins_none : assert (!pause_i || (inside_q | ~in_ready) == '1);
      // The state behind the ports, for the induction.
      a_spare : assert (is_legal(u_arbiter.u_out.spare_q, u_arbiter.u_out.spare_valid_q, behind_out));
      a_spare_is_the_second : assert (!u_arbiter.u_out.spare_valid_q || out_valid);
      a_turn : assert (32'(choice.port) < Ports);
      a_choice : assert (choice.is_open == behind_spare.is_open && (!choice.is_open || choice.port == behind_spare.port));
      c_changes_port : cover (out_valid && out_data.sop && out_q.port == 2'd2 && out_data.data[1:0] == 2'd1 && &in_valid_i);
    end
  end

  for (genvar i = 0; i < int'(Ports); i++) begin : gen_assume
    sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_in (
      .clk_i, .rst_i(rst_q), .data_i(in_data_i[i]), .valid_i(in_valid_i[i]), .ready_i(in_ready[i])
    );
  end
  sl_channel_check #(.Width(FLIT_BITS)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
