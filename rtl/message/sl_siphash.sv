// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 (Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012) of messages of whole 64-bit words; byte 0 is in bits
// 7:0. Half a round a cycle: a word takes 4 cycles, the end 13.
module sl_siphash (
  input  logic         clk_i,
  input  logic         rst_i,      // synchronous, active high
  input  logic [127:0] key_i,      // byte 0 in bits 7:0; read with the first word
  input  logic [63:0]  word_i,
  input  logic         first_i,    // with valid_i: a message begins with this word; one before it that has not ended is forgotten
  input  logic         last_i,     // with valid_i: the message ends after this word
  input  logic         valid_i,
  output logic         ready_o,
  output logic [63:0]  tag_o,      // holds until the next message begins
  output logic         tag_valid_o // the message before is hashed; 0 from its first word on
);
  typedef struct packed {logic [63:0] v3, v2, v1, v0;} state_t;
  typedef enum logic [1:0] {StReady, StWord, StLength, StEnd} state_e;

  localparam logic [255:0] Initial = {64'h7465646279746573, 64'h6c7967656e657261, 64'h646f72616e646f6d, 64'h736f6d6570736575};

  state_e      state_q;
  state_t      hash_q, base, next;
  logic [63:0] word_q;
  logic [4:0]  words_q;    // of the message, modulo 32
  logic [2:0]  halves_q;   // half-rounds done
  logic        last_q, second;

  // Two half-rounds make SipRound; in each, the two additions do not depend on each other.
  function automatic state_t half_round(state_t s, logic odd);
    state_t n;
    if (!odd) begin
      n.v0 = s.v0 + s.v1;
      n.v1 = {s.v1[50:0], s.v1[63:51]} ^ n.v0;
      n.v0 = {n.v0[31:0], n.v0[63:32]};
      n.v2 = s.v2 + s.v3;
      n.v3 = {s.v3[47:0], s.v3[63:48]} ^ n.v2;
    end else begin
      n.v0 = s.v0 + s.v3;
      n.v3 = {s.v3[42:0], s.v3[63:43]} ^ n.v0;
      n.v2 = s.v2 + s.v1;
      n.v1 = {s.v1[46:0], s.v1[63:47]} ^ n.v2;
      n.v2 = {n.v2[31:0], n.v2[63:32]};
    end
    return n;
  endfunction

  assign second  = halves_q[0];
  assign next    = half_round(hash_q, second);
  assign ready_o = state_q == StReady;
  assign base    = first_i ? state_t'(Initial ^ {key_i, key_i}) : hash_q;
  assign tag_o   = hash_q.v0;

  always_ff @(posedge clk_i) begin
    if (state_q == StReady) begin
      halves_q <= '0;
      if (valid_i) begin
        hash_q      <= base;
        hash_q.v3   <= base.v3 ^ word_i;
        word_q      <= word_i;
        last_q      <= last_i;
        words_q     <= first_i ? 5'd1 : words_q + 1'b1;
        tag_valid_o <= 1'b0;
        state_q     <= StWord;
      end
    end else begin
      hash_q   <= next;
      halves_q <= halves_q + 1'b1;
      if (state_q != StEnd && halves_q == 3'd3) begin
        hash_q.v0 <= next.v0 ^ word_q;
        halves_q  <= '0;
        state_q   <= StReady;
        if (last_q) begin  // one more word: the length in bytes, modulo 256
          word_q    <= {words_q, 59'd0};
          hash_q.v3 <= next.v3 ^ {words_q, 59'd0};
          last_q    <= 1'b0;
          state_q   <= StLength;
        end
        if (state_q == StLength) begin
          hash_q.v2 <= next.v2 ^ 64'hff;
          state_q   <= StEnd;
        end
      end
      if (state_q == StEnd && halves_q == 3'd7) begin
        hash_q.v0   <= next.v0 ^ next.v1 ^ next.v2 ^ next.v3;
        tag_valid_o <= 1'b1;
        state_q     <= StReady;
      end
    end
    if (rst_i) begin
      state_q     <= StReady;
      tag_valid_o <= 1'b0;
    end
  end
endmodule
