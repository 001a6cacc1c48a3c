// SPDX-License-Identifier: Apache-2.0
// Packets, of which each has its inputs and the place of its flow, with the states of all flows: when each goes through the process
// block, so that it sees the state that all packets of its flow before it left. Results leave in the order in which packets came.
//
// A packet a cycle, except that packets of one flow are PROCESS_LOOP cycles apart. With Composed this holds only for programs whose
// updates do not compose (`process_composed_t`): packets of the others wait for none. The two kinds, and versions of the second, are
// never inside together: at a change a packet waits until it is empty, about COMPOSED_LATENCY + 16 cycles.
module sl_stateful_core
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter bit          Composed    = 1'b1,
  parameter int unsigned AddressBits = 12,
  parameter int unsigned Inputs      = PROCESS_INPUTS,      // of sl_process, as the others
  parameter int unsigned Conditions  = PROCESS_CONDITIONS,
  parameter int unsigned Words       = PROCESS_WORDS,
  parameter int unsigned Updates     = PROCESS_UPDATES,
  parameter int unsigned Entries     = PROCESS_ENTRIES,
  localparam int unsigned EntryBits  = $clog2(Entries)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic                    write_valid_i,  // to the program; applies to packets that enter later
  input  process_write_t          write_i,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [AddressBits-1:0]  in_address_i,
  input  logic                    in_keeps_i,     // it has a flow: its new state is kept
  input  logic                    in_fresh_i,     // its state is 0
  input  logic                    in_version_i,
  input  logic [Inputs-1:0][31:0] in_inputs_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [EntryBits-1:0]    out_entry_o,    // that was taken
  output logic [Inputs-1:0][31:0] out_inputs_o,
  output logic [Words-1:0][31:0]  out_before_o,   // the state that the packet found,
  output logic [Words-1:0][31:0]  out_after_o     // and the one that it left
);
  typedef struct packed {
    logic                    keeps;
    logic                    fresh;
    logic                    version;
    logic [Inputs-1:0][31:0] inputs;
  } record_t;
  typedef struct packed {
    logic [EntryBits-1:0]    entry;
    logic [Inputs-1:0][31:0] inputs;
    logic [Words-1:0][31:0]  old_state;
    logic [Words-1:0][31:0]  new_state;
  } result_t;

  record_t                 record, ahead, issued;
  result_t                 done, result;
  logic [1:0]              composed;  // of each version
  logic                    free;      // the packet ahead waits for none
  logic                    ready, read_valid, ahead_valid, issue_valid, forward, write_valid, take, done_valid, beside;
  logic [AddressBits-1:0]  read_address, ahead_address, write_address, unused_address;
  logic [Words-1:0][31:0]  state;     // as the RAM has it

  assign record = '{keeps: in_keeps_i, fresh: in_fresh_i, version: in_version_i, inputs: in_inputs_i};
  assign {out_entry_o, out_inputs_o, out_before_o, out_after_o} = result;

  sl_schedule_core #(
    .AddressBits(AddressBits), .PayloadWidth($bits(record_t)), .ResultWidth($bits(result_t)), .Latency(PROCESS_LOOP),
    .TagBits(AddressBits < 8 ? AddressBits : 8), .Keeps(1'b1), .Ahead(PROCESS_AHEAD), .Free(Composed ? COMPOSED_LATENCY : 0)
  ) u_schedule (
    .clk_i, .rst_i, .in_data_i({in_address_i, record}), .in_mode_i(composed[in_version_i] ? {1'b1, in_version_i} : 2'd0),
    .in_valid_i, .in_ready_o, .ram_ready_i(ready), .read_valid_o(read_valid), .read_address_o(read_address),
    .ahead_valid_o(ahead_valid), .ahead_data_o({ahead_address, ahead}), .issue_valid_o(issue_valid),
    .issue_data_o({unused_address, issued}), .forward_o(forward), .write_valid_o(write_valid), .write_address_o(write_address),
    .done_result_i(done), .out_data_o(result), .out_valid_o, .out_ready_i
  );
  assign free = composed[ahead.version];

  // What goes through the process block, and the state that it finds there.
  logic                    loop_valid, loop_version;
  logic [Inputs-1:0][31:0] loop_inputs;
  logic [Words-1:0][31:0]  loop_state, waited;

  assign waited = issued.fresh ? '0 : forward ? done.new_state : state;

  if (Composed) begin : gen_composed
    logic                    free_valid, free_version;
    logic [Inputs-1:0][31:0] free_inputs;
    logic [Words-1:0][31:0]  free_state;

    sl_process_composed #(
      .AddressBits(AddressBits), .Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates), .Entries(Entries)
    ) u_composed (
      .clk_i, .rst_i, .write_valid_i, .write_i, .composed_o(composed), .ready_o(ready), .valid_i(ahead_valid && free),
      .version_i(ahead.version), .address_i(ahead_address), .keeps_i(ahead.keeps), .fresh_i(ahead.fresh), .inputs_i(ahead.inputs),
      .valid_o(free_valid), .version_o(free_version), .inputs_o(free_inputs), .before_o(free_state),
      .read_valid_i(read_valid && !free), .read_address_i(read_address), .state_o(state),
      .state_write_valid_i(write_valid), .state_write_address_i(write_address), .state_write_data_i(done.new_state)
    );
    assign loop_valid   = free_valid || (ahead_valid && !free);
    assign loop_version = free_valid ? free_version : ahead.version;
    assign loop_inputs  = free_valid ? free_inputs : ahead.inputs;
    assign loop_state   = issue_valid && !composed[issued.version] ? waited : free_state;
  end else begin : gen_waiting
    logic [AddressBits-1:0] unused_reset_address;

    sl_forward_ram #(.Width(32 * Words), .Entries(2 ** AddressBits)) u_states (
      .clk_i, .rst_i, .ready_o(ready), .reset_address_o(unused_reset_address), .reset_data_i('0),
      .read_valid_i(read_valid), .read_index_i(read_address), .read_data_o(state),
      .write_valid_i(write_valid), .write_index_i(write_address), .write_data_i(done.new_state)
    );
    assign composed     = '0;
    assign loop_valid   = ahead_valid;
    assign loop_version = ahead.version;
    assign loop_inputs  = ahead.inputs;
    assign loop_state   = waited;
    logic unused_waiting;
    assign unused_waiting = &{1'b0, ahead_address, free, unused_reset_address};
  end

  sl_process_loop #(
    .Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates), .Entries(Entries)
  ) u_loop (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(loop_valid), .version_i(loop_version), .inputs_i(loop_inputs), .take_o(take),
    .state_i(loop_state), .valid_o(done_valid), .state_o(done.new_state), .before_o(done.old_state), .entry_o(done.entry)
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(PROCESS_AHEAD + PROCESS_LOOP)) u_done_inputs (
    .clk_i, .rst_i, .valid_i(loop_valid), .data_i(loop_inputs), .valid_o(beside), .data_o(done.inputs)
  );

  logic unused;
  assign unused = &{1'b0, ahead, issued, issue_valid, take, done_valid, beside, unused_address};
endmodule
