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

  logic [3:0]              required_q;
  logic                    refuse_options_q, refuse_fragments_q, refuse_tags_q, any_mac_q;
  own_addresses_t          own_q;

  phv_record_t admitted;
  logic        is_ip, mac_matches, refused;

  assign is_ip       = in_data_i.info.l3_kind == L3_IPV4 || in_data_i.info.l3_kind == L3_IPV6;
  assign mac_matches = any_mac_q || (in_data_i.ingress_port < 8'(Lanes) && in_data_i.phv.eth_dst != '0 &&
                                     in_data_i.phv.eth_dst == own_q.lane_mac[in_data_i.ingress_port[LaneBits-1:0]]);
  assign refused     = (refuse_options_q && in_data_i.info.ip_options) ||
                       (refuse_fragments_q && in_data_i.info.is_fragment) ||
                       (refuse_tags_q && in_data_i.info.tags != '0);

  always_comb begin
    admitted          = in_data_i;
    admitted.required = required_q;
    admitted.eligible = in_data_i.fault == FAULT_NONE && is_ip && mac_matches && !refused;
  end

  sl_skid #(.Width(PHV_RECORD_BITS)) u_skid (
    .clk_i, .rst_i,
    .in_data_i(admitted), .in_valid_i, .in_ready_o,
    .out_data_o, .out_valid_o, .out_ready_i
  );

  logic [11:0]                       address;
  logic [$clog2(2 * Lanes)-1:0]      mac_word;
  logic [1:0]                        ipv6_word;
  logic                              is_mac, is_ipv6;

  assign address  = reg_request_i.address[11:0];
  assign mac_word = address[2 +: $clog2(2 * Lanes)];
  assign is_mac   = address >= ADMIT_REGISTERS_LANE_MAC && address < ADMIT_REGISTERS_LANE_MAC + 12'(8 * Lanes) &&
                    address[1:0] == '0;

  assign ipv6_word = address[3:2];
  assign is_ipv6   = address >= ADMIT_REGISTERS_TUNNEL_IPV6 && address < ADMIT_REGISTERS_TUNNEL_IPV6 + 12'd16 &&
                     address[1:0] == '0;
  assign own_o     = own_q;

  assign reg_request_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    if (reg_request_valid_i) begin
      reg_response_o <= '0;
      if (is_mac) begin
        if (mac_word[0]) reg_response_o.data <= 32'(own_q.lane_mac[mac_word[LaneBits:1]][47:32]);
        else             reg_response_o.data <= own_q.lane_mac[mac_word[LaneBits:1]][31:0];
        if (reg_request_i.write && mac_word[0])  own_q.lane_mac[mac_word[LaneBits:1]][47:32] <= reg_request_i.data[15:0];
        if (reg_request_i.write && !mac_word[0]) own_q.lane_mac[mac_word[LaneBits:1]][31:0]  <= reg_request_i.data;
      end else if (is_ipv6) begin
        reg_response_o.data <= own_q.ipv6[32 * ipv6_word +: 32];
        if (reg_request_i.write) own_q.ipv6[32 * ipv6_word +: 32] <= reg_request_i.data;
      end else if (address == ADMIT_REGISTERS_TUNNEL_IPV4) begin
        reg_response_o.data <= own_q.ipv4;
        if (reg_request_i.write) own_q.ipv4 <= reg_request_i.data;
      end else if (address == ADMIT_REGISTERS_TUNNEL_CONTROL) begin
        reg_response_o.data <= 32'({own_q.open_ipv6, own_q.open_ipv4});
        if (reg_request_i.write) {own_q.open_ipv6, own_q.open_ipv4} <= reg_request_i.data[1:0];
      end else if (address == ADMIT_REGISTERS_CONTROL) begin
        reg_response_o.data <= {20'd0, any_mac_q, refuse_tags_q, refuse_fragments_q, refuse_options_q, 4'd0, required_q};
        if (reg_request_i.write) begin
          required_q <= reg_request_i.data[3:0];
          {any_mac_q, refuse_tags_q, refuse_fragments_q, refuse_options_q} <= reg_request_i.data[11:8];
        end
      end else if (address == ADMIT_REGISTERS_KIND && !reg_request_i.write) begin
        reg_response_o.data <= 32'(ELEMENT_ADMIT);
      end else begin
        reg_response_o.error <= 1'b1;
      end
    end
    if (rst_i) begin
      required_q <= '0;
      {any_mac_q, refuse_tags_q, refuse_fragments_q, refuse_options_q} <= '0;
      own_q      <= '0;
    end
  end

  sl_channel_check #(.Width(PHV_RECORD_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
