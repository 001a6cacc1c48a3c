// SPDX-License-Identifier: Apache-2.0
// The part of the process block that reads the state of a flow and makes the new one: conditions, the table of entries, updates. All
// updates are computed beside the conditions; the entry chooses among them last. A packet a cycle, never stalls.
//
// cycles 1 and 2 after valid_i: instructions of the version, operands that do not depend on the state; then, from state_i on,
// 1: operands; 2: conditions, results of all updates; 3: entry, new state.
module sl_process_loop
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Inputs     = PROCESS_INPUTS,      // 1 to 8
  parameter int unsigned Conditions = PROCESS_CONDITIONS,  // 4 or 8
  parameter int unsigned Words      = PROCESS_WORDS,       // of the flow state, 1 to 4
  parameter int unsigned Updates    = PROCESS_UPDATES,     // of a word: 1, 3, 7 or 15
  parameter int unsigned Entries    = PROCESS_ENTRIES,     // 2 to 64, a power of two
  localparam int unsigned EntryBits = $clog2(Entries)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic                    write_valid_i,  // applies to packets that enter later
  input  process_write_t          write_i,
  input  logic                    valid_i,
  input  logic                    version_i,
  input  logic [Inputs-1:0][31:0] inputs_i,
  output logic                    take_o,         // state_i is of a packet: PROCESS_AHEAD cycles after valid_i
  input  logic [Words-1:0][31:0]  state_i,
  output logic                    valid_o,        // PROCESS_LOOP cycles after take_o
  output logic [Words-1:0][31:0]  state_o,        // the new state
  output logic [Words-1:0][31:0]  before_o,       // the state that the packet found
  output logic [EntryBits-1:0]    entry_o
);
  localparam int unsigned Last       = PROCESS_AHEAD + PROCESS_LOOP;
  localparam int unsigned ChoiceBits = $clog2(Updates + 1);

  // What sl_ram_lut keeps of an entry.
  typedef struct packed {
    logic [Words-1:0][ChoiceBits-1:0] updates;
    logic                             sets_label;
    logic [7:0]                       label;
  } row_t;

  logic [Last:0]                               valid;
  logic [Last-1:0]                             version_q;
  logic [Inputs-1:0][31:0]                     inputs_q;
  logic [Conditions-1:0]                       holds_q;
  logic [Words-1:0][Updates:0][31:0]           choices;  // 0: as it was
  logic [Words-1:0][31:0]                      old_q, old_2_q, state_d;
  logic [EntryBits-1:0]                        entry;
  logic [Entries-1:0]                          unused_held;
  process_entry_t                              written;
  row_t                                        write_row, row;

  assign valid[0] = valid_i;
  assign take_o   = valid[PROCESS_AHEAD];
  assign valid_o  = valid[Last];
  assign version_q[0] = version_i;

  always_ff @(posedge clk_i) begin
    valid[Last:1] <= rst_i ? '0 : valid[Last-1:0];
    for (int n = 0; n < Last - 1; n++) if (valid[n]) version_q[n+1] <= version_q[n];
    if (valid[0]) inputs_q <= inputs_i;
    if (valid[2]) old_q <= state_i;
    if (valid[3]) old_2_q <= old_q;
  end

  sl_process_conditions #(.Inputs(Inputs), .Conditions(Conditions), .Words(Words)) u_conditions (
    .clk_i, .write_valid_i, .write_i, .valid_i(valid[3:0]), .version_i, .inputs_i(inputs_q), .state_i, .holds_o(holds_q)
  );

  for (genvar w = 0; w < Words; w++) begin : gen_word
    for (genvar u = 0; u < Updates; u++) begin : gen_update
      process_instruction_t read, one_q;
      process_alu_t         two_q, alu_q;
      logic [31:0]          x, y, signs, on_carry, on_none, on_carry_q, on_none_q;
      logic                 carry, carry_q;

      sl_ram_lut #(.Width($bits(process_instruction_t)), .Depth(2)) u_updates (
        .clk_i, .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_UPDATE && write_i.address[9:0] == {6'(w), 4'(u)}),
        .write_address_i(write_i.address[10]), .write_data_i(write_i.data[$bits(process_instruction_t)-1:0]),
        .read_address_i(version_i), .read_data_o(read)
      );
      assign signs = signs_of(one_q.kind, one_q.lanes);
      always_ff @(posedge clk_i) begin
        if (valid[0]) one_q <= read;
        if (valid[1]) two_q <= alu_of(one_q.kind, one_q.lanes, one_q.bits);
        if (valid[2]) alu_q <= two_q;
        if (valid[3]) {carry_q, on_carry_q, on_none_q} <= {carry, on_carry, on_none};
      end
      sl_process_fetch #(.Inputs(Inputs), .Words(Words)) u_a (
        .clk_i, .valid_i(valid[2:1]), .operand_i(one_q.a), .immediate_i(one_q.immediate), .inputs_i(inputs_q),
        .set_i(fill_of(one_q.kind, one_q.lanes)), .invert_i(signs), .state_i, .word_o(x)
      );
      sl_process_fetch #(.Inputs(Inputs), .Words(Words)) u_b (
        .clk_i, .valid_i(valid[2:1]), .operand_i(one_q.b), .immediate_i(one_q.immediate), .inputs_i(inputs_q),
        .set_i('0), .invert_i(signs ^ {32{subtracts(one_q.kind)}}), .state_i, .word_o(y)
      );
      sl_process_alu u_alu (
        .control_i(alu_q), .x_i(x), .y_i(y), .old_i(old_q[w]), .carry_o(carry), .on_carry_o(on_carry), .on_none_o(on_none)
      );
      assign choices[w][u+1] = carry_q ? on_carry_q : on_none_q;
    end
    assign choices[w][0] = old_2_q[w];
  end

  sl_process_match #(.Conditions(Conditions), .Entries(Entries)) u_match (
    .clk_i, .write_valid_i, .write_i, .valid_i(valid[3]), .version_i(version_q[3]), .label_i(old_q[0][31:PROCESS_LABEL_LOW]),
    .conditions_i(holds_q), .entry_o(entry), .held_o(unused_held)
  );

  assign written = write_i.data[$bits(process_entry_t)-1:0];
  always_comb begin
    write_row.sets_label = written.sets_label;
    write_row.label      = written.label;
    for (int w = 0; w < Words; w++) write_row.updates[w] = written.updates[w][ChoiceBits-1:0];
  end
  sl_ram_lut #(.Width($bits(row_t)), .Depth(2 * Entries)) u_rows (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_ENTRY && 32'(write_i.address[9:0]) < Entries),
    .write_address_i({write_i.address[10], write_i.address[EntryBits-1:0]}), .write_data_i(write_row),
    .read_address_i({version_q[4], entry}), .read_data_o(row)
  );

  always_comb begin
    for (int w = 0; w < Words; w++) state_d[w] = choices[w][row.updates[w]];
    if (row.sets_label) state_d[0][31:PROCESS_LABEL_LOW] = row.label;
  end
  always_ff @(posedge clk_i) begin
    if (valid[4]) begin
      state_o <= state_d;
      entry_o <= entry;
      before_o <= old_2_q;
    end
  end

  logic unused;
  assign unused = &{1'b0, write_i, written, unused_held};
endmodule
