// SPDX-License-Identifier: Apache-2.0
// sl_lookup_table as a stream: keys in, answers out in order, between credits and a FIFO, so that neither an update nor a full
// output ever stops the table. An update costs one cycle, in which no key enters.
module sl_lookup_stream #(
  parameter int unsigned Kind      = 0,    // see sl_lookup_pkg
  parameter int unsigned KeyBits   = 32,   // see sl_lookup_table
  parameter int unsigned ValueBits = 32,
  parameter int unsigned Entries   = 512
) (
  input  logic                 clk_i,
  input  logic                 rst_i,            // synchronous, active high
  input  logic [KeyBits-1:0]   in_data_i,
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  output logic [ValueBits:0]   out_data_o,       // {hit, value}
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  input  logic                 update_valid_i,   // stable with the other update inputs until update_take_o
  input  logic                 update_insert_i,  // 1: insert; 0: remove
  input  logic [KeyBits-1:0]   update_key_i,
  input  logic [15:0]          update_number_i,  // prefix length
  input  logic [ValueBits-1:0] update_value_i,
  output logic                 update_take_o,
  output logic [7:0]           update_status_o   // valid with update_take_o: an errno
);
  localparam int unsigned Latency = sl_lookup_pkg::lookup_latency(Kind, KeyBits, Entries);

  logic               gate_ready, table_ready, key_valid, result_valid, unused_want;
  logic [KeyBits-1:0] key;
  logic [ValueBits:0] result;

  assign in_ready_o = gate_ready && table_ready && !update_take_o;

  sl_lookup_table #(.Kind(Kind), .KeyBits(KeyBits), .ValueBits(ValueBits), .Entries(Entries)) u_table (
    .clk_i, .rst_i, .ready_o(table_ready),
    .key_valid_i(key_valid), .key_i(key), .result_valid_o(result_valid), .result_o(result),
    .update_valid_i, .update_insert_i, .update_key_i, .update_mask_i('0), .update_number_i, .update_value_i,
    .want_o(unused_want), .go_i(1'b1), .take_o(update_take_o), .status_o(update_status_o)
  );

  sl_pipe_gate #(.InWidth(KeyBits), .OutWidth(ValueBits + 1), .Latency(Latency)) u_gate (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(in_valid_i && in_ready_o), .in_ready_o(gate_ready),
    .stage_valid_o(key_valid), .stage_data_o(key), .stage_valid_i(result_valid), .stage_data_i(result),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
