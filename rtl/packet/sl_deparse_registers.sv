// SPDX-License-Identifier: Apache-2.0
// Register window of the deparser (`deparse_registers`): a template is written word by word and then stored whole, so that packets
// see the old or the new one. An invalid access, or a template with an impossible size, answers an error.
module sl_deparse_registers
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_i,          // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t  reg_request_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o,  // the cycle after the request
  output logic               write_valid_o,         // pulse: store this template
  output logic [7:0]         write_index_o,
  output template_t          write_data_o
);
  localparam int unsigned Words    = DEPARSE_REGISTERS_TEMPLATE_BYTES_COUNT;
  localparam int unsigned WordBits = $clog2(Words);

  logic [63:0]            info_q;
  logic [Words-1:0][31:0] bytes_q;
  logic [11:0]            address;
  logic [WordBits-1:0]    word;
  logic                   is_bytes, is_info, is_index, size_fits;
  template_info_t         info;

  assign address   = reg_request_i.address[11:0];
  assign word      = address[2 +: WordBits];
  assign is_bytes  = address >= DEPARSE_REGISTERS_TEMPLATE_BYTES && address < DEPARSE_REGISTERS_TEMPLATE_BYTES + 12'(4 * Words);
  assign is_info   = address == DEPARSE_REGISTERS_TEMPLATE_INFO || address == DEPARSE_REGISTERS_TEMPLATE_INFO + 12'd4;
  assign is_index  = address == DEPARSE_REGISTERS_TEMPLATE_INDEX && reg_request_i.write;
  assign info      = template_info_t'(info_q[TEMPLATE_INFO_BITS-1:0]);
  assign size_fits = !info.size[0] && info.size <= 8'(TEMPLATE_BYTES) && reg_request_i.data < TEMPLATES;

  assign reg_request_ready_o = 1'b1;
  assign write_data_o        = '{info: info, bytes: bytes_q};

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    write_valid_o        <= reg_request_valid_i && is_index && size_fits && !rst_i;
    if (reg_request_valid_i) begin
      reg_response_o <= '0;
      if (is_bytes) begin
        reg_response_o.data <= bytes_q[word];
        if (reg_request_i.write) bytes_q[word] <= reg_request_i.data;
      end else if (is_info) begin
        reg_response_o.data <= info_q[32*word[0] +: 32];
        if (reg_request_i.write) info_q[32*word[0] +: 32] <= reg_request_i.data;
      end else if (is_index) begin
        write_index_o        <= reg_request_i.data[7:0];
        reg_response_o.error <= !size_fits;
      end else if (address == DEPARSE_REGISTERS_KIND && !reg_request_i.write) begin
        reg_response_o.data <= 32'(ELEMENT_DEPARSE);
      end else if (address == DEPARSE_REGISTERS_TEMPLATES && !reg_request_i.write) begin
        reg_response_o.data <= TEMPLATES;
      end else begin
        reg_response_o.error <= 1'b1;
      end
    end
    if (rst_i) begin
      info_q  <= '0;
      bytes_q <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, info_q[63:TEMPLATE_INFO_BITS]};
endmodule
