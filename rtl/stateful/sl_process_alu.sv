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
  logic [31:0] a, b, sum, on_carry, on_none;
  logic        unused;

  // Of `a` and `b`; whole words, which a simulator computes at once.
  function automatic logic [31:0] bits_of(process_bits_e operation);
    unique case (operation)
      BITS_B:     return b;
      BITS_AND:   return a & b;
      BITS_OR:    return a | b;
      BITS_XOR:   return a ^ b;
      BITS_A:     return a;
      BITS_NOT_B: return ~b;
      BITS_ONES:  return '1;
      default:    return '0;
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
    on_carry = control_i.sum_on_carry ? sum : bits_of(control_i.on_carry);
    on_none  = control_i.sum_on_none ? sum : bits_of(control_i.on_none);
    for (int n = 0; n < 4; n++) begin
      on_carry_o[8*n+:8] = control_i.lanes[n] ? on_carry[8*n+:8] : old_i[8*n+:8];
      on_none_o[8*n+:8]  = control_i.lanes[n] ? on_none[8*n+:8] : old_i[8*n+:8];
      on_none_o[8*n] |= control_i.ones[n];
    end
  end
endmodule
