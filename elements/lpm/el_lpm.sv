// SPDX-License-Identifier: Apache-2.0
// LPM rule table: finds the rule with the longest prefix of a packet's destination address and runs its actions on the record; see
// README.md. A record without a rule, not eligible or not IP passes unchanged. Only `out` can stall the stream.
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
  localparam int unsigned Bits4    = 32;
  localparam int unsigned Bits6    = 128;
  localparam int unsigned Latency4 = sl_match_pkg::lpm_latency(Bits4, Entries4, BlockRam);
  localparam int unsigned Latency6 = Entries6 == 0 ? 0 : sl_match_pkg::lpm_latency(Bits6, Entries6, BlockRam);
  localparam int unsigned Latency  = Latency4 > Latency6 ? Latency4 : Latency6;

  sl_counter_pkg::counter_event_t unused_counters;
  logic             lookup_valid, lookup_hit, lookup_table;
  phv_record_t      record;
  logic [31:0]      lookup_id;
  instruction_t     op;
  logic [1:0]       op_valid, op_ready, op_commit, op_done, table_ready;
  status_t [1:0]    op_status;
  logic [1:0][31:0] table_used;
  logic [1:0]       key_valid, table_valid, table_hit, late_valid, late_hit;
  logic [1:0][31:0] table_id, late_id;

  sl_ofu #(
    .Kind(ELEMENT_LPM), .TableBit(TABLE_LPM), .LookupLatency(Latency), .Entries0(Entries4), .Entries1(Entries6),
    .KeyBits0(Bits4), .KeyBits1(Bits6), .EditEntries(EditEntries)
  ) u_ofu (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o, .out_valid_o, .out_ready_i,
    .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .tick_i,
    .lookup_valid_o(lookup_valid), .lookup_record_o(record),
    .lookup_hit_i(lookup_hit), .lookup_table_i(lookup_table), .lookup_id_i(lookup_id),
    .op_o(op), .op_valid_o(op_valid), .op_ready_i(op_ready), .op_commit_i(op_commit), .op_done_i(op_done),
    .op_status_i(op_status), .table_ready_i(table_ready), .table_used_i(table_used), .counters_o(unused_counters)
  );

  // The IP version selects the table. Records that are not eligible are looked up and the result is ignored.
  assign key_valid = {lookup_valid && record.info.l3_kind == L3_IPV6, lookup_valid && record.info.l3_kind == L3_IPV4};

  sl_lpm_table #(.KeyBits(Bits4), .Entries(Entries4), .BlockRam(BlockRam)) u_table4 (
    .clk_i, .rst_i, .key_valid_i(key_valid[0]), .key_i(record.phv.ip_dst[31:0]),
    .result_valid_o(table_valid[0]), .result_hit_o(table_hit[0]), .result_id_o(table_id[0]),
    .op_i(op), .op_valid_i(op_valid[0]), .op_ready_o(op_ready[0]), .op_commit_o(op_commit[0]),
    .op_done_o(op_done[0]), .op_status_o(op_status[0]), .ready_o(table_ready[0]), .used_o(table_used[0])
  );

  if (Entries6 != 0) begin : gen_table6
    sl_lpm_table #(.KeyBits(Bits6), .Entries(Entries6), .BlockRam(BlockRam)) u_table6 (
      .clk_i, .rst_i, .key_valid_i(key_valid[1]), .key_i(record.phv.ip_dst),
      .result_valid_o(table_valid[1]), .result_hit_o(table_hit[1]), .result_id_o(table_id[1]),
      .op_i(op), .op_valid_i(op_valid[1]), .op_ready_o(op_ready[1]), .op_commit_o(op_commit[1]),
      .op_done_o(op_done[1]), .op_status_o(op_status[1]), .ready_o(table_ready[1]), .used_o(table_used[1])
    );
  end else begin : gen_no_table6
    // The frame rejects instructions for a table without entries; none arrives here.
    assign {table_valid[1], table_hit[1], table_id[1]} = '0;
    assign {op_ready[1], op_commit[1], op_done[1], table_used[1]} = '0;
    assign op_status[1]   = STATUS_EINVAL;
    assign table_ready[1] = 1'b1;
    logic unused_table6;
    assign unused_table6 = &{1'b0, key_valid[1], op_valid[1]};
  end

  // Both tables answer at the same time.
  sl_delay #(.Width(33), .Cycles(Latency - Latency4)) u_late4 (
    .clk_i, .rst_i, .valid_i(table_valid[0]), .data_i({table_hit[0], table_id[0]}),
    .valid_o(late_valid[0]), .data_o({late_hit[0], late_id[0]})
  );
  sl_delay #(.Width(33), .Cycles(Latency6 == 0 ? 0 : Latency - Latency6)) u_late6 (
    .clk_i, .rst_i, .valid_i(table_valid[1]), .data_i({table_hit[1], table_id[1]}),
    .valid_o(late_valid[1]), .data_o({late_hit[1], late_id[1]})
  );
  assign lookup_table = late_valid[1];
  assign lookup_hit   = (late_valid[0] && late_hit[0]) || (late_valid[1] && late_hit[1]);
  assign lookup_id    = late_valid[1] ? late_id[1] : late_id[0];

  logic unused_record;
  assign unused_record = &{1'b0, record};
endmodule
