// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_packet_arbiter, for all well-formed packets of up to MTU_BYTES, stalls and pauses, and all lengths
// of runs (induction): packets come out whole and never mixed; every flit that enters leaves once, unchanged (data and
// metadata) and in order (fv_watch); a pause begins no packet; a waiting flit holds still. Whenever there is room and a port
// that may send has a flit, one is taken; what is inside is offered at once. A waiting packet gets its turn: meanwhile no
// other port begins a packet once it sent more than a turn, `Quantum` bytes. Bits 1:0 of the data say where a flit came from.
module fv_packet_arbiter
  import sluice_pkg::*;
#(
  parameter int unsigned Ports = 3  // 2 to 4
) (
  input logic              clk_i,
  input logic              pause_i,
  input flit_t [Ports-1:0] in_data_i,
  input logic [Ports-1:0]  in_valid_i,
  input logic              out_ready_i,
  input logic              choose_i,
  input logic [1:0]        waiting_i  // the port whose waiting is watched; constant
);
  localparam int unsigned Quantum = MTU_BYTES;

  typedef struct packed {
    logic       is_open;  // between sop and eop
    logic [1:0] port;    // whose packet it is
  } place_t;

  logic             rst_q = 1'b1;
  logic [Ports-1:0] in_ready, move;
  logic             out_valid, watching, asks;
  logic [1:0]       held, ahead;
  flit_t            out_data, word, moved;

  sl_packet_arbiter #(.Ports(Ports), .Quantum(Quantum)) u_arbiter (
    .clk_i, .rst_i(rst_q), .pause_i, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  assign move = rst_q ? '0 : in_valid_i & in_ready;

  always_comb begin
    moved = in_data_i[0];
    for (int unsigned i = 1; i < Ports; i++) if (move[i]) moved = in_data_i[i];
  end

  fv_watch #(.Width(FLIT_BITS), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(move != '0), .enter_data_i(moved),
    .leave_i(out_valid && out_ready_i && !rst_q), .out_valid_i(out_valid), .out_data_i(out_data),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  /* verilator lint_off UNUSEDSIGNAL */  // a flit has more than these look at
  // The stream's place behind a flit, and whether the flit may come there.
  function automatic place_t behind(flit_t flit, logic valid, place_t place);
    return valid ? '{is_open: !flit.eop, port: flit.data[1:0]} : place;
  endfunction
  function automatic logic is_legal(flit_t flit, logic valid, place_t place);
    return !valid || (flit.sop == !place.is_open && (flit.sop || flit.data[1:0] == place.port));
  endfunction
  function automatic logic [15:0] length_of(flit_t flit);
    return flit.meta.length == '0 ? 16'(MTU_BYTES) : flit.meta.length;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic [Ports-1:0]       inside_q = '0;
  place_t                 out_q = '0, behind_out, behind_spare, choice;
  logic [1:0]             waiting_q;
  logic                   started_q = 1'b0, waits;
  logic [Ports-1:0][15:0] sent_q = '0;  // bytes of packets that a port began while the watched one waits

  assign behind_out   = behind(out_data, out_valid, out_q);
  assign behind_spare = behind(u_arbiter.u_out.spare_q, u_arbiter.u_out.spare_valid_q, behind_out);
  assign choice       = '{is_open: u_arbiter.locked_q, port: u_arbiter.turn_q};
  assign asks         = inside_q != '0 ? (inside_q & in_valid_i) != '0 : !pause_i && in_valid_i != '0;
  assign waits        = in_valid_i[waiting_i] && !inside_q[waiting_i] && !rst_q;

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    waiting_q <= waiting_i;
    m_one_port_is_watched : assume (32'(waiting_i) < Ports && (!started_q || waiting_i == waiting_q));
    if (out_valid && out_ready_i && !rst_q) out_q <= behind_out;

    if (!rst_q) begin
      a_packets_are_whole_and_unmixed : assert (is_legal(out_data, out_valid, out_q));
      a_takes_one_at_a_time : assert ($onehot0(in_ready));
      a_pause_begins_none : assert (!pause_i || (inside_q | ~in_ready) == '1);
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_takes_a_flit_when_there_is_room : assert ((move != '0) == (asks && held != 2'd2));
      // The state behind the ports, for the induction.
      i_spare : assert (is_legal(u_arbiter.u_out.spare_q, u_arbiter.u_out.spare_valid_q, behind_out));
      i_spare_is_the_second : assert (u_arbiter.u_out.spare_valid_q == (held == 2'd2));
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_arbiter.u_out.spare_q == word);
      i_turn : assert (32'(choice.port) < Ports);
      i_choice : assert (choice.is_open == behind_spare.is_open && (!choice.is_open || choice.port == behind_spare.port));
      c_others_sent_while_one_waits : cover (waits && sent_q[0] != '0 && 32'(waiting_i) == Ports - 1 && move[waiting_i]);
      c_changes_port : cover (out_valid && out_data.sop && out_q.port == 2'd2 && out_data.data[1:0] == 2'd1 && &in_valid_i);
    end
  end

  for (genvar i = 0; i < int'(Ports); i++) begin : gen_port
    logic is_next, pays;  // in the order of turns it comes before the watched port; what it sent leaves so much credit

    assign is_next = choice.port == waiting_i
                    || (i + Ports - 32'(choice.port)) % Ports < (32'(waiting_i) + Ports - 32'(choice.port)) % Ports;
    assign pays   = int'(32'(sent_q[i])) + int'($signed(u_arbiter.credit_q[i])) <= int'(Quantum);

    always_ff @(posedge clk_i) begin
      if (move[i]) inside_q[i] <= !in_data_i[i].eop;
      if (!waits || move[waiting_i]) sent_q[i] <= '0;
      else if (move[i] && in_data_i[i].sop) sent_q[i] <= sent_q[i] + length_of(in_data_i[i]);
      if (in_valid_i[i]) m_packets : assume (in_data_i[i].sop == !inside_q[i] && in_data_i[i].data[1:0] == 2'(i));
      if (in_valid_i[i]) m_no_larger_than_can_be : assume (32'(in_data_i[i].meta.length) <= MTU_BYTES);
      if (!rst_q) begin
        if (move[i] && in_data_i[i].sop && waits) a_waiting_port_gets_its_turn : assert (32'(sent_q[i]) <= Quantum);
        // For the induction: who may send before the watched port has its turn, and how much.
        i_inputs : assert (inside_q[i] == (choice.is_open && 32'(choice.port) == i));
        i_credit : assert (int'($signed(u_arbiter.credit_q[i])) <= int'(Quantum) && int'($signed(u_arbiter.credit_q[i])) >= -int'(MTU_BYTES));
        i_before_its_turn : assert (i == 32'(waiting_i) ? sent_q[i] == '0 : 32'(choice.port) == i ? pays : !is_next || sent_q[i] == '0);
      end
    end

    sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_in (
      .clk_i, .rst_i(rst_q), .data_i(in_data_i[i]), .valid_i(in_valid_i[i]), .ready_i(in_ready[i])
    );
  end
  sl_channel_check #(.Width(FLIT_BITS)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
