// SPDX-License-Identifier: Apache-2.0
// Receives one message: takes its header apart, passes the words of its body on, and checks headers, lengths, checksums and tag. Of
// what is no message (`plausible_o` 0), nothing else is defined, and nothing is known of the body. A word every 4 cycles.
module sl_message_receive
  import sluice_pkg::*;
  import sl_message_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_i,         // synchronous, active high
  input  logic [127:0]        key_i,         // 0: the tag is not checked
  /* verilator lint_off UNUSEDSIGNAL */
  input  message_word_t       in_data_i,     // whole packets: that the first word is one is known
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                in_valid_i,
  output logic                in_ready_o,
  output message_frame_t      header_o,      // from the first word of the body on
  output logic [63:0]         body_o,
  output logic [BodyBits-1:0] body_index_o,
  output logic                body_valid_o,  // pulse
  output logic                done_o,        // the packet has ended; until taken
  output logic                plausible_o,
  output logic                genuine_o,     // the tag is right
  output logic                idle_o,        // no word of a message has come
  input  logic                take_i
);
  typedef enum logic [2:0] {StHeader, StPlausible, StBody, StTag, StCheck, StSkip, StDone} state_e;

  localparam logic [15:0] UdpInSum = {8'(IP_PROTOCOL_UDP), 8'd0};  // of the pseudo header, in the order of the packet's bytes

  state_e              state_q;
  message_words_t      words_q;
  message_frame_t      header;
  logic [2:0]          count_q;                // header words received
  logic [BodyBits-1:0] index_q, left_q, bodies;
  logic [63:0]         word, ip_word, udp_word, tag, tag_q;
  logic [18:0]         ip_sum_q, udp_sum_q;
  logic                hashed, hash_ready, hash_last, tag_valid, move, form_q, right_sums;

  assign header   = frame_of(words_q);
  assign header_o = header;
  // Word 5 of the header has the length: it is the one before the last of `words_q` when the last word of the header comes.
  assign bodies   = body_words(frame_of({in_data_i.data, words_q[HeaderWords-1:1]}).message.length);
  assign hashed   = state_q == StBody || (state_q == StHeader && count_q >= 3'(HashedFrom));
  assign hash_last = state_q == StBody ? left_q == BodyBits'(1) : count_q == '1 && bodies == '0;
  assign word     = state_q == StHeader && count_q == 3'(HashedFrom) ? in_data_i.data & ~64'hffff : in_data_i.data;
  assign in_ready_o = state_q == StSkip || state_q == StTag || ((state_q == StHeader || state_q == StBody) && (!hashed || hash_ready));
  assign move     = in_valid_i && in_ready_o;

  sl_siphash u_hash (
    .clk_i, .rst_i, .key_i, .word_i(word), .first_i(state_q == StHeader && count_q == 3'(HashedFrom)), .last_i(hash_last),
    .valid_i(hashed && in_valid_i), .ready_o(hash_ready), .tag_o(tag), .tag_valid_o(tag_valid)
  );

  // One's complement sums, of the packet's words as they are: bytes 14 to 33, and from 26 on.
  function automatic logic [18:0] add(logic [18:0] sum, logic [63:0] data);
    return 19'(sum[15:0]) + 19'(sum[18:16]) + 19'(data[15:0]) + 19'(data[31:16]) + 19'(data[47:32]) + 19'(data[63:48]);
  endfunction

  function automatic logic is_right(logic [18:0] sum);
    logic [16:0] folded;
    folded = 17'(sum[15:0]) + 17'(sum[18:16]);
    return folded == 17'h0ffff;
  endfunction

  always_comb begin
    ip_word  = '0;
    udp_word = '0;
    if (state_q == StHeader) begin
      unique case (count_q)
        3'd1: ip_word[63:48] = in_data_i.data[63:48];
        3'd2: ip_word = in_data_i.data;
        3'd3: begin
          ip_word  = in_data_i.data;
          udp_word = {in_data_i.data[63:16], UdpInSum};
        end
        3'd4: begin
          ip_word[15:0] = in_data_i.data[15:0];
          udp_word      = in_data_i.data;
        end
        3'd5: udp_word = in_data_i.data;
        3'd6: udp_word = in_data_i.data;
        3'd7: udp_word = in_data_i.data;
        default: ;
      endcase
    end else begin
      udp_word = in_data_i.data;
    end
  end

  // The pseudo header has the length of UDP a second time.
  assign right_sums = is_right(ip_sum_q)
                      && (header.udp.checksum == '0 || is_right(add(udp_sum_q, {48'd0, header.udp.length[7:0], header.udp.length[15:8]})));

  function automatic logic is_message(message_frame_t frame);
    return frame.ethernet.ethertype == ETHERTYPE_IPV4 && frame.ipv4.version == 4'd4 && frame.ipv4.ihl == 4'd5
           && !frame.ipv4.more_fragments && frame.ipv4.fragment_offset == '0 && frame.ipv4.protocol == IP_PROTOCOL_UDP
           && frame.ipv4.total_length == total_length(frame.message.length)
           && frame.udp.destination_port == 16'(MESSAGE_PORT) && frame.udp.length == frame.ipv4.total_length - 16'(IPV4_BITS / 8)
           && frame.message.magic == 16'(MESSAGE_MAGIC) && frame.message.version == 8'(MESSAGE_VERSION)
           && frame.message.length <= 16'(EGRESS_BYTES);
  endfunction

  assign body_o       = in_data_i.data;
  assign body_index_o = index_q;
  assign body_valid_o = move && state_q == StBody;
  assign done_o       = state_q == StDone;
  assign idle_o       = state_q == StHeader && count_q == '0;
  assign plausible_o  = form_q;

  always_ff @(posedge clk_i) begin
    if (move) begin
      ip_sum_q  <= add(ip_sum_q, ip_word);
      udp_sum_q <= add(udp_sum_q, udp_word);
      tag_q     <= in_data_i.data;
    end
    unique case (state_q)
      StHeader: if (move) begin
        words_q <= {in_data_i.data, words_q[HeaderWords-1:1]};
        count_q <= count_q + 1'b1;
        index_q <= '0;
        left_q  <= bodies;
        form_q  <= 1'b0;
        if (in_data_i.eop) state_q <= StDone;
        else if (count_q == '1) state_q <= StPlausible;
      end
      StPlausible: begin
        form_q  <= is_message(header);
        state_q <= !is_message(header) ? StSkip : left_q == '0 ? StTag : StBody;
      end
      StBody: if (move) begin
        index_q <= index_q + 1'b1;
        left_q  <= left_q - 1'b1;
        if (in_data_i.eop) form_q <= 1'b0;
        if (in_data_i.eop) state_q <= StDone;
        else if (left_q == BodyBits'(1)) state_q <= StTag;
      end
      StTag: if (move) begin
        form_q  <= in_data_i.eop && !in_data_i.error && in_data_i.empty == '0;
        state_q <= in_data_i.eop ? StCheck : StSkip;
      end
      StCheck: if (tag_valid) begin
        form_q    <= form_q && right_sums;
        genuine_o <= key_i == '0 || tag == tag_q;
        state_q   <= StDone;
      end
      StSkip: if (move && in_data_i.eop) state_q <= StDone;
      default: if (take_i) begin
        state_q   <= StHeader;
        count_q   <= '0;
        ip_sum_q  <= '0;
        udp_sum_q <= '0;
      end
    endcase
    if (rst_i) begin
      state_q   <= StHeader;
      count_q   <= '0;
      ip_sum_q  <= '0;
      udp_sum_q <= '0;
    end
  end
endmodule
