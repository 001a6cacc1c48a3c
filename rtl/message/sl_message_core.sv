// SPDX-License-Identifier: Apache-2.0
// Executes the messages of an agent, one at a time: begins sessions, makes the register accesses of control messages, passes packets
// on, and answers (layouts/message). A message counts once: a control message that comes again is answered as before, from the half
// of the memory that keeps the last answer; what is older, of another session, malformed or forged is dropped.
module sl_message_core
  import sluice_pkg::*;
  import sl_message_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_i,            // synchronous, active high
  input  logic [127:0]       key_i,            // 0: tags are not checked
  input  logic [63:0]        time_i,           // core cycles: a session's number
  input  message_word_t      in_data_i,        // whole packets
  input  logic               in_valid_i,
  output logic               in_ready_o,
  output message_word_t      out_data_o,       // answers
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output message_word_t      packet_data_o,    // from the agent, for the lanes of `packet_ports_o`; with `error` where it must not leave
  output logic [7:0]         packet_ports_o,
  output logic               packet_valid_o,   // always taken; at most every 4 cycles
  output register_request_t  reg_request_o,
  output logic               reg_request_valid_o,
  input  logic               reg_request_ready_i,
  input  register_response_t reg_response_i,
  input  logic               reg_response_valid_i,
  output message_frame_t     agent_o,          // header of the answer to the session's last message
  output logic               agent_valid_o,    // there is a session
  output message_event_t     happened_o,
  output logic               idle_o            // no message is under way
);
  localparam int unsigned IndexBits = $clog2(MESSAGE_ACCESSES);

  typedef enum logic [3:0] {StReceive, StJudge, StHello, StFetch, StRequest, StResponse, StStore, StAnswer, StSend, StTake} state_e;

  state_e              state_q;
  message_frame_t      header, answer;
  logic [63:0]         body, session_q, offered_q, offer;
  logic [63:0]         nonce_q, offered_nonce_q;   // of the hello that came last, and of the one that is answered by the offer
  logic [31:0]         sequence_q, answered_q;     // of the session: the last message; the one whose answer is kept
  logic                in_session_q, offers_q, is_answered_q;
  logic                half_q;                     // of the memory: it keeps the last answer, a message comes into the other one
  logic [BodyBits-1:0] body_index, index_q, done_q; // done: accesses of the kept answer
  message_status_t     status_q;
  logic                body_valid, receives_none, received, plausible, genuine, take, good_q;
  logic                is_hello, is_control, is_packet, fits, continues, repeats, fresh;
  logic                fetched_q, send_ready, body_taken;

  assign take   = state_q == StTake;
  assign idle_o = state_q == StReceive && receives_none;

  sl_message_receive u_receive (
    .clk_i, .rst_i, .key_i, .in_data_i, .in_valid_i, .in_ready_o, .header_o(header), .body_o(body), .body_index_o(body_index),
    .body_valid_o(body_valid), .done_o(received), .plausible_o(plausible), .genuine_o(genuine), .idle_o(receives_none),
    .take_i(take)
  );

  // What the message is, and whether it is the session's next one.
  assign is_hello   = header.message.kind == MESSAGE_HELLO;
  assign is_control = header.message.kind == MESSAGE_CONTROL;
  assign is_packet  = header.message.kind == MESSAGE_PACKET_OUT;
  assign fits       = is_packet || (is_hello && header.message.length == 16'(MESSAGE_HELLO_BITS / 8) && header.message.session == '0)
                      || (is_control && header.message.length <= 16'(8 * MESSAGE_ACCESSES) && header.message.length[2:0] == '0);
  assign continues  = in_session_q && header.message.session == session_q;
  assign repeats    = continues && is_control && is_answered_q && header.message.sequence_number == answered_q;
  assign fresh      = (offers_q && header.message.session == offered_q)
                      || (continues && header.message.sequence_number > sequence_q);

  // A hello that comes again gets the same offer: its answers may come in any order.
  assign offer = offers_q && nonce_q == offered_nonce_q ? offered_q : time_i;

  // The memory of bodies. Words are as in the packet.
  logic [63:0]        write_data, read_data;
  logic [IndexBits:0] write_address, read_address;
  /* verilator lint_off UNUSEDSIGNAL */  // reserved bits
  message_access_t    request, result_q;
  /* verilator lint_on UNUSEDSIGNAL */

  assign write_address = body_valid     ? {!half_q, IndexBits'(body_index)}
                         : is_hello     ? {!half_q, IndexBits'(1)} : {half_q, IndexBits'(index_q)};
  assign write_data    = body_valid ? body : swap64(is_hello ? offer : result_q);
  assign read_address  = {half_q ^ is_hello, IndexBits'(index_q)};
  assign request       = message_access_t'(swap64(read_data));

  sl_ram_block #(.Width(64), .Depth(2 * MESSAGE_ACCESSES), .Latency(1)) u_body (
    .clk_i, .write_valid_i(body_valid ? 32'(body_index) < MESSAGE_ACCESSES : state_q == StHello || state_q == StStore),
    .write_address_i(write_address), .write_data_i(write_data),
    .read_valid_i(1'b1), .read_address_i(read_address), .read_data_o(read_data)
  );

  assign reg_request_o       = '{write: request.write, address: request.address, data: request.data};
  assign reg_request_valid_o = state_q == StRequest;

  // A packet's word waits for the next one, or for the verdict on its message.
  message_word_t held_q;
  logic          held_valid_q;
  logic [2:0]    empty;

  assign empty          = 3'(-header.message.length[2:0]);
  assign packet_valid_o = held_valid_q && (body_valid || take);

  always_comb begin
    packet_data_o = held_q;
    if (take) begin
      packet_data_o.eop   = 1'b1;
      packet_data_o.error = !good_q;
      packet_data_o.empty = empty;
      packet_data_o.data  = held_q.data & ({64{1'b1}} >> {empty, 3'd0});
    end
  end

  always_comb begin
    answer = answer_to(header, is_hello ? MESSAGE_SESSION : MESSAGE_RESULT);
    if (!is_hello) begin
      answer.message.status = status_q;
      answer.message.detail = 16'(done_q);
    end
  end

  sl_message_send u_send (
    .clk_i, .rst_i, .key_i, .header_i(answer), .header_valid_i(state_q == StAnswer), .header_ready_o(send_ready),
    .body_i(read_data), .body_valid_i(fetched_q), .body_ready_o(body_taken), .out_data_o, .out_valid_o, .out_ready_i
  );

  assign agent_valid_o = in_session_q;

  always_ff @(posedge clk_i) begin
    happened_o <= '0;
    fetched_q  <= state_q == StSend && !body_taken;
    if (body_valid) begin
      held_q       <= '{error: 1'b0, eop: 1'b0, sop: body_index == '0, empty: '0, data: body};
      held_valid_q <= is_packet;
      if (body_index == '0) packet_ports_o <= header.message.ports;
      if (body_index == '0) nonce_q <= body;
    end else if (take) begin
      held_valid_q <= 1'b0;
    end
    unique case (state_q)
      StReceive: begin
        good_q <= 1'b0;
        if (received) state_q <= StJudge;
      end
      StJudge: begin
        index_q <= '0;
        state_q <= StTake;
        if (!plausible || !fits) begin
          happened_o.malformed <= 1'b1;
        end else if (!genuine) begin
          happened_o.forged <= 1'b1;
        end else if (is_hello) begin
          happened_o.accepted <= 1'b1;
          state_q             <= StHello;
        end else if (repeats) begin
          happened_o.repeated <= 1'b1;
          state_q             <= StAnswer;
        end else if (fresh) begin
          happened_o.accepted <= 1'b1;
          good_q              <= 1'b1;
          in_session_q        <= 1'b1;
          session_q           <= header.message.session;
          offers_q            <= offers_q && header.message.session != offered_q;
          sequence_q          <= header.message.sequence_number;
          agent_o             <= answer;
          if (!continues) is_answered_q <= 1'b0;
          if (is_control) begin
            is_answered_q <= 1'b1;
            answered_q    <= header.message.sequence_number;
            half_q        <= !half_q;
            status_q      <= MESSAGE_DONE;
            state_q       <= StFetch;
          end
        end else begin
          happened_o.unexpected <= 1'b1;
        end
      end
      StHello: begin
        offers_q  <= 1'b1;
        offered_q <= offer;
        offered_nonce_q <= nonce_q;
        state_q   <= StAnswer;
      end
      StFetch: begin
        done_q  <= index_q;
        state_q <= index_q == body_words(header.message.length) ? StAnswer : StRequest;
      end
      StRequest: if (reg_request_ready_i) state_q <= StResponse;
      StResponse: if (reg_response_valid_i) begin
        result_q <= '{write: request.write, failed: reg_response_i.error, reserved: '0, address: request.address, data: reg_response_i.data};
        state_q  <= StStore;
      end
      StStore: begin
        index_q <= index_q + 1'b1;
        state_q <= StFetch;
        if (result_q.failed) begin
          status_q <= MESSAGE_REFUSED;
          state_q  <= StAnswer;
        end
      end
      StAnswer: begin
        index_q <= '0;
        if (send_ready) state_q <= StSend;
      end
      StSend: begin
        if (body_taken) index_q <= index_q + 1'b1;
        if (send_ready) state_q <= StTake;
      end
      default: state_q <= StReceive;
    endcase
    if (rst_i) begin
      state_q       <= StReceive;
      in_session_q  <= 1'b0;
      offers_q      <= 1'b0;
      is_answered_q <= 1'b0;
      held_valid_q  <= 1'b0;
      half_q        <= 1'b0;
      happened_o    <= '0;
    end
  end
endmodule
