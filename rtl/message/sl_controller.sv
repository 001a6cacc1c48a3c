// SPDX-License-Identifier: Apache-2.0
// The controller core (MPSoC paper, 3.1 and Fig. 7): stands in a lane, takes the frames to its own MAC address out of it, executes
// the messages in them (sl_message_core), and sends answers and packets to the agent (sl_packet_in) back through that lane. On a lane
// that has nothing else it is the port of an embedded CPU. Several cores stand in a lane one behind the other.
//
// Frames to it wait in a store that drops what it has no room for, so that they never hold up the other packets of the lane.
module sl_controller
  import sluice_pkg::*;
  import sl_message_pkg::*;
#(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Number = 0,              // of the core
  parameter int unsigned Flits = 512              // of each of the four stores: at least two packets of the largest size
) (
  input  logic               clk_i,
  input  logic               rst_i,               // synchronous, active high
  input  logic [63:0]        time_i,              // core cycles
  input  logic               lossless_i,          // 1: packets to the agent wait for room; 0: they are dropped
  input  flit_t              rx_data_i,           // what the lane receives: whole packets
  input  logic               rx_valid_i,
  output logic               rx_ready_o,
  output flit_t              rx_data_o,           // of it what is not for this core
  output logic               rx_valid_o,
  input  logic               rx_ready_i,
  input  flit_t              tx_data_i,           // what the lane sends: whole packets without gaps
  input  logic               tx_valid_i,
  output logic               tx_ready_o,
  output flit_t              tx_data_o,           // and with messages
  output logic               tx_valid_o,
  input  logic               tx_ready_i,
  input  flit_t              to_agent_data_i,     // packets for the agent
  input  logic               to_agent_valid_i,
  output logic               to_agent_ready_o,
  output flit_t              from_agent_data_o,   // packets of the agent; lanes in their metadata
  output logic               from_agent_valid_o,
  input  logic               from_agent_ready_i,
  output register_request_t  master_request_o,    // accesses of the agent
  output logic               master_request_valid_o,
  input  logic               master_request_ready_i,
  input  register_response_t master_response_i,
  input  logic               master_response_valid_i,
  input  register_request_t  reg_request_i,       // its own window
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o,
  output logic               session_o,           // there is an agent
  output logic               takes_host_o,        // packets to the host are for the agent too
  output logic               idle_o               // nothing is inside, of messages and packets
);
  localparam int unsigned Largest = EGRESS_BYTES + MESSAGE_FRAME_BITS / 8 + 8 + MESSAGE_TAG_BYTES;  // message

  controller_registers_t registers;
  logic [127:0]          key;
  message_event_t        happened;
  message_frame_t        agent;
  logic                  agent_valid, message_lost, lane_empty, unused;
  logic                  messages_empty, answers_empty, core_idle;
  logic [2:0]            quiet_q;  // cycles for which no message was anywhere, registers between parts included
  logic [1:0]            unused_stored;
  logic [2:0][15:0]      unused_length;
  logic [3:0]            unused_drops;

  // Frames to the core leave the lane.
  flit_t      message;
  logic       is_mine, is_mine_q, message_in_ready, message_valid, message_ready;
  logic [3:0] drops;

  assign is_mine    = rx_data_i.sop ? rx_data_i.data[47:0] == 48'(swap64({16'd0, registers.mac_high, registers.mac_low}) >> 16) : is_mine_q;
  assign rx_data_o  = rx_data_i;
  assign rx_valid_o = rx_valid_i && !is_mine;
  assign rx_ready_o = is_mine ? message_in_ready : rx_ready_i;

  always_ff @(posedge clk_i) begin
    if (rx_valid_i && rx_data_i.sop) is_mine_q <= is_mine;
  end

  sl_packet_fifo #(.Flits(Flits)) u_messages (
    .clk_i, .rst_i, .lossless_i(1'b0), .in_data_i(rx_data_i), .in_valid_i(rx_valid_i && is_mine), .in_ready_o(message_in_ready),
    .out_data_o(message), .out_valid_o(message_valid), .out_ready_i(message_ready), .empty_o(messages_empty),
    .stored_o(unused_stored[0]), .stored_length_o(unused_length[0]),
    .drop_error_o(drops[0]), .drop_oversize_o(drops[1]), .drop_runt_o(drops[2]), .drop_overflow_o(drops[3])
  );

  always_ff @(posedge clk_i) message_lost <= drops != '0;

  message_word_t word;
  logic          word_valid, word_ready;

  sl_width_convert #(.InBytes(DATA_BYTES), .OutBytes(8)) u_words (
    .clk_i, .rst_i, .in_data_i(message.data), .in_empty_i(message.empty), .in_sop_i(message.sop), .in_eop_i(message.eop),
    .in_error_i(message.error), .in_valid_i(message_valid), .in_ready_o(message_ready),
    .out_data_o(word.data), .out_empty_o(word.empty), .out_sop_o(word.sop), .out_eop_o(word.eop), .out_error_o(word.error),
    .out_valid_o(word_valid), .out_ready_i(word_ready)
  );

  message_word_t answer, upload, out_word, packet_word;
  logic          answer_valid, answer_ready, upload_valid, upload_ready, packet_valid;
  logic [7:0]    packet_ports;

  sl_message_core u_core (
    .clk_i, .rst_i, .key_i(key), .time_i, .in_data_i(word), .in_valid_i(word_valid), .in_ready_o(word_ready),
    .out_data_o(answer), .out_valid_o(answer_valid), .out_ready_i(answer_ready),
    .packet_data_o(packet_word), .packet_ports_o(packet_ports), .packet_valid_o(packet_valid),
    .reg_request_o(master_request_o), .reg_request_valid_o(master_request_valid_o), .reg_request_ready_i(master_request_ready_i),
    .reg_response_i(master_response_i), .reg_response_valid_i(master_response_valid_i),
    .agent_o(agent), .agent_valid_o(agent_valid), .happened_o(happened), .idle_o(core_idle)
  );

  // Packets of the agent.
  /* verilator lint_off UNDRIVEN */  // its metadata
  flit_t      packet;
  /* verilator lint_on UNDRIVEN */
  logic       packet_flit_valid, packet_out, unused_packet_ready, unused_out_ready, out_idle, in_idle;
  logic [3:0] out_drops;

  sl_width_convert #(.InBytes(8), .OutBytes(DATA_BYTES)) u_packet (
    .clk_i, .rst_i, .in_data_i(packet_word.data), .in_empty_i(packet_word.empty), .in_sop_i(packet_word.sop), .in_eop_i(packet_word.eop),
    .in_error_i(packet_word.error), .in_valid_i(packet_valid), .in_ready_o(unused_packet_ready),
    .out_data_o(packet.data), .out_empty_o(packet.empty), .out_sop_o(packet.sop), .out_eop_o(packet.eop), .out_error_o(packet.error),
    .out_valid_o(packet_flit_valid), .out_ready_i(1'b1)
  );

  flit_t aimed;
  always_comb begin
    aimed = '{
      meta: '0, error: packet.error || (packet.eop && packet_ports[Lanes-1:0] == '0), eop: packet.eop, sop: packet.sop,
      empty: packet.empty, data: packet.data
    };
    if (packet.sop) begin
      aimed.meta.ingress_port = 8'(HOST_PORT);
      aimed.meta.egress_mask  = 8'(packet_ports[Lanes-1:0]);
      aimed.meta.verdict      = VERDICT_FORWARD;
    end
  end

  sl_packet_fifo #(.Flits(Flits), .LargestPacket(EGRESS_BYTES)) u_from_agent (
    .clk_i, .rst_i, .lossless_i(1'b0), .in_data_i(aimed), .in_valid_i(packet_flit_valid), .in_ready_o(unused_out_ready),
    .out_data_o(from_agent_data_o), .out_valid_o(from_agent_valid_o), .out_ready_i(from_agent_ready_i), .empty_o(out_idle),
    .stored_o(packet_out), .stored_length_o(unused_length[1]),
    .drop_error_o(out_drops[0]), .drop_oversize_o(out_drops[1]), .drop_runt_o(out_drops[2]), .drop_overflow_o(out_drops[3])
  );

  // Packets to the agent.
  logic       sent;
  logic [1:0] lost;

  sl_packet_in #(.Flits(Flits)) u_packet_in (
    .clk_i, .rst_i, .key_i(key), .interval_i(registers.packet_in_interval), .agent_i(agent), .agent_valid_i(agent_valid),
    .in_data_i(to_agent_data_i), .in_valid_i(to_agent_valid_i), .lossless_i, .in_ready_o(to_agent_ready_o),
    .out_data_o(upload), .out_valid_o(upload_valid), .out_ready_i(upload_ready), .sent_o(sent), .lost_o(lost), .idle_o(in_idle)
  );

  assign session_o    = agent_valid;
  assign takes_host_o = registers.control[0];
  assign idle_o       = out_idle && in_idle && lane_empty && quiet_q == '1;

  // Answers and packets, whole messages in turn, into the lane.
  logic  uploads_q, inside_q, uploads, out_valid, out_ready, wide_valid, wide_ready, stored_valid, stored_ready;
  flit_t wide, stored;

  assign uploads      = inside_q ? uploads_q : !answer_valid || (upload_valid && !uploads_q);
  assign out_word     = uploads ? upload : answer;
  assign out_valid    = uploads ? upload_valid : answer_valid;
  assign answer_ready = out_ready && !uploads;
  assign upload_ready = out_ready && uploads;

  always_ff @(posedge clk_i) begin
    if (out_valid && out_ready) begin
      inside_q  <= !out_word.eop;
      uploads_q <= uploads;
    end
    if (rst_i) begin
      inside_q  <= 1'b0;
      uploads_q <= 1'b0;
    end
  end

  sl_width_convert #(.InBytes(8), .OutBytes(DATA_BYTES)) u_flits (
    .clk_i, .rst_i, .in_data_i(out_word.data), .in_empty_i(out_word.empty), .in_sop_i(out_word.sop), .in_eop_i(out_word.eop),
    .in_error_i(out_word.error), .in_valid_i(out_valid), .in_ready_o(out_ready),
    .out_data_o(wide.data), .out_empty_o(wide.empty), .out_sop_o(wide.sop), .out_eop_o(wide.eop), .out_error_o(wide.error),
    .out_valid_o(wide_valid), .out_ready_i(wide_ready)
  );
  assign wide.meta = '0;

  sl_packet_fifo #(.Flits(Flits), .LargestPacket(Largest)) u_answers (
    .clk_i, .rst_i, .lossless_i(1'b1), .in_data_i(wide), .in_valid_i(wide_valid), .in_ready_o(wide_ready),
    .out_data_o(stored), .out_valid_o(stored_valid), .out_ready_i(stored_ready), .empty_o(answers_empty),
    .stored_o(unused_stored[1]), .stored_length_o(unused_length[2]),
    .drop_error_o(unused_drops[0]), .drop_oversize_o(unused_drops[1]), .drop_runt_o(unused_drops[2]), .drop_overflow_o(unused_drops[3])
  );

  sl_packet_arbiter #(.Ports(2)) u_lane (
    .clk_i, .rst_i, .pause_i(1'b0), .in_data_i({stored, tx_data_i}), .in_valid_i({stored_valid, tx_valid_i}),
    .in_ready_o({stored_ready, tx_ready_o}), .out_data_o(tx_data_o), .out_valid_o(tx_valid_o), .out_ready_i(tx_ready_i),
    .empty_o(lane_empty)
  );

  always_ff @(posedge clk_i) begin
    if (!messages_empty || word_valid || !core_idle || out_valid || wide_valid || !answers_empty || rst_i) quiet_q <= '0;
    else if (quiet_q != '1) quiet_q <= quiet_q + 1'b1;
  end

  sl_controller_registers #(.Number(Number)) u_registers (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .message_i(happened), .overflow_i(message_lost), .packet_in_i(sent), .packet_in_lost_i(lost), .packet_out_i(packet_out),
    .packet_out_lost_i(out_drops != '0), .registers_o(registers), .key_o(key)
  );

  assign unused = &{1'b0, packet.meta, packet_ports, message.meta, unused_packet_ready, unused_out_ready, unused_stored,
                    unused_length, unused_drops, registers};
endmodule
