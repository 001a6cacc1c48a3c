// SPDX-License-Identifier: Apache-2.0
// The process block of the stateful unit: what its program makes of a packet and the state of its flow. Stateful paper, 3.3. A packet a
// cycle, never stalls. The state is needed PROCESS_INPUT_LATENCY + PROCESS_AHEAD cycles after the packet, the new state is there
// PROCESS_LOOP cycles later, and the packet PROCESS_ACTION_LATENCY cycles after that. A scheduler that holds packets back puts the
// inputs in front of itself (sl_process_inputs), and the other parts behind.
//
// All memories must be written once before the first packet; afterwards those of a version that no packet has may be written, and
// global and table state, at any time.
module sl_process
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Inputs     = PROCESS_INPUTS,      // 1 to 8
  parameter int unsigned Conditions = PROCESS_CONDITIONS,  // 4 or 8
  parameter int unsigned Words      = PROCESS_WORDS,       // of the flow state, 1 to 4
  parameter int unsigned Updates    = PROCESS_UPDATES,     // of a word, that entries choose from: 1, 3, 7 or 15
  parameter int unsigned Entries    = PROCESS_ENTRIES,     // 2 to 64, a power of two; the last is taken without a match
  parameter int unsigned Actions    = PROCESS_ACTIONS,     // ALUs for the packet, 1 to 22; more than 16 with at most 32 entries
  localparam int unsigned EntryBits = $clog2(Entries)
) (
  input  logic                   clk_i,
  input  logic                   rst_i,            // synchronous, active high
  input  logic                   write_valid_i,    // applies to packets that enter two cycles later
  input  process_write_t         write_i,
  input  logic                   valid_i,
  input  pipeline_phv_t          phv_i,
  input  logic [31:0]            tick_i,           // microseconds
  output logic                   take_o,           // state_i is of a packet
  input  logic [Words-1:0][31:0] state_i,
  output logic                   state_valid_o,
  output logic [Words-1:0][31:0] state_o,          // the new state
  output logic [EntryBits-1:0]   entry_o,          // with it: the entry that was taken
  output logic                   valid_o,
  output pipeline_phv_t          phv_o
);
  localparam int unsigned LoopLatency = PROCESS_AHEAD + PROCESS_LOOP;

  logic                    write_valid_q;
  process_write_t          write_q;
  logic                    inputs_valid, version;
  logic [Inputs-1:0][31:0] inputs, inputs_late;
  logic [Words-1:0][31:0]  old_state;
  pipeline_phv_t           phv_late;
  logic [2:0]              beside;

  always_ff @(posedge clk_i) begin
    write_valid_q <= write_valid_i && !rst_i;
    if (write_valid_i) write_q <= write_i;
  end

  sl_process_inputs #(.Inputs(Inputs)) u_inputs (
    .clk_i, .rst_i, .write_valid_i(write_valid_q), .write_i(write_q), .valid_i, .phv_i, .tick_i,
    .valid_o(inputs_valid), .inputs_o(inputs)
  );
  sl_delay #(.Width(1), .Cycles(PROCESS_INPUT_LATENCY)) u_version (
    .clk_i, .rst_i, .valid_i, .data_i(phv_i.parsed.version), .valid_o(beside[0]), .data_o(version)
  );
  sl_process_loop #(
    .Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates), .Entries(Entries)
  ) u_loop (
    .clk_i, .rst_i, .write_valid_i(write_valid_q), .write_i(write_q), .valid_i(inputs_valid), .version_i(version),
    .inputs_i(inputs), .take_o, .state_i, .valid_o(state_valid_o), .state_o, .before_o(old_state), .entry_o
  );
  sl_delay #(.Width($bits(pipeline_phv_t)), .Cycles(PROCESS_INPUT_LATENCY + LoopLatency)) u_packet (
    .clk_i, .rst_i, .valid_i, .data_i(phv_i), .valid_o(beside[1]), .data_o(phv_late)
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(LoopLatency)) u_inputs_late (
    .clk_i, .rst_i, .valid_i(inputs_valid), .data_i(inputs), .valid_o(beside[2]), .data_o(inputs_late)
  );
  sl_process_actions #(.Inputs(Inputs), .Words(Words), .Entries(Entries), .Actions(Actions)) u_actions (
    .clk_i, .rst_i, .write_valid_i(write_valid_q), .write_i(write_q), .valid_i(state_valid_o), .acts_i(1'b1), .phv_i(phv_late),
    .entry_i(entry_o), .inputs_i(inputs_late), .before_i(old_state), .after_i(state_o),
    .valid_o, .phv_o
  );

  logic unused;
  assign unused = &{1'b0, beside};
endmodule
