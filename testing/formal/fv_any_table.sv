// SPDX-License-Identifier: Apache-2.0
// Formal only: replaces rtl/match/sl_lookup_table.sv where the rules do not matter. Returns any answer at its time, and takes any
// update at any time.
module fv_any_table #(
  parameter int unsigned Kind      = 0,
  parameter int unsigned KeyBits   = 32,
  parameter int unsigned ValueBits = 32,
  parameter int unsigned Entries   = 512,
  parameter int unsigned Latency   = 2
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  output logic                 ready_o,
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  output logic                 result_valid_o,
  output logic [ValueBits:0]   result_o,
  input  logic                 update_valid_i,
  input  logic                 update_insert_i,
  input  logic [KeyBits-1:0]   update_key_i,
  input  logic [KeyBits-1:0]   update_mask_i,
  input  logic [15:0]          update_number_i,
  input  logic [ValueBits-1:0] update_value_i,
  output logic                 want_o,
  input  logic                 go_i,
  output logic                 take_o,
  output logic [7:0]           status_o
);
  /* verilator lint_off UNDRIVEN */  // driven by the prover
  (* anyseq *) logic [ValueBits:0] answer;
  (* anyseq *) logic               wants, takes;
  (* anyseq *) logic [7:0]         status;
  /* verilator lint_on UNDRIVEN */
  logic [Latency-1:0]              valid_q;

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[Latency-2:0], key_valid_i};
    ready_o <= !rst_i;
    if (rst_i) valid_q <= '0;
  end
  assign result_valid_o = valid_q[Latency-1];
  assign result_o       = answer;
  assign want_o         = update_valid_i && wants;
  assign take_o         = update_valid_i && go_i && takes;
  assign status_o       = status;

  logic unused;
  assign unused = &{1'b0, key_i, update_insert_i, update_key_i, update_mask_i, update_number_i, update_value_i,
                    32'(Kind), 32'(Entries)};
endmodule
