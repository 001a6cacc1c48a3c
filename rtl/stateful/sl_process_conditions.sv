// SPDX-License-Identifier: Apache-2.0
// The conditions of the process block on a packet and the state of its flow. A packet a cycle, never stalls.
//
// cycle 0: conditions of the version; 1: operands that do not depend on the state; 2: operands; 3: comparison.
module sl_process_conditions
  import sluice_pkg::*;
#(
  parameter int unsigned Inputs     = PROCESS_INPUTS,      // 1 to 8
  parameter int unsigned Conditions = PROCESS_CONDITIONS,  // 4 or 8
  parameter int unsigned Words      = PROCESS_WORDS        // of the flow state, 1 to 4
) (
  input  logic                    clk_i,
  input  logic                    write_valid_i,
  input  process_write_t          write_i,
  input  logic [3:0]              valid_i,    // bit n: a packet is in cycle n
  input  logic                    version_i,  // in cycle 0
  input  logic [Inputs-1:0][31:0] inputs_i,   // in cycle 1
  input  logic [Words-1:0][31:0]  state_i,    // in cycle 2
  output logic [Conditions-1:0]   holds_o     // in cycle 4
);
  for (genvar n = 0; n < Conditions; n++) begin : gen_condition
    process_condition_t  read, one_q;
    process_comparison_t two_q, three_q;
    logic                is_signed, holds;
    logic [31:0]         x, y;

    sl_ram_lut #(.Width($bits(process_condition_t)), .Depth(2)) u_conditions (
      .clk_i, .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_CONDITION && write_i.address[9:0] == n),
      .write_address_i(write_i.address[10]), .write_data_i(write_i.data[$bits(process_condition_t)-1:0]),
      .read_address_i(version_i), .read_data_o(read)
    );
    assign is_signed = one_q.kind inside {COMPARISON_LESS_SIGNED, COMPARISON_LESS_EQUAL_SIGNED};
    always_ff @(posedge clk_i) begin
      if (valid_i[0]) one_q <= read;
      if (valid_i[1]) two_q <= one_q.kind;
      if (valid_i[2]) three_q <= two_q;
      if (valid_i[3]) holds_o[n] <= holds;
    end
    sl_process_fetch #(.Inputs(Inputs), .Words(Words)) u_a (
      .clk_i, .valid_i(valid_i[2:1]), .operand_i(one_q.a), .immediate_i(one_q.immediate), .inputs_i, .set_i('0),
      .invert_i({is_signed, 31'd0}), .state_i, .word_o(x)
    );
    sl_process_fetch #(.Inputs(Inputs), .Words(Words)) u_b (
      .clk_i, .valid_i(valid_i[2:1]), .operand_i(one_q.b), .immediate_i(one_q.immediate), .inputs_i, .set_i('0),
      .invert_i({!is_signed, {31{1'b1}}}), .state_i, .word_o(y)
    );
    sl_process_condition u_compare (.kind_i(three_q), .x_i(x), .y_i(y), .holds_o(holds));
  end

  logic unused;
  assign unused = &{1'b0, write_i};
endmodule
