// SPDX-License-Identifier: Apache-2.0
// A word of the states of all flows, with an update of it in each cycle, whatever the flows. The update of a packet is chosen, and
// its operand that is not the word itself is there, before the word is: between the word of a packet and that of the next are an
// adder and the choice by its carry. Timing and ports of sl_composed_state.
module sl_composed_word
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned AddressBits = 12,
  parameter int unsigned Number      = 0,                  // of the word
  parameter int unsigned Width       = 32,                 // its low bits that are words of the state: word 0 has no label here
  parameter int unsigned Inputs      = PROCESS_INPUTS,     // of sl_process, as the others
  parameter int unsigned Words       = PROCESS_WORDS,
  parameter int unsigned Updates     = PROCESS_UPDATES,
  localparam int unsigned ChoiceBits = $clog2(Updates + 1)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic                    write_valid_i,  // to the program
  input  process_write_t          write_i,
  output logic                    ready_o,
  input  logic                    version_i,      // constant while packets are inside
  input  logic [3:0]              lanes_i,        // bytes that updates change; likewise
  input  logic                    valid_i,        // cycle 0
  input  logic [AddressBits-1:0]  address_i,
  input  logic                    keeps_i,
  input  logic                    fresh_i,
  input  logic [ChoiceBits-1:0]   choice_i,       // of the update, as `process_entry_t`
  input  logic [Inputs-1:0][31:0] inputs_i,       // cycle 1
  input  logic [Words-1:0][31:0]  state_i,        // cycle 2: as the packet found it, where the update reads it
  output logic [Width-1:0]        before_o,       // cycle 4
  input  logic                    read_valid_i,
  input  logic [AddressBits-1:0]  read_address_i,
  output logic [Width-1:0]        word_o,
  input  logic                    state_write_valid_i,
  input  logic [AddressBits-1:0]  state_write_address_i,
  input  logic [Width-1:0]        state_write_data_i
);
  logic [3:0]           valid;
  process_instruction_t read, one_q;
  process_operand_t     operand;
  process_alu_t         two_q, alu_q;
  logic [31:0]          mask, signs, operand_word, part, on_carry, on_none, on_carry_q, on_none_q;
  logic [Width-1:0]     own_part;
  logic                 carry, carry_q, write_update;

  assign write_update = write_valid_i && write_i.memory == PROCESS_MEMORY_UPDATE && write_i.address[9:4] == 6'(Number)
                        && 32'(write_i.address[3:0]) < Updates;
  sl_ram_lut #(.Width($bits(process_instruction_t)), .Depth(2 ** (1 + ChoiceBits))) u_updates (
    .clk_i, .write_valid_i(write_update), .write_address_i({write_i.address[10], ChoiceBits'(write_i.address[3:0] + 4'd1)}),
    .write_data_i(write_i.data[$bits(process_instruction_t)-1:0]), .read_address_i({version_i, choice_i}), .read_data_o(read)
  );

  assign mask    = mask_of(lanes_i);
  assign operand = one_q.b.source == 5'(PROCESS_OPERAND_BEFORE + Number) ? one_q.a : one_q.b;
  always_ff @(posedge clk_i) begin
    if (valid[0]) begin
      one_q <= read;
      if (choice_i == '0) one_q <= '{kind: KIND_OR, b: '{source: '1, default: '0}, default: '0};  // the word | 0
    end
    if (valid[1]) two_q <= alu_of(one_q.kind, lanes_i, '0);
    if (valid[2]) alu_q <= two_q;
    if (valid[3]) {carry_q, on_carry_q, on_none_q} <= {carry, on_carry, on_none};
  end

  // A carry out of the lanes reaches the end of the word through the ones of the operand, as the word is 0 there.
  sl_process_fetch #(.Inputs(Inputs), .Words(Words)) u_operand (
    .clk_i, .valid_i(valid[2:1]), .operand_i(operand), .immediate_i(one_q.immediate), .inputs_i,
    .set_i(fill_of(one_q.kind, lanes_i)), .invert_i(signs_of(one_q.kind, lanes_i) ^ {32{subtracts(one_q.kind)}}), .state_i,
    .word_o(operand_word)
  );
  sl_process_alu u_alu (
    .control_i(alu_q), .x_i(part ^ signs), .y_i(operand_word), .old_i('0), .carry_o(carry), .on_carry_o(on_carry), .on_none_o(on_none)
  );

  assign part = 32'(own_part);
  always_comb begin
    signs = '0;
    for (int n = 0; n < 4; n++) signs[8*n+7] = alu_q.signs[n];
  end
  sl_composed_state #(.AddressBits(AddressBits), .Width(Width)) u_state (
    .clk_i, .rst_i, .ready_o, .lanes_i(mask[Width-1:0]), .valid_i, .address_i, .keeps_i, .fresh_i, .valid_o(valid), .part_o(own_part),
    .new_i(Width'(carry_q ? on_carry_q : on_none_q)), .before_o, .read_valid_i, .read_address_i, .word_o,
    .write_valid_i(state_write_valid_i), .write_address_i(state_write_address_i), .write_data_i(state_write_data_i)
  );

  logic unused;
  assign unused = &{1'b0, write_i, one_q, mask, on_carry_q, on_none_q};
endmodule
