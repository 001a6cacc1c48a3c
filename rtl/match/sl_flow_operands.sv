// SPDX-License-Identifier: Apache-2.0
// Operands of instructions whose keys are too wide for an instruction (`flow_operand_t`): a block RAM that software writes word by
// word, and registers that hold the operand of the current operation. An operation is delayed until its operand is read, 34 cycles;
// the words of its mask appear one by one meanwhile. An operand that is written while its own operation runs may be read half old
// and half new; no other write can do harm.
module sl_flow_operands
  import sluice_pkg::*;
#(
  parameter int unsigned KeyBits = FLOW_KEY_BITS,  // up to 512
  localparam int unsigned OperandBits = $clog2(FLOW_OPERANDS),
  localparam int unsigned Words       = FLOW_OPERAND_BITS / 32,
  localparam int unsigned WordBits    = $clog2(Words)
) (
  input  logic                            clk_i,
  input  logic                            rst_i,            // synchronous, active high
  input  logic                            write_valid_i,    // from software
  input  logic [OperandBits+WordBits-1:0] write_address_i,  // {operand, word}
  input  logic [31:0]                     write_data_i,
  input  logic [OperandBits-1:0]          operand_i,        // of the operation; stable while op_valid_i
  input  logic [1:0]                      op_valid_i,       // index: table
  output logic [1:0]                      op_valid_o,       // op_valid_i, delayed until the operand is read
  input  logic [1:0]                      op_ready_i,       // of the tables
  output logic [1:0]                      op_ready_o,       // op_ready_i, delayed until the operand is read
  output logic [KeyBits-1:0]              value_o,          // stable from op_valid_o until the next operation
  output logic [KeyBits-1:0]              mask_o,
  output logic                            mask_valid_o,     // a word of the mask, before op_valid_o
  output logic [WordBits-2:0]             mask_index_o,
  output logic [31:0]                     mask_word_o
);
  logic                         loading, loaded_q, read_q;
  logic [WordBits:0]            count_q;  // words requested
  logic [WordBits-1:0]          index_q;  // index of the word that is read
  logic [31:0]                  word;
  logic [FLOW_OPERAND_BITS-1:0] operand_q;

  assign loading = |op_valid_i && !count_q[WordBits];

  sl_ram_block #(.Width(32), .Depth(FLOW_OPERANDS * Words)) u_ram (
    .clk_i, .write_valid_i, .write_address_i, .write_data_i,
    .read_valid_i(loading), .read_address_i({operand_i, count_q[WordBits-1:0]}), .read_data_o(word)
  );

  always_ff @(posedge clk_i) begin
    read_q   <= loading;
    loaded_q <= count_q[WordBits] && !read_q;
    if (loading) count_q <= count_q + 1'b1;
    index_q <= count_q[WordBits-1:0];
    if (read_q) operand_q <= {word, operand_q[FLOW_OPERAND_BITS-1:32]};
    if (rst_i || |(op_valid_o & op_ready_i)) begin
      count_q  <= '0;
      loaded_q <= 1'b0;
      read_q   <= 1'b0;
    end
  end

  assign op_valid_o   = op_valid_i & {2{loaded_q}};
  assign op_ready_o   = op_ready_i & {2{loaded_q}};
  assign value_o      = operand_q[0+:KeyBits];
  assign mask_o       = operand_q[FLOW_OPERAND_BITS/2+:KeyBits];
  assign mask_valid_o = read_q && index_q[WordBits-1];
  assign mask_index_o = index_q[WordBits-2:0];
  assign mask_word_o  = word;
endmodule
