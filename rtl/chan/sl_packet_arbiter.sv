// SPDX-License-Identifier: Apache-2.0
// Joins packet channels into one, whole packets only, one flit a cycle without a gap between packets. A port keeps its
// turn while it has packets and credit: a turn gives a port `Quantum` bytes, each packet takes its length (deficit round
// robin that may overdraw by one packet, so that no turn is empty). While two ports both have packets all the time, the
// bytes they sent differ by less than Quantum + 2 * MTU_BYTES. Needs `meta.length`; where it is 0 a packet counts as
// the largest. A port that stops in the middle of a packet holds the others up: put a store-and-forward FIFO before it.
module sl_packet_arbiter #(
  parameter int unsigned Ports = 4,        // 1 to 16
  parameter int unsigned Quantum = sluice_pkg::MTU_BYTES,  // bytes a turn, MTU_BYTES to 65536: a turn pays any debt
  localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_i,       // synchronous, active high
  input  logic                          pause_i,     // 1: begin no packet; the one under way ends
  input  sluice_pkg::flit_t [Ports-1:0] in_data_i,
  input  logic [Ports-1:0]              in_valid_i,
  output logic [Ports-1:0]              in_ready_o,
  output sluice_pkg::flit_t             out_data_o,  // registered
  output logic                          out_valid_o, // registered
  input  logic                          out_ready_i
);
  import sluice_pkg::*;

  localparam int unsigned CreditBits = 18;

  logic [PortBits-1:0]                      turn_q, choice;
  logic                                     locked_q, any, room, move;
  logic signed [Ports-1:0][CreditBits-1:0]  credit_q;
  flit_t                                    word;

  // The port whose turn it is, while it has credit; else the next one behind it that has a packet.
  always_comb begin
    choice = turn_q;
    any    = in_valid_i[turn_q] && (locked_q || !credit_q[turn_q][CreditBits-1]);
    for (int unsigned i = 1; i <= Ports; i++) begin
      automatic logic [PortBits-1:0] port = PortBits'((32'(turn_q) + i) % Ports);
      if (!locked_q && !any && in_valid_i[port]) begin
        choice = port;
        any    = 1'b1;
      end
    end
    if (pause_i && !locked_q) any = 1'b0;
  end

  assign word = in_data_i[choice];
  assign move = any && room;

  always_comb begin
    in_ready_o = '0;
    in_ready_o[choice] = move;
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      locked_q <= !word.eop;
      turn_q   <= choice;
      if (word.sop) begin
        credit_q[choice] <= (choice == turn_q && !credit_q[choice][CreditBits-1] ? credit_q[choice]
                             : CreditBits'(Quantum) + (credit_q[choice][CreditBits-1] ? credit_q[choice] : '0))
                            - CreditBits'(word.meta.length == 0 ? 16'(MTU_BYTES) : word.meta.length);
      end
    end
    if (rst_i) begin
      locked_q <= 1'b0;
      turn_q   <= '0;
      credit_q <= '0;
    end
  end

  sl_skid #(.Width(FLIT_BITS)) u_out (
    .clk_i, .rst_i, .in_data_i(word), .in_valid_i(any), .in_ready_o(room), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
