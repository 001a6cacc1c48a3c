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
  deparse_registers_t registers_q;
  logic [11:0]        address;
  logic               write, is_index, failed;
  template_info_t     info;

  assign address  = reg_request_i.address[11:0];
  assign write    = reg_request_i.write[0];
  assign is_index = address == DEPARSE_REGISTERS_TEMPLATE_INDEX;
  assign info     = template_info_t'(TEMPLATE_INFO_BITS'(registers_q.template_info));
  assign failed   = !deparse_registers_allows(address, write) ||
                    (is_index && (info.size[0] || info.size > 8'(TEMPLATE_BYTES) || reg_request_i.data >= TEMPLATES));

  assign reg_request_ready_o = 1'b1;
  assign write_data_o        = '{info: info, bytes: registers_q.template_bytes};

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    write_valid_o        <= reg_request_valid_i && is_index && !failed && !rst_i;
    if (reg_request_valid_i) begin
      reg_response_o.error <= failed;
      reg_response_o.data  <= write || failed ? '0 :
                              deparse_registers_read(deparse_registers_values('0, registers_q, address), address);
      write_index_o        <= reg_request_i.data[7:0];
      if (write && !failed) registers_q <= deparse_registers_write(registers_q, address, reg_request_i.data);
    end
    if (rst_i) registers_q <= DEPARSE_REGISTERS_RESET;
  end

  logic unused;
  assign unused = &{1'b0, registers_q};
endmodule
