// SPDX-License-Identifier: Apache-2.0
// Empties the sets of `sl_flow_place`, one a cycle: after reset, at a flush, and when software changed the secret. At the latter two it
// first waits until the keys inside have decided, all under the old secret.
module sl_flow_clear #(
  parameter int unsigned Sets  = 256,  // at least 2
  parameter int unsigned Drain = 12,   // cycles from the entry of a key to its last write
  localparam int unsigned SetBits = $clog2(Sets)
) (
  input  logic               clk_i,
  input  logic               rst_i,        // synchronous, active high
  input  logic [127:0]       secret_i,
  input  logic               flush_i,
  output logic [127:0]       secret_o,     // the secret in use
  output logic               clear_o,      // this set is emptied
  output logic [SetBits-1:0] clear_set_o,
  output logic               ready_o       // keys may be placed
);
  typedef enum logic [1:0] {StOpen, StDrain, StSweep} state_e;

  state_e                       state_q;
  logic [$clog2(Drain + 1)-1:0] drain_q;
  logic [3:0]                   changed_q;  // by word: 128 bits are too many for a cycle

  assign clear_o = state_q == StSweep;

  always_ff @(posedge clk_i) begin
    for (int w = 0; w < 4; w++) changed_q[w] <= secret_i[32*w +: 32] != secret_o[32*w +: 32];
    ready_o   <= 1'b0;
    case (state_q)
      StOpen: begin
        ready_o <= !flush_i && changed_q == '0;
        drain_q <= $bits(drain_q)'(Drain);
        if (flush_i || changed_q != '0) state_q <= StDrain;
      end
      StDrain: begin
        drain_q     <= drain_q - 1'b1;
        clear_set_o <= '0;
        if (drain_q == '0) state_q <= StSweep;
      end
      default: begin
        secret_o    <= secret_i;
        clear_set_o <= clear_set_o + 1'b1;
        if (clear_set_o == SetBits'(Sets - 1)) state_q <= StOpen;
      end
    endcase
    if (rst_i) begin
      state_q     <= StSweep;
      clear_set_o <= '0;
      ready_o     <= 1'b0;
    end
  end
endmodule
