// SPDX-License-Identifier: Apache-2.0
// Packets to the agent, each in a message of its own (layouts/message): kept until the rate limit lets them go. A packet for which
// there is no room, or no session yet, is dropped and counted.
module sl_packet_in
  import sluice_pkg::*;
  import sl_message_pkg::*;
#(
  parameter int unsigned Flits = 512  // store: more than a packet of the largest size
) (
  input  logic           clk_i,
  input  logic           rst_i,          // synchronous, active high
  input  logic [127:0]   key_i,          // as in sl_message_send
  input  logic [31:0]    interval_i,     // cycles from the beginning of one message to that of the next, at least
  input  message_frame_t agent_i,        // header of a message to the agent
  input  logic           agent_valid_i,  // there is a session
  input  flit_t          in_data_i,
  input  logic           in_valid_i,
  input  logic           lossless_i,     // 1: a full store applies back-pressure
  output logic           in_ready_o,
  output message_word_t  out_data_o,
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output logic           sent_o,         // pulse
  output logic [1:0]     lost_o,         // pulses: no room or a bad packet; no session
  output logic           idle_o          // nothing stored
);
  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);

  typedef enum logic [1:0] {StIdle, StInfo, StPacket, StDrop} state_e;

  state_e         state_q;
  flit_t          packet;
  message_frame_t header;
  message_packet_in_t info;
  logic           packet_valid, packet_ready, store_empty, header_ready, begins, ends, bad, oversize, runt, overflow;
  logic           narrow_ready, word_valid, body_ready;
  logic [63:0]    word, session_q;  // session: of the last message
  logic [31:0]    wait_q, number_q;
  logic           unused_stored, unused_sop, unused_eop, unused_error;
  logic [15:0]    unused_length;
  logic [2:0]     unused_empty;

  sl_packet_fifo #(.Flits(Flits), .LargestPacket(EGRESS_BYTES)) u_store (
    .clk_i, .rst_i, .lossless_i, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(packet), .out_valid_o(packet_valid), .out_ready_i(packet_ready), .empty_o(store_empty),
    .stored_o(unused_stored), .stored_length_o(unused_length), .drop_error_o(bad), .drop_oversize_o(oversize), .drop_runt_o(runt), .drop_overflow_o(overflow)
  );

  always_comb begin
    header = with_length(agent_i, packet.meta.length + 16'(MESSAGE_PACKET_IN_BITS / 8));
    header.message.kind            = MESSAGE_PACKET_IN;
    header.message.sequence_number = header.message.session == session_q ? number_q : 32'd1;
    info = '{
      mark: packet.meta.mark, fault: 8'(packet.meta.fault), reserved: '0, ingress_port: packet.meta.ingress_port,
      reason: packet.meta.verdict == VERDICT_TO_CONTROLLER ? REASON_ACTION : REASON_HOST
    };
  end

  assign begins       = state_q == StIdle && packet_valid && agent_valid_i && wait_q == '0;
  assign packet_ready = (state_q == StPacket && narrow_ready) || state_q == StDrop;
  assign ends         = packet_valid && packet_ready && packet.eop;
  assign idle_o       = store_empty && state_q == StIdle;

  sl_width_convert #(.InBytes(DATA_BYTES), .OutBytes(8)) u_words (
    .clk_i, .rst_i, .in_data_i(packet.data), .in_empty_i(EmptyBits'(packet.empty)), .in_sop_i(packet.sop), .in_eop_i(packet.eop),
    .in_error_i(1'b0), .in_valid_i(packet_valid && state_q == StPacket), .in_ready_o(narrow_ready),
    .out_data_o(word), .out_empty_o(unused_empty), .out_sop_o(unused_sop), .out_eop_o(unused_eop), .out_error_o(unused_error),
    .out_valid_o(word_valid), .out_ready_i(body_ready && state_q != StInfo)
  );

  sl_message_send u_send (
    .clk_i, .rst_i, .key_i, .header_i(header), .header_valid_i(begins), .header_ready_o(header_ready),
    .body_i(state_q == StInfo ? swap64(info) : word), .body_valid_i(state_q == StInfo || word_valid), .body_ready_o(body_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );

  always_ff @(posedge clk_i) begin
    sent_o <= begins && header_ready;
    lost_o <= {state_q == StIdle && packet_valid && !agent_valid_i, bad || oversize || runt || overflow};
    if (wait_q != '0) wait_q <= wait_q - 1'b1;
    if (begins && header_ready) begin
      wait_q    <= interval_i;
      number_q  <= header.message.sequence_number + 1'b1;
      session_q <= header.message.session;
      state_q   <= StInfo;
    end else if (state_q == StInfo && body_ready) begin
      state_q <= StPacket;
    end else if (state_q == StIdle && packet_valid && !agent_valid_i) begin
      state_q <= StDrop;
    end else if (ends) begin
      state_q <= StIdle;
    end
    if (rst_i) begin
      state_q   <= StIdle;
      wait_q    <= '0;
      session_q <= '0;
      number_q  <= 32'd1;
    end
  end

  logic unused;
  assign unused = &{1'b0, packet, unused_stored, unused_length, unused_sop, unused_eop, unused_error, unused_empty};
endmodule
