// SPDX-License-Identifier: Apache-2.0
// Admission: sets `eligible` and `required` of each header record from the lane's MAC and the parser's results (README.md), and
// holds the device's own addresses, which tell the parser which tunnels to open. One record per cycle, latency 1. No record can
// stall it; an invalid register access answers an error.
module el_admit
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_i,      // synchronous, active high
  input  phv_record_t        in_data_i,
  input  logic               in_valid_i,
  output logic               in_ready_o, // registered
  output phv_record_t        out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output own_addresses_t     own_o,      // registered
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t  reg_request_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o  // the cycle after the request
);
  localparam int unsigned Lanes    = ADMIT_REGISTERS_LANE_MAC_COUNT / 2;
  localparam int unsigned LaneBits = $clog2(Lanes);

  admit_registers_t registers_q;
  logic [3:0]       required;
  logic             any_mac, refuse_tags, refuse_fragments, refuse_options;

  assign required = registers_q.control[3:0];
  assign {any_mac, refuse_tags, refuse_fragments, refuse_options} = registers_q.control[11:8];

  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) own_o.lane_mac[i] = {registers_q.lane_mac[2*i+1][15:0], registers_q.lane_mac[2*i]};
    own_o.ipv6 = registers_q.tunnel_ipv6;
    own_o.ipv4 = registers_q.tunnel_ipv4;
    {own_o.open_ipv6, own_o.open_ipv4} = registers_q.tunnel_control;
  end

  phv_record_t admitted;
  logic        is_ip, mac_matches, refused;

  assign is_ip       = in_data_i.info.l3_kind == L3_IPV4 || in_data_i.info.l3_kind == L3_IPV6;
  assign mac_matches = any_mac || (in_data_i.ingress_port < 8'(Lanes) && in_data_i.phv.eth_dst != '0 &&
                                     in_data_i.phv.eth_dst == own_o.lane_mac[in_data_i.ingress_port[LaneBits-1:0]]);
  assign refused     = (refuse_options && in_data_i.info.ip_options) ||
                       (refuse_fragments && in_data_i.info.is_fragment) ||
                       (refuse_tags && in_data_i.info.tags != '0);

  always_comb begin
    admitted          = in_data_i;
    admitted.required = required;
    admitted.eligible = in_data_i.fault == FAULT_NONE && is_ip && mac_matches && !refused;
  end

  sl_skid #(.Width(PHV_RECORD_BITS)) u_skid (
    .clk_i, .rst_i,
    .in_data_i(admitted), .in_valid_i, .in_ready_o,
    .out_data_o, .out_valid_o, .out_ready_i
  );

  logic [11:0] address;
  logic        write, failed;

  assign address = reg_request_i.address[11:0];
  assign write   = reg_request_i.write[0];
  assign failed  = !admit_registers_allows(address, write);

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    admit_registers_values_t values;
    values = admit_registers_values('0, registers_q, address);
    values.control[7:4] = '0;
    if (address[2]) values.lane_mac[31:16] = '0;
    return admit_registers_read(values, address);
  endfunction

  assign reg_request_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    if (reg_request_valid_i) begin
      reg_response_o.error <= failed;
      reg_response_o.data  <= write || failed ? '0 : read();
      if (write && !failed) registers_q <= admit_registers_write(registers_q, address, reg_request_i.data);
    end
    if (rst_i) registers_q <= ADMIT_REGISTERS_RESET;
  end

  logic unused;
  assign unused = &{1'b0, registers_q};

  sl_channel_check #(.Width(PHV_RECORD_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
