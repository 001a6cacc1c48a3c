// SPDX-License-Identifier: Apache-2.0
// Exact rule table: finds the rule of a packet's 5-tuple and runs its actions on the record; see README.md.
module el_exact
  import sluice_pkg::*;
#(
  parameter int unsigned Entries4    = EXACT_ENTRIES4,  // slots and rule ids for IPv4, a multiple of 4 from 8 to 262144
  parameter int unsigned Entries6    = EXACT_ENTRIES6,  // the same for IPv6; 0: no table, IPv6 never matches
  parameter int unsigned EditEntries = 256              // entries of the edit-data table, a power of two from 2 to 65536
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
  phv_record_t  record;
  five_tuple4_t key4;
  five_tuple6_t key6;
  assign key4 = '{ip_src: record.phv.ip_src[31:0], ip_dst: record.phv.ip_dst[31:0],
                  ip_protocol: record.phv.ip_protocol, l4_src: record.phv.l4_src, l4_dst: record.phv.l4_dst};
  assign key6 = '{ip_src: record.phv.ip_src, ip_dst: record.phv.ip_dst,
                  ip_protocol: record.phv.ip_protocol, l4_src: record.phv.l4_src, l4_dst: record.phv.l4_dst};

  // Fragments have no key: only the first has ports, and a rule must treat all fragments of a packet alike.
  sl_ip_ofu #(
    .Exact(1'b1), .KeyBits4(FIVE_TUPLE4_BITS), .KeyBits6(FIVE_TUPLE6_BITS), .Entries4(Entries4), .Entries6(Entries6),
    .EditEntries(EditEntries)
  ) u_ofu (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o, .out_valid_o, .out_ready_i,
    .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .tick_i,
    .record_o(record), .has_key_i(record.eligible[0] && !record.info.is_fragment[0]), .key4_i(key4), .key6_i(key6)
  );

  logic unused_record;
  assign unused_record = &{1'b0, record};
endmodule
