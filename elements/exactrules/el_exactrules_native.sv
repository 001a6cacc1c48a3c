// SPDX-License-Identifier: Apache-2.0
// The native body of ExactRules (`compiler/native.py`): its table as a stream that an update never stalls.
module el_exactrules_native #(
  parameter int unsigned K       = 104,  // bits per key
  parameter int unsigned V       = 32,   // bits per value
  parameter int unsigned Entries = 4096, // rules
  localparam int unsigned ArgumentBits = K + V
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
  input  logic [ArgumentBits-1:0] signal_arguments_i,  // {value, key}
  output logic                    signal_take_o,
  output logic                    result_valid_o,
  output logic [7:0]              result_o
);
  sl_lookup_stream #(.Kind(sl_lookup_pkg::EXACT), .KeyBits(K), .ValueBits(V), .Entries(Entries)) u_stream (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o, .out_valid_o, .out_ready_i,
    .update_valid_i(signal_valid_i), .update_insert_i(signal_kind_i == 8'd0), .update_key_i(signal_arguments_i[K-1:0]),
    .update_number_i(16'd0), .update_value_i(signal_arguments_i[K+:V]),
    .update_take_o(signal_take_o), .update_status_o(result_o)
  );
  assign result_valid_o = signal_take_o;
endmodule
