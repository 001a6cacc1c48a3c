// SPDX-License-Identifier: Apache-2.0
// Sends one message: its header, the words of its body, and the tag of both (layouts/message). A word every 4 cycles.
module sl_message_send
  import sluice_pkg::*;
  import sl_message_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,         // synchronous, active high
  input  logic [127:0]   key_i,         // 0: the tag is 0
  input  message_frame_t header_i,
  input  logic           header_valid_i,
  output logic           header_ready_o,
  input  logic [63:0]    body_i,        // bytes behind the end of the body are ignored
  input  logic           body_valid_i,
  output logic           body_ready_o,
  output message_word_t  out_data_o,
  output logic           out_valid_o,
  input  logic           out_ready_i
);
  typedef enum logic [1:0] {StIdle, StHeader, StBody, StTag} state_e;

  state_e              state_q;
  message_words_t      words_q;
  logic [2:0]          count_q;      // header words sent
  logic [BodyBits-1:0] left_q;       // body words to send
  logic [2:0]          empty_q;      // unused bytes of the last of them
  logic                hashed, hash_ready, tag_valid, have, move, offer;
  logic [63:0]         word, tag;

  assign header_ready_o = state_q == StIdle;
  assign hashed = state_q == StBody || count_q >= 3'(HashedFrom);
  assign have   = state_q == StHeader || (state_q == StBody && body_valid_i);
  assign offer  = state_q == StTag ? tag_valid : have && (!hashed || hash_ready);
  assign move   = offer && out_ready_i;
  assign body_ready_o = move && state_q == StBody;
  assign word = state_q == StHeader ? words_q[0]
                : body_i & (left_q == BodyBits'(1) ? 64'hffff_ffff_ffff_ffff >> {empty_q, 3'd0} : '1);

  sl_siphash u_hash (
    .clk_i, .rst_i, .key_i, .word_i(word), .first_i(state_q == StHeader && count_q == 3'(HashedFrom)),
    .last_i(state_q == StHeader ? count_q == '1 && left_q == '0 : left_q == BodyBits'(1)),
    .valid_i(hashed && have && out_ready_i), .ready_o(hash_ready), .tag_o(tag), .tag_valid_o(tag_valid)
  );

  assign out_valid_o = offer;
  assign out_data_o  = '{
    error: 1'b0, eop: state_q == StTag, sop: state_q == StHeader && count_q == '0, empty: '0,
    data: state_q == StTag ? (key_i == '0 ? '0 : tag) : word
  };

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        words_q <= words_of(header_i);
        left_q  <= body_words(header_i.message.length);
        empty_q <= 3'(-header_i.message.length[2:0]);
        count_q <= '0;
        if (header_valid_i) state_q <= StHeader;
      end
      StHeader: if (move) begin
        words_q <= words_q >> 64;
        count_q <= count_q + 1'b1;
        if (count_q == '1) state_q <= left_q == '0 ? StTag : StBody;
      end
      StBody: if (move) begin
        left_q <= left_q - 1'b1;
        if (left_q == BodyBits'(1)) state_q <= StTag;
      end
      default: if (move) state_q <= StIdle;
    endcase
    if (rst_i) state_q <= StIdle;
  end
endmodule
