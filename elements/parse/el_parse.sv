// SPDX-License-Identifier: Apache-2.0
// Staged parser: the packet goes through unchanged, one record of its headers leaves beside it (README.md says exactly
// what is read). One flit and one record a cycle; a record leaves PARSE_LATENCY + 4 cycles after the last flit of its
// window. A malformed packet gives a record with a fault, never a stop. A receiver must take the first WINDOW_FLITS
// flits of a packet before it waits for the packet's record; a stopped `phv` stops `in` when the credits are used up.
module el_parse
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_i,        // synchronous, active high
  input  flit_t       in_data_i,    // packets, meta.length known
  input  logic        in_valid_i,
  output logic        in_ready_o,   // from registers
  output flit_t       out_data_o,   // the same packets
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output phv_record_t phv_data_o,   // one record a packet, in order
  output logic        phv_valid_o,
  input  logic        phv_ready_i
);
  logic    skid_ready, window_ready;
  logic    window_valid, gate_ready;
  window_t window;
  meta_t   meta;

  assign in_ready_o = skid_ready && window_ready;

  sl_skid #(.Width(FLIT_BITS)) u_skid (
    .clk_i, .rst_i,
    .in_data_i, .in_valid_i(in_valid_i && window_ready), .in_ready_o(skid_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );

  sl_parse_window u_window (
    .clk_i, .rst_i,
    .in_data_i, .in_valid_i(in_valid_i && skid_ready), .in_ready_o(window_ready),
    .window_o(window), .meta_o(meta), .window_valid_o(window_valid), .window_ready_i(gate_ready)
  );

  // Index 0: from the gate; n: after n parts.
  localparam int unsigned Parts = 2 + MAX_EXTENSIONS;
  window_t [Parts:0]      part_window;
  parse_state_t [Parts:1] part_state;
  logic [Parts:0]         part_valid;
  meta_t                  part_meta;
  logic                   record_valid;
  phv_record_t            record;

  sl_pipe_gate #(
    .InWidth(WINDOW_BITS + META_BITS), .OutWidth(PHV_RECORD_BITS), .Latency(PARSE_LATENCY)
  ) u_gate (
    .clk_i, .rst_i,
    .in_data_i({meta, window}), .in_valid_i(window_valid), .in_ready_o(gate_ready),
    .stage_valid_o(part_valid[0]), .stage_data_o({part_meta, part_window[0]}),
    .stage_valid_i(record_valid), .stage_data_i(record),
    .out_data_o(phv_data_o), .out_valid_o(phv_valid_o), .out_ready_i(phv_ready_i)
  );

  sl_parse_ethernet u_ethernet (
    .clk_i, .rst_i,
    .valid_i(part_valid[0]), .window_i(part_window[0]), .meta_i(part_meta),
    .valid_o(part_valid[1]), .window_o(part_window[1]), .state_o(part_state[1])
  );

  sl_parse_network u_network (
    .clk_i, .rst_i,
    .valid_i(part_valid[1]), .window_i(part_window[1]), .state_i(part_state[1]),
    .valid_o(part_valid[2]), .window_o(part_window[2]), .state_o(part_state[2])
  );

  for (genvar i = 2; i < Parts; i++) begin : gen_extension
    sl_parse_extension u_extension (
      .clk_i, .rst_i,
      .valid_i(part_valid[i]), .window_i(part_window[i]), .state_i(part_state[i]),
      .valid_o(part_valid[i+1]), .window_o(part_window[i+1]), .state_o(part_state[i+1])
    );
  end

  sl_parse_transport u_transport (
    .clk_i, .rst_i,
    .valid_i(part_valid[Parts]), .window_i(part_window[Parts]), .state_i(part_state[Parts]),
    .valid_o(record_valid), .record_o(record)
  );

  sl_channel_check #(.Width(FLIT_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
