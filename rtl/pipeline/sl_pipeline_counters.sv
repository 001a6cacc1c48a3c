// SPDX-License-Identifier: Apache-2.0
// Packets, bytes and last hit of each action of each unit, those for packets without a match included. A written action begins at 0.
// A packet a cycle and unit; a read waits for a cycle in which its unit looks nothing up, so whoever reads keeps one packet back for a
// cycle. After a reset the memories are cleared and nothing is counted; the writes that a program needs before its first packet take
// longer.
module sl_pipeline_counters
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Units   = 2,
  parameter int unsigned Actions = 322, // of each unit
  parameter int unsigned Without = 0    // bit u: unit u has no actions
) (
  input  logic                      clk_i,
  input  logic                      rst_i,         // synchronous, active high
  output logic                      ready_o,       // the memories are cleared
  input  logic [31:0]               tick_i,        // microseconds
  input  logic                      write_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // the action itself
  input  pipeline_write_t           write_i,       // of an action that no packet has, from 5 cycles before on
  input  lookup_event_t [Units-1:0] lookups_i,
  input  logic                      read_valid_i,  // stable until read_done_o, 3 or more cycles after a write
  input  logic [3:0]                read_unit_i,
  input  logic [15:0]               read_action_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                      read_done_o,   // pulse
  output rule_counters_t            read_data_o    // from the cycle after read_done_o on, until the next read
);
  localparam int unsigned ActionBits = $clog2(Actions);

  logic           [Units-1:0] ready, done;
  rule_counters_t [Units-1:0] counters;

  for (genvar u = 0; u < Units; u++) begin : gen_unit
    if (Without[u]) begin : gen_none
      assign {ready[u], done[u]} = 2'b10;
      assign counters[u] = '0;
    end else begin : gen_counters
      logic                           unused_wait;
      sl_counter_pkg::counter_event_t unused_event;

      sl_rule_counters #(.Entries(Actions)) u_counters (
        .clk_i, .rst_i, .ready_o(ready[u]), .tick_i,
        .hit_valid_i(lookups_i[u].looked_up && ready[u]), .hit_index_i(lookups_i[u].action[ActionBits-1:0]), .hit_length_i(lookups_i[u].length),
        .fresh_valid_i(write_valid_i && write_i.memory == UNIT_MEMORY_ACTION && 32'(write_i.unit) == u),
        .fresh_index_i(write_i.address[ActionBits-1:0]),
        .read_valid_i(read_valid_i && 32'(read_unit_i) == u), .read_index_i(read_action_i[ActionBits-1:0]),
        .read_wait_o(unused_wait), .read_done_o(done[u]), .read_data_o(counters[u]), .event_o(unused_event)
      );

      logic unused;
      assign unused = &{1'b0, unused_wait, unused_event};
    end
  end

  assign ready_o     = &ready;
  assign read_done_o = |done;
  always_ff @(posedge clk_i) begin
    for (int u = 0; u < Units; u++) if (32'(read_unit_i) == u) read_data_o <= counters[u];
  end
endmodule
