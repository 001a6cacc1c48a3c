// SPDX-License-Identifier: Apache-2.0
// Brings an operand to an instruction or a condition, which reads it as sl_process_pkg prepares it. What does not depend on the state of
// the flow is chosen in the cycle before the state arrives. Never stalls.
module sl_process_fetch
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Inputs = PROCESS_INPUTS,
  parameter int unsigned Words  = PROCESS_WORDS
) (
  input  logic                    clk_i,
  input  logic [1:0]              valid_i,      // bit n: the packet is in cycle n
  input  process_operand_t        operand_i,    // in cycle 0
  input  logic [31:0]             immediate_i,
  input  logic [Inputs-1:0][31:0] inputs_i,
  input  logic [31:0]             set_i,        // these bits of the operand are set,
  input  logic [31:0]             invert_i,     // then these are inverted
  input  logic [Words-1:0][31:0]  state_i,      // in cycle 1
  output logic [31:0]             word_o        // two cycles after the operand, stable until the next
);
  localparam int unsigned NumberBits = $clog2(PROCESS_WORDS);

  logic [NumberBits-1:0]          number_q;
  logic [1:0]                     rotate_q;
  logic [31:0]                    mask_q;  // bits that are of the state
  logic [31:0]                    early_q, early_d, state_word;
  logic [PROCESS_WORDS-1:0][31:0] state;
  logic [PROCESS_INPUTS-1:0][31:0] inputs;
  logic                           from_state;

  assign from_state = operand_i.source >= 5'(PROCESS_OPERAND_BEFORE) && operand_i.source < 5'(PROCESS_OPERAND_OWN);
  assign inputs     = $bits(inputs)'(inputs_i);
  assign state      = $bits(state)'(state_i);
  assign state_word = rotated(state[number_q], rotate_q);

  always_comb begin
    early_d = immediate_i;
    if (operand_i.source < 5'(PROCESS_OPERAND_BEFORE)) early_d = inputs[operand_i.source[2:0]];
    if (from_state) early_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i[0]) begin
      number_q <= operand_i.source[NumberBits-1:0];
      rotate_q <= operand_i.rotate;
      mask_q   <= from_state ? mask_of(operand_i.lanes) & ~set_i : '0;
      early_q  <= (early_d | set_i) ^ invert_i;
    end
    if (valid_i[1]) word_o <= early_q ^ (state_word & mask_q);
  end
endmodule
