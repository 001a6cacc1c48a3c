// SPDX-License-Identifier: Apache-2.0
// Executes the action set of a rule on a packet's record: one record per cycle, one slot per stage, never stalls. A record without
// `execute_i` passes unchanged. rtl/action/README.md defines every action; whatever an action set holds, the worst it can do is
// drop its packet or send it to the host.
module sl_action_pipe
  import sluice_pkg::*;
  import sl_action_pkg::*;
#(
  parameter int unsigned EditEntries = 256,  // entries of the edit-data table, a power of two from 2 to 65536
  localparam int unsigned EditBits = $clog2(EditEntries)
) (
  input  logic                      clk_i,
  input  logic                      rst_i,         // synchronous, active high: discards the records inside
  input  logic                      valid_i,
  input  phv_record_t               record_i,
  input  action_set_t               actions_i,
  input  logic                      execute_i,     // 0: the record passes unchanged
  output logic                      valid_o,       // ACTION_LATENCY cycles after valid_i
  output phv_record_t               record_o,      // two gates after registers
  input  logic                      edit_valid_i,  // writes an entry of the edit-data table: later records see it
  input  logic [EditBits-1:0]       edit_index_i,
  input  logic [EDIT_DATA_BITS-1:0] edit_data_i
);
  localparam int unsigned Steps = ACTION_LEAD + ACTION_SLOTS + 1;  // cycles until the last slot has written

  logic [Steps:0]  valid;
  action_control_t entering, last_control, control [ACTION_SLOTS + 1];  // before slot n
  action_data_t    last_data, data [ACTION_SLOTS + 1];                  // before slot n, one cycle later
  action_control_t decided;                                             // aligned with the data of the last slot
  action_rest_t    rest;
  action_traits_t  traits_early;                                        // one cycle before slot 0
  logic            early_valid, control_valid, data_valid, decided_valid, tail_valid, rest_valid;

  assign valid[0] = valid_i;
  assign entering = control_of(record_i, execute_i);
  always_ff @(posedge clk_i) valid[Steps:1] <= rst_i ? '0 : valid[Steps-1:0];

  sl_delay #(.Width($bits(action_traits_t)), .Cycles(ACTION_LEAD - 1)) u_early (
    .clk_i, .rst_i, .valid_i, .data_i(entering.traits), .valid_o(early_valid), .data_o(traits_early)
  );
  sl_delay #(.Width($bits(action_control_t)), .Cycles(ACTION_LEAD)) u_control (
    .clk_i, .rst_i, .valid_i, .data_i(entering), .valid_o(control_valid), .data_o(control[0])
  );
  sl_delay #(.Width($bits(action_data_t)), .Cycles(ACTION_LEAD + 1)) u_data (
    .clk_i, .rst_i, .valid_i, .data_i(data_of(record_i)), .valid_o(data_valid), .data_o(data[0])
  );

  for (genvar n = 0; n < ACTION_SLOTS; n++) begin : gen_slot
    action_t                   action;
    logic                      action_valid;
    action_unit_t              unit;
    logic [EDIT_DATA_BITS-1:0] value;
    action_traits_t            traits;  // of the record one stage before this slot

    if (n == 0) begin : gen_first
      assign traits = traits_early;
    end else begin : gen_later
      assign traits = control[n-1].traits;
    end

    sl_delay #(.Width(ACTION_BITS), .Cycles(n)) u_wait (
      .clk_i, .rst_i, .valid_i, .data_i(actions_i.slots[n]), .valid_o(action_valid), .data_o(action)
    );
    sl_action_value #(.EditEntries(EditEntries)) u_value (
      .clk_i, .valid_i(action_valid), .action_i(action), .traits_i(traits),
      .edit_valid_i, .edit_index_i, .edit_data_i, .unit_o(unit), .value_o(value)
    );
    sl_action_slot u_slot (
      .clk_i, .valid_i(valid[ACTION_LEAD+n]), .control_i(control[n]), .unit_i(unit), .value_i(value), .data_i(data[n]),
      .control_o(control[n+1]), .data_o(data[n+1])
    );
  end

  // Sums of the old words, computed while the slots work; the new words are added to delta before - old.
  logic [15:0] ip_old, l4_old, ip_before, l4_before, ip_base, l4_base;
  logic [16:0] ip_base_q, l4_base_q;
  logic [15:0] ip_base_q2, l4_base_q2;
  logic        before_valid, base_valid;

  sl_action_sums u_old (
    .clk_i, .valid_i, .ip_src_i(record_i.phv.ip_src), .ip_dst_i(record_i.phv.ip_dst), .ip_tos_i(record_i.phv.ip_tos),
    .ip_ttl_i(record_i.phv.ip_ttl), .l4_src_i(record_i.phv.l4_src), .l4_dst_i(record_i.phv.l4_dst),
    .ip_add_i('0), .l4_add_i('0), .ip_sum_o(ip_old), .l4_sum_o(l4_old)
  );
  sl_delay #(.Width(32), .Cycles(4)) u_before (
    .clk_i, .rst_i, .valid_i, .data_i({record_i.edits.ip_delta, record_i.edits.l4_delta}),
    .valid_o(before_valid), .data_o({ip_before, l4_before})
  );
  always_ff @(posedge clk_i) begin
    if (before_valid) begin
      ip_base_q <= {1'b0, ~ip_old} + 17'(ip_before);
      l4_base_q <= {1'b0, ~l4_old} + 17'(l4_before);
    end
    if (valid[5]) begin
      ip_base_q2 <= ip_base_q[15:0] + 16'(ip_base_q[16]);
      l4_base_q2 <= l4_base_q[15:0] + 16'(l4_base_q[16]);
    end
  end
  // A base of 0 is written as 65535, so that a delta of changed words is never 0.
  sl_delay #(.Width(32), .Cycles(Steps - 6)) u_base (
    .clk_i, .rst_i, .valid_i(valid[6]),
    .data_i({ip_base_q2 == '0 ? 16'hffff : ip_base_q2, l4_base_q2 == '0 ? 16'hffff : l4_base_q2}),
    .valid_o(base_valid), .data_o({ip_base, l4_base})
  );

  logic [15:0] ip_sum, l4_sum;

  sl_action_sums u_new (
    .clk_i, .valid_i(valid[Steps]),
    .ip_src_i(data[ACTION_SLOTS].ip_src), .ip_dst_i(data[ACTION_SLOTS].ip_dst), .ip_tos_i(data[ACTION_SLOTS].ip_tos),
    .ip_ttl_i(decided.ip_ttl), .l4_src_i(data[ACTION_SLOTS].l4_src), .l4_dst_i(data[ACTION_SLOTS].l4_dst),
    .ip_add_i(ip_base), .l4_add_i(l4_base), .ip_sum_o(ip_sum), .l4_sum_o(l4_sum)
  );
  sl_delay #(.Width($bits(action_control_t)), .Cycles(1)) u_decided (
    .clk_i, .rst_i, .valid_i(valid[Steps-1]), .data_i(control[ACTION_SLOTS]), .valid_o(decided_valid), .data_o(decided)
  );
  sl_delay #(.Width($bits(action_control_t) + $bits(action_data_t)), .Cycles(ACTION_TAIL)) u_tail (
    .clk_i, .rst_i, .valid_i(decided_valid), .data_i({decided, data[ACTION_SLOTS]}),
    .valid_o(tail_valid), .data_o({last_control, last_data})
  );
  sl_delay #(.Width($bits(action_rest_t)), .Cycles(ACTION_LATENCY)) u_rest (
    .clk_i, .rst_i, .valid_i, .data_i(rest_of(record_i)), .valid_o(rest_valid), .data_o(rest)
  );

  assign valid_o  = tail_valid;
  assign record_o = record_of(last_control, last_data, rest, ip_sum, l4_sum);

  logic unused;
  assign unused = &{1'b0, early_valid, control_valid, data_valid, rest_valid, base_valid};
endmodule
