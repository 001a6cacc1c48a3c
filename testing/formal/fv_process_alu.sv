// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_process_alu and sl_process_condition, for all operands: an instruction whose operands are fields of 1 to 4 bytes
// at the place that it writes, with 0 around them, writes what its name says of these fields, as numbers of so many bits, and leaves the
// other bytes of the word; a condition compares as its name says. (Bytes that are no single field: the tests of sl_process.)
module fv_process_alu
  import sluice_pkg::*;
  import sl_process_pkg::*;
(
  input logic                clk_i,
  input process_kind_t       kind_i,
  input process_comparison_t comparison_i,
  input logic [1:0]          byte_i,
  input logic [1:0]          size_i,  // bytes of the field - 1
  input logic [2:0]          bits_i,
  input logic [31:0]         a_i,
  input logic [31:0]         b_i,
  input logic [31:0]         old_i
);
  logic [3:0]         lanes;
  logic [4:0]         shift;
  logic [31:0]        ones, sign, a, b, word, on_carry, on_none, result, at_a, at_b, flip;
  logic signed [31:0] signed_a, signed_b;
  logic [32:0]        sum;
  logic               carry, holds, is_signed, expected;

  assign shift    = {byte_i, 3'd0};
  assign ones     = 32'hffffffff >> (6'd24 - {1'b0, size_i, 3'd0});
  assign sign     = ones ^ (ones >> 1);
  assign lanes    = 4'((5'd2 << size_i) - 5'd1) << byte_i;
  assign a        = a_i & ones;
  assign b        = b_i & ones;
  assign signed_a = (a ^ sign) - sign;
  assign signed_b = (b ^ sign) - sign;
  assign sum      = 33'(a) + 33'(b);
  assign at_a     = a << shift;
  assign at_b     = b << shift;

  sl_process_alu u_alu (
    .control_i(alu_of(kind_i, lanes, bits_i)), .x_i(prepared_a(kind_i, lanes, at_a)), .y_i(prepared_b(kind_i, lanes, at_b)),
    .old_i, .carry_o(carry), .on_carry_o(on_carry), .on_none_o(on_none)
  );
  assign word = carry ? on_carry : on_none;

  assign is_signed = comparison_i inside {COMPARISON_LESS_SIGNED, COMPARISON_LESS_EQUAL_SIGNED};
  assign flip      = {is_signed, 31'd0};
  sl_process_condition u_condition (.kind_i(comparison_i), .x_i(a_i ^ flip), .y_i(~(b_i ^ flip)), .holds_o(holds));

  always_comb begin
    unique case (kind_i)
      KIND_SET:              result = b;
      KIND_ADD:              result = a + b;
      KIND_SUBTRACT:         result = a - b;
      KIND_ADD_CLAMPED:      result = sum > 33'(ones) ? ones : sum[31:0];
      KIND_SUBTRACT_CLAMPED: result = a < b ? '0 : a - b;
      KIND_AND:              result = a & b;
      KIND_OR:               result = a | b;
      KIND_XOR:              result = a ^ b;
      KIND_AND_NOT:          result = a & ~b;
      KIND_ROTATE:           result = (((at_a >> bits_i) | (at_a << (6'd32 - 6'(bits_i)))) & at_b) >> shift;
      KIND_MINIMUM:          result = a < b ? a : b;
      KIND_MAXIMUM:          result = a > b ? a : b;
      KIND_MINIMUM_SIGNED:   result = signed_a < signed_b ? a : b;
      KIND_MAXIMUM_SIGNED:   result = signed_a > signed_b ? a : b;
      KIND_LESS:             result = 32'(a < b);
      KIND_LESS_SIGNED:      result = 32'(signed_a < signed_b);
    endcase
    unique case (comparison_i)
      COMPARISON_EQUAL:             expected = a_i == b_i;
      COMPARISON_NOT_EQUAL:         expected = a_i != b_i;
      COMPARISON_LESS:              expected = a_i < b_i;
      COMPARISON_LESS_EQUAL:        expected = a_i <= b_i;
      COMPARISON_LESS_SIGNED:       expected = signed'(a_i) < signed'(b_i);
      COMPARISON_LESS_EQUAL_SIGNED: expected = signed'(a_i) <= signed'(b_i);
      COMPARISON_BEFORE:            expected = signed'(a_i - b_i) < 0;
      COMPARISON_ANY:               expected = (a_i & b_i) != '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    m_the_field_is_in_the_word : assume (3'(byte_i) + 3'(size_i) < 3'd4);
    a_writes_the_field : assert (word == ((old_i & ~(ones << shift)) | ((result & ones) << shift)));
    a_compares : assert (holds == expected);
    c_clamps_inside_a_word : cover (kind_i == KIND_ADD_CLAMPED && lanes == 4'b0110 && sum > 33'(ones));
    c_signs_differ : cover (kind_i == KIND_MINIMUM_SIGNED && lanes == 4'b0100 && signed_a < signed_b && a > b && a != old_i);
  end
endmodule
