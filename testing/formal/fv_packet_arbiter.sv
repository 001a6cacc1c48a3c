// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_packet_arbiter, for all well-formed packets of up to MTU_BYTES, stalls and pauses, and runs of any length
// (induction): packets come out whole and never interleaved; a port's register holds one flit until it leaves, and every flit that
// leaves comes out once, unchanged (data and metadata) and in order (fv_watch); a pause lets no packet in; a waiting flit is
// stable; `empty_o` is on exactly while no flit is inside. Whenever there is room, one flit leaves: of the packet in progress, of
// the port that sent last, or one that has waited for a cycle. A waiting packet gets its turn: meanwhile no other port begins a
// packet once it has sent more than a turn, `Quantum` bytes, not counting a packet of one flit right before. Bits 1:0 of the data
// identify a flit's source.
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
  input logic [1:0]        waiting_i  // port whose waiting is watched; constant
);
  localparam int unsigned Quantum = MTU_BYTES;

  typedef struct packed {
    logic       is_open;  // between sop and eop
    logic [1:0] port;    // source of the packet
  } place_t;

  logic              rst_q = 1'b1;
  logic [Ports-1:0]  in_ready, enter, leave;
  logic              out_valid, empty, watching;
  logic [1:0]        held, ahead;
  flit_t             out_data, word, moved;
  flit_t [Ports-1:0] head_q;                // per port, the flit that came in and has not left
  logic [Ports-1:0]  head_valid_q = '0, waited_q = '0;

  sl_packet_arbiter #(.Ports(Ports), .Quantum(Quantum)) u_arbiter (
    .clk_i, .rst_i(rst_q), .pause_i, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i, .empty_o(empty)
  );

  assign enter = rst_q ? '0 : in_valid_i & in_ready;
  assign leave = rst_q ? '0 : u_arbiter.leave;

  always_comb begin
    moved = head_q[0];
    for (int unsigned i = 1; i < Ports; i++) if (leave[i]) moved = head_q[i];
  end

  fv_watch #(.Width(FLIT_BITS), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(leave != '0), .enter_data_i(moved),
    .leave_i(out_valid && out_ready_i && !rst_q), .out_valid_i(out_valid), .out_data_i(out_data),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  /* verilator lint_off UNUSEDSIGNAL */  // only these fields of a flit are used
  // The stream's state after a flit, and whether the flit is legal in a state.
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
  place_t                 out_q = '0, behind_out, behind_spare, turn;
  logic [1:0]             waiting_q;
  logic                   started_q = 1'b0, waits, must_leave;
  logic [Ports-1:0][16:0] sent_q = '0;  // bytes of packets that a port began while the watched port waits
  logic [15:0]            single_q = '0;  // bytes of the packet whose last flit left, if it had one flit

  assign behind_out   = behind(out_data, out_valid, out_q);
  assign behind_spare = behind(u_arbiter.u_out.spare_q, u_arbiter.u_out.spare_valid_q, behind_out);
  assign turn         = '{is_open: u_arbiter.locked_q, port: u_arbiter.select_q};
  assign waits      = head_valid_q[waiting_i] && head_q[waiting_i].sop && !rst_q;
  assign must_leave = head_valid_q[turn.port] || (!turn.is_open && waited_q != '0);

  always_ff @(posedge clk_i) begin
    rst_q        <= 1'b0;
    started_q    <= 1'b1;
    waiting_q    <= waiting_i;
    head_valid_q <= (head_valid_q & ~leave) | enter;
    waited_q     <= head_valid_q & ~leave;
    m_one_port_is_watched : assume (32'(waiting_i) < Ports && (!started_q || waiting_i == waiting_q));
    if (out_valid && out_ready_i && !rst_q) out_q <= behind_out;
    if (leave != '0) single_q <= moved.sop && moved.eop ? length_of(moved) : '0;

    if (!rst_q) begin
      a_packets_are_whole_and_unmixed : assert (is_legal(out_data, out_valid, out_q));
      a_one_leaves_at_a_time : assert ($onehot0(leave) && (leave & ~head_valid_q) == '0);
      a_takes_a_flit_when_there_is_a_place : assert ((in_ready | (pause_i ? ~inside_q : '0)) == (~head_valid_q | leave | (pause_i ? ~inside_q : '0)));
      a_pause_begins_none : assert (!pause_i || (inside_q | ~in_ready) == '1);
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_empty_is_empty : assert (empty == (held == '0 && head_valid_q == '0));
      a_a_flit_leaves_when_there_is_room : assert (held == 2'd2 ? leave == '0 : leave != '0 || !must_leave);
      // Internal state, for the induction.
      i_spare : assert (is_legal(u_arbiter.u_out.spare_q, u_arbiter.u_out.spare_valid_q, behind_out));
      i_spare_is_the_second : assert (u_arbiter.u_out.spare_valid_q == (held == 2'd2));
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_arbiter.u_out.spare_q == word);
      i_turn : assert (32'(turn.port) < Ports && u_arbiter.turn_q == Ports'(1) << turn.port && u_arbiter.offer_q == head_valid_q[turn.port]);
      i_waited : assert ((waited_q & ~head_valid_q) == '0);
      i_place : assert (turn.is_open == behind_spare.is_open && (!turn.is_open || turn.port == behind_spare.port));
      c_others_sent_while_one_waits : cover (waits && sent_q[0] != '0 && 32'(waiting_i) == Ports - 1 && leave[waiting_i]);
      c_changes_port : cover (out_valid && out_data.sop && out_q.port == 2'd2 && out_data.data[1:0] == 2'd1 && &in_valid_i);
      c_overdraws_twice : cover (waits && int'($signed(u_arbiter.credit_q[0])) < -int'(MTU_BYTES));
    end
  end

  for (genvar i = 0; i < int'(Ports); i++) begin : gen_port
    logic is_turn, is_next, pays;  // before the watched port in turn order; bytes sent plus credit are within Quantum
    int   credit;

    assign credit  = int'($signed(u_arbiter.credit_q[i]));
    assign is_turn = 32'(turn.port) == i;
    assign is_next = (i + Ports - 32'(turn.port)) % Ports < (32'(waiting_i) + Ports - 32'(turn.port)) % Ports;
    assign pays    = int'(32'(sent_q[i])) + credit <= int'(Quantum);

    always_ff @(posedge clk_i) begin
      if (enter[i]) head_q[i] <= in_data_i[i];
      if (enter[i]) inside_q[i] <= !in_data_i[i].eop;
      if (!waits || leave[waiting_i]) sent_q[i] <= '0;
      else if (leave[i] && head_q[i].sop) sent_q[i] <= sent_q[i] + 17'(length_of(head_q[i]));
      if (in_valid_i[i]) m_packets : assume (in_data_i[i].sop == !inside_q[i] && in_data_i[i].data[1:0] == 2'(i));
      if (in_valid_i[i]) m_no_larger_than_can_be : assume (32'(in_data_i[i].meta.length) <= MTU_BYTES);
      if (!rst_q) begin
        if (leave[i] && head_q[i].sop && waits) a_waiting_port_gets_its_turn : assert (32'(sent_q[i]) <= Quantum + 32'(single_q));
        // For the induction: register contents, and which ports may send before the watched port's turn, and how much.
        i_between : assert (u_arbiter.between_q[i] == !inside_q[i]);
        i_head_valid : assert (u_arbiter.head_valid_q[i] == head_valid_q[i]);
        i_inputs : assert (inside_q[i] == (head_valid_q[i] ? !head_q[i].eop : turn.is_open && is_turn));
        if (head_valid_q[i]) begin
          i_head : assert (u_arbiter.head_q[i] == head_q[i] && u_arbiter.unknown_q[i] == (head_q[i].meta.length == '0));
          i_head_is_legal : assert (head_q[i].sop == !(turn.is_open && is_turn) && head_q[i].data[1:0] == 2'(i));
          i_length : assert (32'(head_q[i].meta.length) <= MTU_BYTES);
        end
        i_left : assert (!u_arbiter.left_q[i] || !is_turn);
        i_credit : assert (credit <= int'(Quantum) && credit >= -2 * int'(MTU_BYTES));
        i_single : assert (32'(single_q) <= MTU_BYTES);
        if (!is_turn && !u_arbiter.left_q[i]) i_paid : assert (credit >= -int'(MTU_BYTES));
        if (is_turn && u_arbiter.others == '0) i_owes_nothing_alone : assert (credit >= -int'(MTU_BYTES));
        if (is_turn && u_arbiter.offer_q && !turn.is_open)
          i_begins : assert (credit >= -int'(MTU_BYTES) && (sent_q[i] == '0 || credit >= -int'(32'(single_q))));
        i_before_its_turn : assert (i == 32'(waiting_i) || is_next ? (is_turn && i != 32'(waiting_i) ? pays : sent_q[i] == '0) : 1'b1);
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
