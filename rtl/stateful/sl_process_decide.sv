// SPDX-License-Identifier: Apache-2.0
// Which updates the entry of a packet takes, as far as they depend on what is known of the state: of a state that is not known any
// value will do where the choice does not depend on it. COMPOSED_CHOICE cycles, a packet a cycle, never stalls.
module sl_process_decide
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Inputs     = PROCESS_INPUTS,      // of sl_process, as the others
  parameter int unsigned Conditions = PROCESS_CONDITIONS,
  parameter int unsigned Words      = PROCESS_WORDS,
  parameter int unsigned Updates    = PROCESS_UPDATES,
  parameter int unsigned Entries    = PROCESS_ENTRIES,
  localparam int unsigned ChoiceBits = $clog2(Updates + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_i,          // synchronous, active high
  input  logic                             write_valid_i,
  input  process_write_t                   write_i,
  input  logic                             valid_i,
  input  logic                             version_i,
  input  logic [Inputs-1:0][31:0]          inputs_i,
  input  logic [Words-1:0][31:0]           state_i,        // PROCESS_AHEAD cycles after valid_i
  output logic                             valid_o,
  output logic [Words-1:0][ChoiceBits-1:0] choices_o,      // of each word: as `process_entry_t`
  output logic [Entries-1:0]               held_o          // entries whose conditions hold
);
  localparam int unsigned Last      = COMPOSED_CHOICE;
  localparam int unsigned EntryBits = $clog2(Entries);

  logic [Last:0]                    valid;
  logic [Last-1:0]                  version;
  logic [Inputs-1:0][31:0]          inputs_q;
  logic [7:0]                       label_q;
  logic [Conditions-1:0]            holds;
  logic [EntryBits-1:0]             entry;
  logic [Entries-1:0]               held;
  process_entry_t                   written;
  logic [Words-1:0][ChoiceBits-1:0] write_row, row;

  assign valid[0]   = valid_i;
  assign version[0] = version_i;
  assign valid_o    = valid[Last];
  always_ff @(posedge clk_i) begin
    valid[Last:1]     <= rst_i ? '0 : valid[Last-1:0];
    version[Last-1:1] <= version[Last-2:0];
    if (valid[0]) inputs_q <= inputs_i;
    if (valid[2]) label_q <= state_i[0][31:PROCESS_LABEL_LOW];
    if (valid[4]) {choices_o, held_o} <= {row, held};
  end

  sl_process_conditions #(.Inputs(Inputs), .Conditions(Conditions), .Words(Words)) u_conditions (
    .clk_i, .write_valid_i, .write_i, .valid_i(valid[3:0]), .version_i, .inputs_i(inputs_q), .state_i, .holds_o(holds)
  );
  sl_process_match #(.Conditions(Conditions), .Entries(Entries)) u_match (
    .clk_i, .write_valid_i, .write_i, .valid_i(valid[3]), .version_i(version[3]), .label_i(label_q), .conditions_i(holds),
    .entry_o(entry), .held_o(held)
  );

  assign written = write_i.data[$bits(process_entry_t)-1:0];
  always_comb for (int w = 0; w < Words; w++) write_row[w] = written.updates[w][ChoiceBits-1:0];
  sl_ram_lut #(.Width(Words * ChoiceBits), .Depth(2 * Entries)) u_rows (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_ENTRY && 32'(write_i.address[9:0]) < Entries),
    .write_address_i({write_i.address[10], write_i.address[EntryBits-1:0]}), .write_data_i(write_row),
    .read_address_i({version[4], entry}), .read_data_o(row)
  );

  logic unused;
  assign unused = &{1'b0, write_i, written};
endmodule
