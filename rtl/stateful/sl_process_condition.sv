// SPDX-License-Identifier: Apache-2.0
// A condition of the process block (`process_comparison_t`). Combinational; the inputs should be registers.
module sl_process_condition
  import sluice_pkg::*;
(
  input  process_comparison_t kind_i,
  input  logic [31:0]         x_i,     // a; for a signed comparison its sign is inverted
  input  logic [31:0]         y_i,     // the complement of b, likewise
  output logic                holds_o
);
  logic        carry, less, none;  // none: of the bits that differ (COMPARISON_ANY: that both have)
  logic [31:0] difference;
  logic        unused;

  assign {carry, difference, unused} = {1'b0, x_i, 1'b1} + {1'b0, y_i, 1'b1};
  assign none = kind_i == COMPARISON_ANY ? (x_i & ~y_i) == '0 : x_i == ~y_i;
  assign less = !carry;

  always_comb unique case (kind_i)
    COMPARISON_EQUAL:                                     holds_o = none;
    COMPARISON_NOT_EQUAL, COMPARISON_ANY:                 holds_o = !none;
    COMPARISON_LESS, COMPARISON_LESS_SIGNED:              holds_o = less;
    COMPARISON_LESS_EQUAL, COMPARISON_LESS_EQUAL_SIGNED:  holds_o = less || none;
    COMPARISON_BEFORE:                                    holds_o = difference[31];
  endcase

  logic unused_difference;
  assign unused_difference = &{1'b0, difference};
endmodule
