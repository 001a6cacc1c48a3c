// SPDX-License-Identifier: Apache-2.0
// Executes an instruction of the process block (`process_kind_t`), decoded by `alu_of`, on operands that sl_process_pkg has prepared.
// Combinational.
//
// The result is `on_carry_o` or `on_none_o`, by the carry of the adder. The choice is a cycle later, so that no gate is behind the
// carry, which would have to reach all bits of the word.
module sl_process_alu
  import sluice_pkg::*;
  import sl_process_pkg::*;
(
  input  process_alu_t control_i,
  input  logic [31:0]  x_i,        // prepared_a
  input  logic [31:0]  y_i,        // prepared_b
  input  logic [31:0]  old_i,      // bytes outside of the lanes
  output logic         carry_o,    // x + y + subtract has another bit: a is not lower than b
  output logic [31:0]  on_carry_o,
  output logic [31:0]  on_none_o
);
  logic [31:0] a, b, sum;
  logic        unused;

  function automatic logic bit_of(process_bits_e operation, logic a_bit, logic b_bit);
    unique case (operation)
      BITS_B:     return b_bit;
      BITS_AND:   return a_bit && b_bit;
      BITS_OR:    return a_bit || b_bit;
      BITS_XOR:   return a_bit != b_bit;
      BITS_A:     return a_bit;
      BITS_NOT_B: return !b_bit;
      BITS_ONES:  return 1'b1;
      default:    return 1'b0;
    endcase
  endfunction

  assign {carry_o, sum, unused} = {1'b0, x_i, 1'b1} + {1'b0, y_i, control_i.subtract};

  always_comb begin
    a = 32'({x_i, x_i} >> control_i.turn);
    b = y_i;
    for (int n = 0; n < 4; n++) begin
      a[8*n+7] ^= control_i.signs[n];
      b[8*n+7] ^= control_i.signs[n];
    end
    for (int n = 0; n < 32; n++) begin
      on_carry_o[n] = !control_i.lanes[n/8] ? old_i[n] : control_i.sum_on_carry ? sum[n] : bit_of(control_i.on_carry, a[n], b[n]);
      on_none_o[n]  = !control_i.lanes[n/8] ? old_i[n] : control_i.sum_on_none ? sum[n] : bit_of(control_i.on_none, a[n], b[n]);
      if (n % 8 == 0 && control_i.ones[n/8]) on_none_o[n] = 1'b1;
    end
  end
endmodule
