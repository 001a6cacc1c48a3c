// SPDX-License-Identifier: Apache-2.0
// A rule table element with a table for each version of IP: everything except the choice of the keys, which is combinational. The
// version of a record chooses its table. A record without a rule, not eligible, without a key or not IP passes unchanged. Only
// `out` can stall the stream.
module sl_ip_ofu
  import sluice_pkg::*;
#(
  parameter bit          Exact       = 1'b0,  // 0: sl_lpm_table, 1: sl_hash_table
  parameter int unsigned KeyBits4    = 32,
  parameter int unsigned KeyBits6    = 128,   // at least KeyBits4
  parameter int unsigned Entries4    = 512,   // rules and rule ids for IPv4
  parameter int unsigned Entries6    = 512,   // the same for IPv6; 0: no table, IPv6 never matches
  parameter bit          BlockRam    = 1'b0,  // of sl_lpm_table
  parameter int unsigned EditEntries = 256    // entries of the edit-data table, a power of two from 2 to 65536
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high
  input  phv_record_t        in_data_i,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  output phv_record_t        out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  input  register_request_t  reg_request_i,        // window: ofu_registers
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o,
  input  logic [31:0]        tick_i,               // microseconds
  output phv_record_t        record_o,             // is looked up
  input  logic               has_key_i,            // record_o has a key
  input  logic [KeyBits4-1:0] key4_i,              // of record_o, if it is IPv4
  input  logic [KeyBits6-1:0] key6_i               // if it is IPv6
);
  localparam int unsigned Latency = sl_match_pkg::ip_latency(Exact, KeyBits4, KeyBits6, Entries4, Entries6, BlockRam);

  sl_counter_pkg::counter_event_t unused_counters;
  logic             lookup_valid, lookup;
  instruction_t     op;
  logic [1:0]       op_valid, op_ready, op_commit, op_done, table_ready, table_valid, table_hit;
  status_t [1:0]    op_status;
  logic [1:0][31:0] table_used, table_id;

  sl_ofu #(
    .Kind(Exact ? ELEMENT_EXACT : ELEMENT_LPM), .TableBit(Exact ? TABLE_EXACT : TABLE_LPM), .LookupLatency(Latency),
    .Entries0(Entries4), .Entries1(Entries6), .KeyBits0(KeyBits4), .KeyBits1(KeyBits6), .EditEntries(EditEntries)
  ) u_ofu (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o, .out_valid_o, .out_ready_i,
    .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .tick_i,
    .lookup_valid_o(lookup_valid), .lookup_record_o(record_o), .lookup_hit_i(|(table_valid & table_hit)),
    .lookup_table_i(table_valid[1]), .lookup_id_i(table_valid[1] ? table_id[1] : table_id[0]),
    .op_o(op), .op_valid_o(op_valid), .op_ready_i(op_ready), .op_commit_i(op_commit), .op_done_i(op_done),
    .op_status_i(op_status), .table_ready_i(table_ready), .table_used_i(table_used), .counters_o(unused_counters)
  );

  assign lookup = lookup_valid && has_key_i;
  sl_ip_tables #(
    .Exact(Exact), .KeyBits4(KeyBits4), .KeyBits6(KeyBits6), .Entries4(Entries4), .Entries6(Entries6), .BlockRam(BlockRam)
  ) u_tables (
    .clk_i, .rst_i,
    .key_valid_i({lookup && record_o.info.l3_kind == L3_IPV6, lookup && record_o.info.l3_kind == L3_IPV4}),
    .key_i({key6_i, KeyBits6'(key4_i)}),
    .result_valid_o(table_valid), .result_hit_o(table_hit), .result_id_o(table_id),
    .op_i(op), .op_valid_i(op_valid), .op_ready_o(op_ready), .op_commit_o(op_commit), .op_done_o(op_done),
    .op_status_o(op_status), .ready_o(table_ready), .used_o(table_used)
  );
endmodule
