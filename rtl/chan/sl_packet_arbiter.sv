// SPDX-License-Identifier: Apache-2.0
// Joins packet channels into one, whole packets only, one flit per cycle without a gap between packets. A port keeps its turn while
// it has packets and credit: a turn gives a port `Quantum` bytes, each packet costs its length (deficit round robin that may
// overdraw, so that no turn is empty). Needs `meta.length`; if it is 0, a packet counts as the largest.
//
// Each port has a register for one flit, so that the next port is known one cycle ahead, from flip-flops. The bytes of a packet are
// not yet deducted when its first flit leaves: after a packet of one flit a port may begin one more packet. So while two ports both
// always have packets, the bytes they sent differ by less than Quantum + 2 * (MTU_BYTES + the largest `length` of a packet of one
// flit): DATA_BYTES, or MTU_BYTES where it is 0. Sending while no other port waits costs a port nothing. A port that stops in the
// middle of a packet blocks the others: put a store-and-forward FIFO before it. A flit leaves 2 cycles after it came in, 3 if
// another port had the turn.
module sl_packet_arbiter #(
  parameter int unsigned Ports = 4,        // 1 to 16
  parameter int unsigned Quantum = sluice_pkg::MTU_BYTES,  // bytes per turn, MTU_BYTES to 65536
  localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_i,       // synchronous, active high
  input  logic                          pause_i,     // 1: let no packet in; packets inside leave whole
  input  sluice_pkg::flit_t [Ports-1:0] in_data_i,
  input  logic [Ports-1:0]              in_valid_i,
  output logic [Ports-1:0]              in_ready_o,
  output sluice_pkg::flit_t             out_data_o,  // registered
  output logic                          out_valid_o, // registered
  input  logic                          out_ready_i,
  output logic                          empty_o      // no flit inside
);
  import sluice_pkg::*;

  localparam int unsigned CreditBits = 18;

  flit_t [Ports-1:0] head_q;        // the next flit of each port
  logic  [Ports-1:0] head_valid_q;
  logic  [Ports-1:0] between_q;     // the flit after the head begins a packet
  logic  [Ports-1:0] unknown_q;     // the head's length is 0
  logic  [Ports-1:0] turn_q;        // one-hot: port that has the turn
  logic  [PortBits-1:0] select_q;   // turn_q as a number: drives only the wide multiplexer
  logic  [Ports-1:0] left_q;        // port whose turn has just ended
  logic              offer_q;       // the head of the port that has the turn is valid
  logic              locked_q;      // that port is within a packet
  logic              room, change, ends;
  logic  [PortBits-1:0] next_select;
  logic  [Ports-1:0] free, enter, leave, arrive, others, behind, next, spent, in_last, last, low;
  flit_t             word;
  logic  [Ports-1:0][CreditBits-1:0] credit_q;  // signed

  // The next turn: the first other port with a flit, after the current one.
  assign others = head_valid_q & ~turn_q;
  always_comb begin
    behind = '0;
    for (int unsigned i = 1; i < Ports; i++) behind[i] = behind[i-1] | turn_q[i-1];
  end
  assign low    = (others & behind) != '0 ? others & behind : others;
  assign next   = low & (~low + 1'b1);
  always_comb begin
    next_select = '0;
    for (int unsigned i = 0; i < Ports; i++) if (next[i]) next_select |= PortBits'(i);
  end

  // A turn ends after a packet, when another port has a flit and this one has no credit or no other packet.
  assign ends   = (last & turn_q & (spent | ~arrive)) != '0;
  assign change = others != '0 && (offer_q ? room && ends : !locked_q);

  assign free       = ~head_valid_q | (room ? turn_q : '0);
  assign leave      = head_valid_q & free;
  assign arrive     = in_valid_i & (pause_i ? ~between_q : '1);
  assign in_ready_o = free & (pause_i ? ~between_q : '1);
  assign enter      = arrive & free;
  assign empty_o    = head_valid_q == '0 && !out_valid_o;

  always_ff @(posedge clk_i) begin
    head_valid_q <= (head_valid_q & ~leave) | enter;
    left_q       <= change ? turn_q : '0;
    if (change) turn_q <= next;
    if (change) select_q <= next_select;
    offer_q <= change || (offer_q && !room) || (turn_q & arrive) != '0;
    if (offer_q && room) locked_q <= (turn_q & last) == '0;
    if (rst_i) begin
      head_valid_q <= '0;
      between_q    <= '1;
      left_q       <= '0;
      turn_q       <= Ports'(1);
      select_q     <= '0;
      offer_q      <= 1'b0;
      locked_q     <= 1'b0;
    end else begin
      between_q <= (between_q & ~enter) | (enter & in_last);
    end
  end

  for (genvar i = 0; i < int'(Ports); i++) begin : gen_port
    logic [CreditBits-1:0] kept;
    logic [15:0]           length;

    assign in_last[i] = in_data_i[i].eop;
    assign last[i]    = head_q[i].eop;
    assign spent[i]   = credit_q[i][CreditBits-1];
    assign length     = unknown_q[i] ? 16'(MTU_BYTES) : head_q[i].meta.length;
    assign kept       = left_q[i] && !spent[i] ? '0 : credit_q[i];  // keeps a debt, and the remainder within a turn

    always_ff @(posedge clk_i) begin
      if (free[i]) begin  // not `enter`, which comes later and would have to reach all flip-flops of a flit
        head_q[i]    <= in_data_i[i];
        unknown_q[i] <= in_data_i[i].meta.length == '0;
      end
      if (left_q[i] || (leave[i] && head_q[i].sop && others != '0)) begin
        credit_q[i] <= kept - (left_q[i] ? -CreditBits'(Quantum) : CreditBits'(length));
      end
      if (rst_i) credit_q[i] <= CreditBits'(Quantum);
    end
  end

  assign word = head_q[select_q];

  (* keep_hierarchy *)  // the enable of the wide registers must not be shared with the selection
  sl_skid #(.Width(FLIT_BITS)) u_out (
    .clk_i, .rst_i, .in_data_i(word), .in_valid_i(offer_q), .in_ready_o(room), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
