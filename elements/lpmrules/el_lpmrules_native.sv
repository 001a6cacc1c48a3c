// SPDX-License-Identifier: Apache-2.0
// The native body of LpmRules (`compiler/native.py`): sl_lookup_table between credits and a FIFO, so that neither an
// update nor a full output ever stops the table. An update costs one cycle, in which no key enters.
module el_lpmrules_native #(
  parameter int unsigned K       = 32,   // bits of a key
  parameter int unsigned V       = 32,   // bits of a value
  parameter int unsigned Entries = 512,  // rules
  localparam int unsigned ArgumentBits = K + 16 + V
) (
  input  logic                    clk_i,
  input  logic                    rst_i,               // synchronous, active high
  input  logic [K-1:0]            in_data_i,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  output logic [V:0]              out_data_o,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  input  logic                    signal_valid_i,      // rules_insert(), rules_remove()
  input  logic [7:0]              signal_kind_i,
  input  logic [ArgumentBits-1:0] signal_arguments_i,  // {value, length, key}
  output logic                    signal_take_o,
  output logic                    result_valid_o,
  output logic [7:0]              result_o
);
  localparam int unsigned Kind    = sl_lookup_pkg::LPM;
  localparam int unsigned Latency = sl_lookup_pkg::lookup_latency(Kind, K, Entries);

  logic         enter, gate_ready, table_ready, key_valid, result_valid, want;
  logic [K-1:0] key;
  logic [V:0]   result;

  assign enter          = in_valid_i && in_ready_o;
  assign in_ready_o     = gate_ready && table_ready && !signal_take_o;
  assign result_valid_o = signal_take_o;

  sl_lookup_table #(.Kind(Kind), .KeyBits(K), .ValueBits(V), .Entries(Entries)) u_table (
    .clk_i, .rst_i, .ready_o(table_ready),
    .key_valid_i(key_valid), .key_i(key), .result_valid_o(result_valid), .result_o(result),
    .update_valid_i(signal_valid_i), .update_insert_i(signal_kind_i == 8'd0),
    .update_key_i(signal_arguments_i[K-1:0]), .update_mask_i('0), .update_number_i(signal_arguments_i[K+:16]),
    .update_value_i(signal_arguments_i[K+16+:V]),
    .want_o(want), .go_i(1'b1), .take_o(signal_take_o), .status_o(result_o)
  );

  sl_pipe_gate #(.InWidth(K), .OutWidth(V + 1), .Latency(Latency)) u_gate (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(enter), .in_ready_o(gate_ready),
    .stage_valid_o(key_valid), .stage_data_o(key), .stage_valid_i(result_valid), .stage_data_i(result),
    .out_data_o, .out_valid_o, .out_ready_i
  );

  logic unused_want;
  assign unused_want = want;
endmodule
