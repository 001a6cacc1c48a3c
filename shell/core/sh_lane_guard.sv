// SPDX-License-Identifier: Apache-2.0
// Keeps packets whole where a lane's words enter a FIFO and its MAC cannot wait. If a word finds no room, the rest of its packet is
// discarded. If the FIFO holds the packet's beginning, a word marked bad, with `out_lost_o`, ends it there as soon as there is
// room; otherwise `lost_o` counts the packet. To lose few packets in their middle, a packet starts only when there is room for
// several words (`out_roomy_i`). After a reset, everything up to the first `sop` is discarded.
module sh_lane_guard (
  input  logic              clk_i,        // the lane's clock
  input  logic              rst_i,        // synchronous, active high
  input  logic              waits_i,      // 1: without room the lane waits and nothing is lost; 0: always ready
  input  sluice_pkg::flit_t in_data_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output sluice_pkg::flit_t out_data_o,
  output logic              out_lost_o,   // with out_data_o: this word ends a packet whose rest is lost
  output logic              out_valid_o, // only with out_ready_i, which must be registered
  input  logic              out_ready_i,  // there is room for a word
  input  logic              out_roomy_i,  // there is room for several words
  output logic              lost_o        // pulse: lost a packet of which nothing was sent
);
  logic inside_q;   // the FIFO holds the beginning of a packet, but not its end
  logic broken_q;   // a word of this packet is lost: it must be ended before the next begins
  logic discard_q;  // words belong to a lost packet, up to the next sop
  logic open, wanted, taken, refused;

  assign open        = out_ready_i && !broken_q && (waits_i || !in_data_i.sop || out_roomy_i);
  assign in_ready_o  = !waits_i || open;
  assign wanted      = in_valid_i && (in_data_i.sop || !discard_q);
  assign taken       = wanted && open;
  assign refused     = wanted && in_ready_o && !open;
  assign out_valid_o = taken || (broken_q && out_ready_i);
  assign out_lost_o  = broken_q;
  assign lost_o      = refused && (in_data_i.sop || broken_q);

  always_comb begin
    out_data_o = in_data_i;
    if (broken_q) begin
      out_data_o.sop   = 1'b0;
      out_data_o.eop   = 1'b1;
      out_data_o.empty = '0;
      out_data_o.error = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (taken) inside_q <= !in_data_i.eop;
    if (broken_q && out_ready_i) inside_q <= 1'b0;
    broken_q <= broken_q ? !out_ready_i : refused && inside_q;
    if (in_valid_i && in_ready_o) discard_q <= !in_data_i.eop && (refused || (discard_q && !in_data_i.sop));
    if (rst_i) begin
      inside_q  <= 1'b0;
      broken_q  <= 1'b0;
      discard_q <= 1'b1;
    end
  end
endmodule
