// SPDX-License-Identifier: Apache-2.0
// Formal only: replaces rtl/match/sl_flow_sets.sv where it does not matter which flows there are. Returns any answer at its time.
module fv_any_flows #(
  parameter int unsigned KeyBits = 104,
  parameter int unsigned Sets    = 256,
  parameter int unsigned Ways    = 4,
  parameter int unsigned Timeout = 0,
  parameter bit          Evict   = 1'b1,
  localparam int unsigned SetBits   = Sets == 1 ? 1 : $clog2(Sets),
  localparam int unsigned PlaceBits = SetBits + $clog2(Ways)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  output logic                 ready_o,
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  input  logic [31:0]          now_i,
  input  logic                 insert_i,
  input  logic                 forget_i,
  input  logic [SetBits-1:0]   set4_i,
  output logic                 found_o,
  output logic                 new_o,
  output logic [PlaceBits-1:0] place_o
);
  /* verilator lint_off UNDRIVEN */  // driven by the prover
  (* anyseq *) logic [PlaceBits+1:0] answer;
  /* verilator lint_on UNDRIVEN */

  always_ff @(posedge clk_i) ready_o <= !rst_i;
  assign {found_o, new_o, place_o} = answer;

  logic unused;
  assign unused = &{1'b0, key_valid_i, key_i, now_i, insert_i, forget_i, set4_i, 32'(Timeout), Evict};
endmodule
