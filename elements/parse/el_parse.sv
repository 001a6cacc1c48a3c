// SPDX-License-Identifier: Apache-2.0
// Staged parser: the packet passes unchanged, and one record of its headers leaves beside it (README.md defines exactly what is
// read): the inner headers if it is a tunnel to the device itself. One flit and one record per cycle; a record leaves PARSE_LATENCY
// + 4 cycles after the last flit of its window. A malformed packet yields a record with a fault, never a stall. A receiver must
// take the first WINDOW_FLITS flits of a packet before it waits for the packet's record; a stalled `phv` stalls `in` when the
// credits are used up.
module el_parse
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,        // synchronous, active high
  input  own_addresses_t own_i,        // tunnels to these are opened; from registers, may change at any time
  input  flit_t          in_data_i,    // packets, meta.length known
  input  logic           in_valid_i,
  output logic           in_ready_o,   // from registers
  output flit_t          out_data_o,   // the same packets
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output phv_record_t    phv_data_o,   // one record per packet, in order
  output logic           phv_valid_o,
  input  logic           phv_ready_i
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

  logic         enter, outer_valid, open, opened, late, record_valid;
  meta_t        outer_meta, inner_meta;
  window_t      outer_window, tunnel_window, open_window, unused_window;
  pointer_t     open_words;
  logic [15:0]  open_length;
  tunnel_t      open_tunnel, tunnel;
  phv_record_t  outer, record;
  /* verilator lint_off UNUSEDSIGNAL */  // only the record remains at the end of a row
  parse_state_t tunnel_state, inner;
  /* verilator lint_on UNUSEDSIGNAL */

  sl_pipe_gate #(
    .InWidth(WINDOW_BITS + META_BITS), .OutWidth(PHV_RECORD_BITS), .Latency(PARSE_LATENCY)
  ) u_gate (
    .clk_i, .rst_i,
    .in_data_i({meta, window}), .in_valid_i(window_valid), .in_ready_o(gate_ready),
    .stage_valid_o(enter), .stage_data_o({outer_meta, outer_window}),
    .stage_valid_i(record_valid), .stage_data_i(record),
    .out_data_o(phv_data_o), .out_valid_o(phv_valid_o), .out_ready_i(phv_ready_i)
  );

  sl_parse_stack u_outer (
    .clk_i, .rst_i,
    .valid_i(enter), .window_i(outer_window), .words_i(pointer_t'(WINDOW_WORDS)), .meta_i(outer_meta), .own_i,
    .valid_o(outer_valid), .window_o(tunnel_window), .state_o(tunnel_state)
  );

  // The outer record is delayed in parallel. A packet without an opened tunnel leaves the second row with its outer record.
  sl_delay #(.Width(PHV_RECORD_BITS), .Cycles(TUNNEL_LATENCY + STACK_LATENCY)) u_beside (
    .clk_i, .rst_i, .valid_i(outer_valid), .data_i(tunnel_state.record), .valid_o(record_valid), .data_o(outer)
  );

  sl_parse_tunnel u_tunnel (
    .clk_i, .rst_i,
    .valid_i(outer_valid), .window_i(tunnel_window), .state_i(tunnel_state),
    .valid_o(open), .window_o(open_window), .words_o(open_words), .length_o(open_length), .tunnel_o(open_tunnel)
  );

  sl_delay #(.Width($bits(tunnel_t)), .Cycles(STACK_LATENCY)) u_tunnels (
    .clk_i, .rst_i, .valid_i(open), .data_i(open_tunnel), .valid_o(opened), .data_o(tunnel)
  );

  always_comb begin
    inner_meta        = '0;
    inner_meta.length = open_length;
  end

  sl_parse_stack u_inner (
    .clk_i, .rst_i,
    .valid_i(open), .window_i(open_window), .words_i(open_words), .meta_i(inner_meta), .own_i('0),
    .valid_o(late), .window_o(unused_window), .state_o(inner)
  );

  always_comb begin
    record = outer;
    if (opened) begin
      record.phv               = inner.record.phv;
      record.phv.tunnel_kind   = tunnel.kind;
      record.phv.tunnel_id     = tunnel.id;
      record.phv.outer_src     = outer.phv.ip_src[63:0];
      record.phv.outer_dst     = outer.phv.ip_dst[63:0];
      record.info              = inner.record.info;
      record.info.outer_length = tunnel.outer_length;
      record.edits.tags        = inner.record.edits.tags;
      record.fault             = inner.record.fault;
    end
  end

  logic unused;
  assign unused = &{1'b0, late, unused_window};

  sl_channel_check #(.Width(FLIT_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
