// SPDX-License-Identifier: Apache-2.0
// Executes an instruction of the process block (`process_kind_t`) on operands that sl_process_pkg has prepared. Combinational.
//
// The result is `on_carry_o` or `on_none_o`, by the carry of the adder. The choice is a cycle later, so that no gate is behind the
// carry, which would have to reach all bits of the word.
module sl_process_alu
  import sluice_pkg::*;
  import sl_process_pkg::*;
(
  input  process_kind_t kind_i,
  input  logic [3:0]    lanes_i,
  input  logic [2:0]    bits_i,
  input  logic [31:0]   x_i,     // prepared_a
  input  logic [31:0]   y_i,     // prepared_b
  input  logic [31:0]   old_i,   // bytes outside of the lanes
  output logic          carry_o,    // x + y + subtract has another bit: a is not lower than b
  output logic [31:0]   on_carry_o,
  output logic [31:0]   on_none_o
);
  logic [31:0] a, b, signs, ones, by_bits, if_less, if_not, sum;
  logic        subtract, unused, sum_on_carry, sum_on_none;

  assign subtract = subtracts(kind_i);
  assign signs    = signs_of(kind_i, lanes_i);
  assign a        = x_i ^ signs;
  assign b        = ~y_i ^ signs;  // where `subtract`
  assign {carry_o, sum, unused} = {1'b0, x_i, 1'b1} + {1'b0, y_i, subtract};

  always_comb begin
    ones = '0;
    for (int n = 0; n < 4; n++) ones[8*n] = lanes_i[n] && (n == 0 || !lanes_i[n-1]);
    unique case (kind_i)
      KIND_SET:     by_bits = y_i;
      KIND_OR:      by_bits = x_i | y_i;
      KIND_XOR:     by_bits = x_i ^ y_i;
      KIND_ROTATE:  by_bits = 32'({x_i, x_i} >> bits_i) & y_i;
      default:      by_bits = x_i & y_i;
    endcase
    unique case (kind_i)
      KIND_MINIMUM, KIND_MINIMUM_SIGNED: {if_less, if_not} = {a, b};
      KIND_MAXIMUM, KIND_MAXIMUM_SIGNED: {if_less, if_not} = {b, a};
      KIND_LESS, KIND_LESS_SIGNED:       {if_less, if_not} = {ones, 32'd0};
      KIND_ADD_CLAMPED:                  {if_less, if_not} = '1;
      KIND_SUBTRACT_CLAMPED:             {if_less, if_not} = '0;
      default:                           {if_less, if_not} = {by_bits, by_bits};
    endcase
    sum_on_carry = kind_i inside {KIND_ADD, KIND_SUBTRACT, KIND_SUBTRACT_CLAMPED};
    sum_on_none  = kind_i inside {KIND_ADD, KIND_SUBTRACT, KIND_ADD_CLAMPED};
    for (int n = 0; n < 4; n++) begin
      on_carry_o[8*n +: 8] = !lanes_i[n] ? old_i[8*n +: 8] : sum_on_carry ? sum[8*n +: 8] : if_not[8*n +: 8];
      on_none_o[8*n +: 8]  = !lanes_i[n] ? old_i[8*n +: 8] : sum_on_none ? sum[8*n +: 8] : if_less[8*n +: 8];
    end
  end
endmodule
