// SPDX-License-Identifier: Apache-2.0
// A rule table for each version of IP, both of one kind: sl_lpm_table or sl_hash_table. Both answer sl_match_pkg::ip_latency cycles
// after a key, one lookup per cycle each. Operations and their errors are those of the tables. Index of the vectors: table_t.
module sl_ip_tables #(
  parameter bit          Exact    = 1'b0,  // 0: sl_lpm_table, 1: sl_hash_table
  parameter int unsigned KeyBits4 = 32,
  parameter int unsigned KeyBits6 = 128,   // at least KeyBits4
  parameter int unsigned Entries4 = 512,   // rules and rule ids, as the tables allow
  parameter int unsigned Entries6 = 512,   // the same; 0: no table, its keys miss, and no operation may come for it
  parameter bit          BlockRam = 1'b0   // of sl_lpm_table
) (
  input  logic                        clk_i,
  input  logic                        rst_i,           // synchronous, active high
  input  logic [1:0]                  key_valid_i,
  input  logic [1:0][KeyBits6-1:0]    key_i,
  output logic [1:0]                  result_valid_o,
  output logic [1:0]                  result_hit_o,
  output logic [1:0][31:0]            result_id_o,     // rule id, on a hit
  input  sluice_pkg::instruction_t    op_i,
  input  logic [1:0]                  op_valid_i,
  output logic [1:0]                  op_ready_o,
  output logic [1:0]                  op_commit_o,
  output logic [1:0]                  op_done_o,
  output sluice_pkg::status_t [1:0]   op_status_o,
  output logic [1:0]                  ready_o,         // 1 for a missing table
  output logic [1:0][31:0]            used_o
);
  localparam int unsigned Latency = sl_match_pkg::ip_latency(Exact, KeyBits4, KeyBits6, Entries4, Entries6, BlockRam);

  for (genvar t = 0; t < 2; t++) begin : gen_table
    localparam int unsigned KeyBits = t == 0 ? KeyBits4 : KeyBits6;
    localparam int unsigned Entries = t == 0 ? Entries4 : Entries6;
    logic        valid, hit;
    logic [31:0] id;

    if (Entries == 0) begin : gen_none
      assign {valid, hit, id, op_ready_o[t], op_commit_o[t], op_done_o[t], used_o[t]} = '0;
      assign op_status_o[t] = sluice_pkg::STATUS_EINVAL;
      assign ready_o[t]     = 1'b1;
      logic unused_inputs;
      assign unused_inputs = &{1'b0, key_valid_i[t], op_valid_i[t]};
    end else if (Exact) begin : gen_exact
      sl_hash_table #(.KeyBits(KeyBits), .Entries(Entries)) u_table (
        .clk_i, .rst_i, .key_valid_i(key_valid_i[t]), .key_i(key_i[t][KeyBits-1:0]),
        .result_valid_o(valid), .result_hit_o(hit), .result_id_o(id),
        .op_i, .op_valid_i(op_valid_i[t]), .op_ready_o(op_ready_o[t]), .op_commit_o(op_commit_o[t]),
        .op_done_o(op_done_o[t]), .op_status_o(op_status_o[t]), .ready_o(ready_o[t]), .used_o(used_o[t])
      );
    end else begin : gen_lpm
      sl_lpm_table #(.KeyBits(KeyBits), .Entries(Entries), .BlockRam(BlockRam)) u_table (
        .clk_i, .rst_i, .key_valid_i(key_valid_i[t]), .key_i(key_i[t][KeyBits-1:0]),
        .result_valid_o(valid), .result_hit_o(hit), .result_id_o(id),
        .op_i, .op_valid_i(op_valid_i[t]), .op_ready_o(op_ready_o[t]), .op_commit_o(op_commit_o[t]),
        .op_done_o(op_done_o[t]), .op_status_o(op_status_o[t]), .ready_o(ready_o[t]), .used_o(used_o[t])
      );
    end

    // The faster table waits for the other.
    localparam int unsigned Wait = Entries == 0 ? 0 : Latency - sl_match_pkg::rules_latency(Exact, KeyBits, Entries, BlockRam);
    sl_delay #(.Width(33), .Cycles(Wait)) u_late (
      .clk_i, .rst_i, .valid_i(valid), .data_i({hit, id}),
      .valid_o(result_valid_o[t]), .data_o({result_hit_o[t], result_id_o[t]})
    );
  end

  logic unused_key;
  assign unused_key = &{1'b0, key_i};
endmodule
