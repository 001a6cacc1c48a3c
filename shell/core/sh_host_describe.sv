// SPDX-License-Identifier: Apache-2.0
// On the way to the host: parses each packet's headers, verifies its checksums, and spreads packets over the receive queues of
// their lanes by hash, or as a rule chose (host_info_t, docs/design/shell.md). A packet of no lane goes to lane 0; without a choice
// or hash it goes to queue 0. Its key accompanies it, as the flow table builds it (sl_flow_key). Packets leave unchanged, one flit
// per cycle. A packet whose queue has no room is dropped whole and counted, so an unread queue does not stop the others; in
// lossless mode it waits.
module sh_host_describe
  import sluice_pkg::*;
  import sl_packet_pkg::*;
#(
  parameter int unsigned Lanes = 4,   // 1 to 7
  parameter int unsigned Queues = 4   // per lane, 1 to HOST_QUEUES
) (
  input  logic               clk_i,
  input  logic               rst_i,         // synchronous, active high
  input  flit_t              in_data_i,     // whole packets, meta.length known
  input  logic               in_valid_i,
  output logic               in_ready_o,    // from registers
  output flit_t              out_data_o,
  output host_info_t         out_info_o,    // describes the packet, with each of its flits; checksums and sum at eop
  output flow_key_t          out_key_o,     // key of the packet, with each of its flits; 0 without info.has_key
  output logic               out_valid_o,
  input  logic               out_ready_i,
  // Queue q of lane n has no ring (absent), or has no room for the largest packet (full). `full_i` may rise only when a packet for
  // that queue moves.
  input  logic [Lanes-1:0][HOST_QUEUES-1:0] absent_i,
  input  logic [Lanes-1:0][HOST_QUEUES-1:0] full_i,
  input  logic               lossless_i,    // a packet for a full queue waits; `out_ready_i` must stall it
  output logic               dropped_o,     // pulse: dropped a packet for a full or absent queue
  output logic               idle_o,        // empty
  input  register_request_t  reg_request_i, // host_registers
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o
);
  localparam int unsigned Latency     = 7;   // latency of the sums, and of the hash with its delay
  localparam int unsigned PacketFlits = 64;  // that can wait while their packet's headers are parsed

  // The fields of a header record that this module needs.
  typedef struct packed {
    logic [127:0] ip_src;
    logic [127:0] ip_dst;
    logic [15:0]  l4_src;
    logic [15:0]  l4_dst;
    logic [15:0]  l4_length;
    logic [7:0]   ip_protocol;
    logic         has_sum;       // a transport checksum that can be verified
    logic         is_fragment;
    logic [7:0]   ip_end;        // end of the IP header
    logic [7:0]   l3_offset;
    logic [7:0]   l4_offset;
    l3_kind_t     l3_kind;
    l4_kind_t     l4_kind;
    logic [1:0]   tags;
  } headers_t;

  // Fields that only the key needs.
  typedef struct packed {
    logic [47:0] eth_dst;
    logic [47:0] eth_src;
    logic [15:0] eth_type;
    logic [15:0] vlan0_tci;
    logic [7:0]  ip_tos;
    logic [7:0]  ip_ttl;
    logic [13:0] ip_fragment;
    logic [7:0]  tcp_flags;
    fault_t      fault;
  } more_headers_t;

  // The headers, and the packet that waits for them.
  logic     window_ready, window_valid, gate_ready, packet_ready, packet_valid, packet_take, enter, parsed_valid;
  logic     seen_valid, seen_take;
  window_t  window, parse_window, unused_window;
  meta_t    window_meta, parse_meta;
  flit_t    packet;
  headers_t read, seen;
  more_headers_t read_more, seen_more;
  logic [$clog2(PacketFlits+1)-1:0] unused_count;
  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the record
  parse_state_t parsed;

  function automatic headers_t headers(phv_record_t record);
    headers.ip_src      = record.phv.ip_src;
    headers.ip_dst      = record.phv.ip_dst;
    headers.l4_src      = record.phv.l4_src;
    headers.l4_dst      = record.phv.l4_dst;
    headers.l4_length   = record.phv.l4_length;
    headers.ip_protocol = record.phv.ip_protocol;
    headers.has_sum     = !record.info.is_fragment && !(record.info.l3_kind == L3_IPV6 && record.info.ip_options) &&
                          (record.info.l4_kind == L4_TCP || (record.info.l4_kind == L4_UDP && record.info.l4_checksum != '0));
    headers.is_fragment = record.info.is_fragment;
    headers.ip_end      = record.info.l4_kind != L4_NONE ? record.info.l4_offset : record.info.header_length;
    headers.l3_offset   = record.info.l3_offset;
    headers.l4_offset   = record.info.l4_offset;
    headers.l3_kind     = record.info.l3_kind;
    headers.l4_kind     = record.info.l4_kind;
    headers.tags        = record.info.tags;
  endfunction

  function automatic more_headers_t more_headers(phv_record_t record);
    more_headers.eth_dst     = record.phv.eth_dst;
    more_headers.eth_src     = record.phv.eth_src;
    more_headers.eth_type    = record.phv.eth_type;
    more_headers.vlan0_tci   = record.phv.vlan0_tci;
    more_headers.ip_tos      = record.phv.ip_tos;
    more_headers.ip_ttl      = record.phv.ip_ttl;
    more_headers.ip_fragment = record.phv.ip_fragment[13:0];
    more_headers.tcp_flags   = record.phv.tcp_flags;
    more_headers.fault       = record.fault;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  assign in_ready_o = window_ready && packet_ready;
  assign read       = headers(parsed.record);
  assign read_more  = more_headers(parsed.record);

  sl_fifo #(.Width(FLIT_BITS), .Depth(PacketFlits)) u_packet (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(in_valid_i && window_ready), .in_ready_o(packet_ready),
    .out_data_o(packet), .out_valid_o(packet_valid), .out_ready_i(packet_take), .count_o(unused_count)
  );

  sl_parse_window u_window (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(in_valid_i && packet_ready), .in_ready_o(window_ready),
    .window_o(window), .meta_o(window_meta), .window_valid_o(window_valid), .window_ready_i(gate_ready)
  );

  sl_pipe_gate #(
    .InWidth(WINDOW_BITS + META_BITS), .OutWidth($bits(more_headers_t) + $bits(headers_t)), .Latency(STACK_LATENCY)
  ) u_parse_gate (
    .clk_i, .rst_i, .in_data_i({window_meta, window}), .in_valid_i(window_valid), .in_ready_o(gate_ready),
    .stage_valid_o(enter), .stage_data_o({parse_meta, parse_window}), .stage_valid_i(parsed_valid),
    .stage_data_i({read_more, read}), .out_data_o({seen_more, seen}), .out_valid_o(seen_valid), .out_ready_i(seen_take)
  );

  sl_parse_stack u_parse (
    .clk_i, .rst_i, .valid_i(enter), .window_i(parse_window), .words_i(pointer_t'(WINDOW_WORDS)), .meta_i(parse_meta),
    .own_i('0), .valid_o(parsed_valid), .window_o(unused_window), .state_o(parsed)
  );

  // Headers and packet together through sums and hash. Later flits of a packet use the headers of its first.
  headers_t   now, held_q;
  logic       joined_valid, joined_ready, valid, result_valid;
  flit_t      flit;
  headers_t   of;

  assign now          = packet.sop ? seen : held_q;
  assign joined_valid = packet_valid && (!packet.sop || seen_valid);
  assign packet_take  = joined_valid && joined_ready;
  assign seen_take    = packet_take && packet.sop;

  always_ff @(posedge clk_i) begin
    if (seen_take) held_q <= seen;
  end

  // The key of each packet waits in a FIFO beside the gate, from the entry of its first flit until its last flit leaves. The FIFO
  // never overflows.
  localparam int unsigned GateFlits = 16;
  phv_record_t keyed;
  flow_key_t   key;
  logic        has_key, key_end, key_ready, key_valid, out_has_key;
  logic [$clog2(GateFlits+1)-1:0] unused_keys;

  always_comb begin
    keyed                 = '0;
    keyed.ingress_port    = packet.meta.ingress_port;
    keyed.fault           = seen_more.fault;
    keyed.info.tags       = seen.tags;
    keyed.info.l4_kind    = seen.l4_kind;
    keyed.phv.eth_dst     = seen_more.eth_dst;
    keyed.phv.eth_src     = seen_more.eth_src;
    keyed.phv.eth_type    = seen_more.eth_type;
    keyed.phv.vlan0_tci   = seen_more.vlan0_tci;
    keyed.phv.ip_src      = seen.ip_src;
    keyed.phv.ip_dst      = seen.ip_dst;
    keyed.phv.ip_protocol = seen.ip_protocol;
    keyed.phv.ip_tos      = seen_more.ip_tos;
    keyed.phv.ip_ttl      = seen_more.ip_ttl;
    keyed.phv.ip_fragment = 16'(seen_more.ip_fragment);
    keyed.phv.l4_src      = seen.l4_src;
    keyed.phv.l4_dst      = seen.l4_dst;
    keyed.phv.tcp_flags   = seen_more.tcp_flags;
  end

  sl_flow_key u_key (.record_i(keyed), .link_i(link_info(packet.data, packet.meta)), .key_o(key), .usable_o(has_key));

  sl_fifo #(.Width(1 + FLOW_KEY_BITS), .Depth(GateFlits)) u_keys (
    .clk_i, .rst_i, .in_data_i({has_key, has_key ? key : '0}), .in_valid_i(seen_take), .in_ready_o(key_ready),
    .out_data_o({out_has_key, out_key_o}), .out_valid_o(key_valid), .out_ready_i(key_end), .count_o(unused_keys)
  );

  flit_t      gate_data, result;
  host_info_t gate_info, info;
  logic       gate_valid, gate_take;

  sl_pipe_gate #(.InWidth(FLIT_BITS + $bits(headers_t)), .OutWidth(FLIT_BITS + HOST_INFO_BITS), .Latency(Latency)) u_gate (
    .clk_i, .rst_i, .in_data_i({packet, now}), .in_valid_i(joined_valid), .in_ready_o(joined_ready),
    .stage_valid_o(valid), .stage_data_o({flit, of}), .stage_valid_i(result_valid), .stage_data_i({result, info}),
    .out_data_o({gate_data, gate_info}), .out_valid_o(gate_valid), .out_ready_i(gate_take)
  );

  // Hash and queue: after 5 cycles, plus 2 to align with the sums.
  logic [7:0]  network_kind, transport_kind, kind_5, kind_q [2];
  logic [31:0] hash_5, hash_q [2];
  logic [2:0]  queue_5, queue_q [2];
  logic [7:0]  lane, lane_q;      // only the first flit has the ingress port
  logic [3:0]  chosen, chosen_q;  // and the queue that a rule chose

  assign lane   = flit.sop ? flit.meta.ingress_port : lane_q;
  assign chosen = flit.sop ? flit.meta.queue : chosen_q;

  always_comb begin
    network_kind   = HASH_NONE;
    transport_kind = HASH_NONE;
    if (of.l3_kind == L3_IPV4) network_kind = HASH_IPV4;
    if (of.l3_kind == L3_IPV6) network_kind = HASH_IPV6;
    if (!of.is_fragment) begin
      unique case (of.l4_kind)
        L4_TCP:  transport_kind = network_kind << 1;
        L4_UDP:  transport_kind = network_kind << 2;
        L4_SCTP: transport_kind = network_kind << 3;
        default: transport_kind = HASH_NONE;
      endcase
    end
  end

  sh_host_hash #(.Lanes(Lanes), .Queues(Queues)) u_hash (
    .clk_i, .rst_i, .lane_i(lane), .table_i(chosen < 4'(CHOSEN_QUEUE) ? chosen[2:0] : '0), .network_kind_i(network_kind), .transport_kind_i(transport_kind),
    .addresses_i(of.l3_kind == L3_IPV4 ? {of.ip_src[31:0], of.ip_dst[31:0], 192'd0} : {of.ip_src, of.ip_dst}),
    .ports_i({of.l4_src, of.l4_dst}), .hash_o(hash_5), .kind_o(kind_5), .queue_o(queue_5),
    .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o
  );

  always_ff @(posedge clk_i) begin
    if (valid) lane_q <= lane;
    if (valid) chosen_q <= chosen;
    hash_q  <= '{hash_5, hash_q[0]};
    kind_q  <= '{kind_5, kind_q[0]};
    queue_q <= '{queue_5, queue_q[0]};
  end

  // Checksums. The sum of a range takes 6 cycles, the pseudo header's sum 4.
  logic [15:0] ip_sum, l4_sum, l4_sum_q, pseudo_sum;
  logic        ip_good_q, l4_good_q;

  sl_flit_sum u_ip_sum (
    .clk_i, .valid_i(valid), .first_i(flit.sop), .data_i(flit.data), .from_i(16'(of.l3_offset)), .to_i(16'(of.ip_end)),
    .sum_o(ip_sum)
  );

  sl_flit_sum u_l4_sum (
    .clk_i, .valid_i(valid), .first_i(flit.sop), .data_i(flit.data), .from_i(16'(of.l4_offset)),
    .to_i(16'(of.l4_offset) + of.l4_length), .sum_o(l4_sum)
  );

  logic [17:0] pseudo_1q [4];
  logic [16:0] tail_1q;  // protocol and length
  logic [20:0] pseudo_2q;
  logic [16:0] pseudo_3q, whole;
  logic [15:0] pseudo_q [3];
  logic [255:0] addresses;

  assign addresses  = {of.ip_src, of.ip_dst};
  assign pseudo_sum = pseudo_q[2];
  assign whole      = 17'(l4_sum) + 17'(pseudo_sum);

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      pseudo_1q[i] <= 18'(addresses[64*i +: 16]) + 18'(addresses[64*i+16 +: 16]) + 18'(addresses[64*i+32 +: 16]) +
                      18'(addresses[64*i+48 +: 16]);
    end
    tail_1q     <= 17'(of.ip_protocol) + 17'(of.l4_length);
    pseudo_2q   <= 21'(pseudo_1q[0]) + 21'(pseudo_1q[1]) + 21'(pseudo_1q[2]) + 21'(pseudo_1q[3]) + 21'(tail_1q);
    pseudo_3q   <= 17'(pseudo_2q[15:0]) + 17'(pseudo_2q[20:16]);
    pseudo_q[0] <= pseudo_3q[15:0] + 16'(pseudo_3q[16]);
    pseudo_q[1] <= pseudo_q[0];
    pseudo_q[2] <= pseudo_q[1];
    ip_good_q   <= ip_sum == '1;
    l4_good_q   <= whole[15:0] + 16'(whole[16]) == '1;
    l4_sum_q    <= l4_sum;
  end

  // The length field of UDP. If it differs from l4_length, the sum covers other bytes and proves nothing.
  logic [15:0] index_q, index, udp_length, udp_length_q;
  logic        sums, sums_q [6];

  always_comb begin
    udp_length = flit.sop ? '0 : udp_length_q;
    for (int unsigned i = 0; i < DATA_BYTES / 2; i++) begin
      if (index + 16'(2 * i) == 16'(of.l4_offset) + 16'd4) udp_length |= swap16(flit.data[16*i +: 16]);
    end
  end

  assign index = flit.sop ? '0 : index_q;

  logic        has_sum_q, is_udp_q;
  logic [15:0] l4_length_q;
  assign sums = has_sum_q && (!is_udp_q || udp_length_q == l4_length_q);

  always_ff @(posedge clk_i) begin
    if (valid) begin
      index_q      <= index + 16'(DATA_BYTES);
      udp_length_q <= udp_length;
    end
    has_sum_q   <= of.has_sum;
    is_udp_q    <= of.l4_kind == L4_UDP;
    l4_length_q <= of.l4_length;
    sums_q      <= '{sums, sums_q[0], sums_q[1], sums_q[2], sums_q[3], sums_q[4]};
  end

  // Fields delayed to align with the results.
  localparam int unsigned BesideBits = FLIT_BITS + 4 + 16 + $bits(l3_kind_t) + $bits(l4_kind_t) + 2;
  flit_t       late;
  logic [7:0]  l3_offset, l4_offset;
  l3_kind_t    l3_kind;
  l4_kind_t    l4_kind;
  logic [1:0]  tags;
  logic [3:0]  late_chosen;

  sl_delay #(.Width(BesideBits), .Cycles(Latency)) u_beside (
    .clk_i, .rst_i, .valid_i(valid), .data_i({flit, chosen, of.l3_offset, of.l4_offset, of.l3_kind, of.l4_kind, of.tags}),
    .valid_o(result_valid), .data_o({late, late_chosen, l3_offset, l4_offset, l3_kind, l4_kind, tags})
  );

  assign result = late;

  always_comb begin
    info = '0;
    info.receive_queue = late_chosen >= 4'(CHOSEN_QUEUE) && 4'(late_chosen[2:0]) < 4'(Queues) ? late_chosen[2:0] : queue_q[1];
    info.tags          = tags;
    info.l3_kind       = l3_kind;
    info.l4_kind       = l4_kind;
    info.l3_offset     = l3_offset;
    info.l4_offset     = l4_offset;
    info.hash_kind     = hash_kind_t'(kind_q[1]);
    info.hash          = hash_q[1];
    if (late.eop) begin
      info.l4_sum = l4_kind != L4_NONE ? l4_sum_q : '0;
      info.checksum_verified = {sums_q[5] && !l4_good_q, l3_kind == L3_IPV4 && !ip_good_q,
                                sums_q[5] && l4_good_q, l3_kind == L3_IPV4 && ip_good_q};
    end
  end

  always_comb begin
    out_info_o         = gate_info;
    out_info_o.has_key = out_has_key;
  end

  // A packet for a full or absent queue is dropped. This is decided at its first flit.
  localparam int unsigned LaneBits = Lanes > 1 ? $clog2(Lanes) : 1;
  logic [LaneBits-1:0] out_lane;
  logic                nowhere, dropping, dropping_q;

  assign out_lane    = gate_data.meta.ingress_port < 8'(Lanes) ? gate_data.meta.ingress_port[LaneBits-1:0] : '0;
  assign nowhere     = absent_i[out_lane][gate_info.receive_queue] ||
                       (full_i[out_lane][gate_info.receive_queue] && !lossless_i);
  assign dropping    = gate_data.sop ? nowhere : dropping_q;
  assign out_data_o  = gate_data;
  assign key_end     = gate_valid && gate_take && gate_data.eop;
  assign out_valid_o = gate_valid && !dropping;
  assign gate_take   = dropping || out_ready_i;
  assign dropped_o   = gate_valid && gate_data.sop && dropping;

  // Flits inside.
  logic [7:0] inside_q;

  always_ff @(posedge clk_i) begin
    if (gate_valid && gate_take) dropping_q <= dropping && !gate_data.eop;
    inside_q <= inside_q + 8'(in_valid_i && in_ready_o) - 8'(gate_valid && gate_take);
    if (rst_i) begin
      dropping_q <= 1'b0;
      inside_q   <= '0;
    end
  end

  assign idle_o = inside_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) a_room_for_every_key : assert (key_ready || !seen_take);
    if (!rst_i) a_key_is_there : assert (key_valid || !gate_valid);
  end
`endif

  logic unused;
  assign unused = &{1'b0, unused_window, unused_count, unused_keys, key_ready, key_valid};
endmodule
