// SPDX-License-Identifier: Apache-2.0
// LPM rule table: finds the rule with the longest prefix of a packet's destination address and runs its actions on the record; see
// README.md.
module el_lpm
  import sluice_pkg::*;
#(
  parameter int unsigned Entries4    = LPM_ENTRIES4,   // rules and rule ids for IPv4, a multiple of 4, at least 8
  parameter int unsigned Entries6    = LPM_ENTRIES6,   // the same for IPv6; 0: no table, IPv6 never matches
  parameter bit          BlockRam    = 1'b0,           // match in block RAM: fewer LUTs, slower writes
  parameter int unsigned EditEntries = 256             // entries of the edit-data table, a power of two from 2 to 65536
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
  input  logic [31:0]        tick_i                // microseconds
);
  // Records that are not eligible are looked up, and the result is ignored.
  phv_record_t record;
  sl_ip_ofu #(
    .Exact(1'b0), .KeyBits4(32), .KeyBits6(128), .Entries4(Entries4), .Entries6(Entries6), .BlockRam(BlockRam),
    .EditEntries(EditEntries)
  ) u_ofu (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o, .out_valid_o, .out_ready_i,
    .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .tick_i,
    .record_o(record), .has_key_i(1'b1), .key4_i(record.phv.ip_dst[31:0]), .key6_i(record.phv.ip_dst)
  );

  logic unused_record;
  assign unused_record = &{1'b0, record};
endmodule
