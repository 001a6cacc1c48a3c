// SPDX-License-Identifier: Apache-2.0
// Test bench: the path of a packet to its flow key, as in a pipeline: sl_flow_link, el_parse, and sl_flow_key where a record and
// its link word meet. On channel `key`: {the key is usable, the key}.
module tb_flow_key
  import sluice_pkg::*;
(
  input  logic                          clk_i,
  input  logic                          rst_i,  // synchronous, active high
  input  sl_packet_pkg::own_addresses_t own_i,
  input  flit_t                         in_data_i,
  input  logic                          in_valid_i,
  output logic                          in_ready_o,
  output flit_t                         out_data_o,
  output logic                          out_valid_o,
  input  logic                          out_ready_i,
  output logic [FLOW_KEY_BITS:0]        key_data_o,
  output logic                          key_valid_o,
  input  logic                          key_ready_i
);
  flit_t       packet;
  phv_record_t record;
  link_info_t  link;
  flow_key_t   key;
  logic        packet_valid, packet_ready, record_valid, link_valid, usable;

  sl_flow_link u_link (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(packet), .out_valid_o(packet_valid), .out_ready_i(packet_ready),
    .link_data_o(link), .link_valid_o(link_valid), .link_ready_i(record_valid && key_ready_i)
  );
  el_parse u_parse (
    .clk_i, .rst_i, .own_i, .in_data_i(packet), .in_valid_i(packet_valid), .in_ready_o(packet_ready),
    .out_data_o, .out_valid_o, .out_ready_i,
    .phv_data_o(record), .phv_valid_o(record_valid), .phv_ready_i(link_valid && key_ready_i)
  );
  sl_flow_key u_key (.record_i(record), .link_i(link), .key_o(key), .usable_o(usable));

  assign key_data_o  = {usable, key};
  assign key_valid_o = record_valid && link_valid;
endmodule
