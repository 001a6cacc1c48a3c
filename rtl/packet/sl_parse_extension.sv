// SPDX-License-Identifier: Apache-2.0
// Third part of the parser, MAX_EXTENSIONS instances in a row: one IPv6 extension header each. Latency 2, never stalls: the first
// cycle selects the header's word, the second checks it and advances the pointer. A header that fails sets the record's fault and
// no field.
module sl_parse_extension
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,     // synchronous, active high
  input  logic         valid_i,
  input  window_t      window_i,
  input  parse_state_t state_i,
  output logic         valid_o,   // EXTENSION_LATENCY cycles after valid_i
  output window_t      window_o,
  output parse_state_t state_o
);
  logic         valid_q, active_q;
  window_t      window_q;
  parse_state_t state_q;
  logic [31:0]  word_q;       // first word of the header
  logic [15:0]  remaining_q;  // bytes from the pointer to the end of the IP packet

  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the header are read
  function automatic parse_state_t parse(parse_state_t state, logic [31:0] word, logic [15:0] remaining);
    parse_state_t s;
    logic [9:0]   words;
    s = state;
    case (s.record.phv.ip_protocol)
      IP_PROTOCOL_FRAGMENT: words = 10'd2;
      IP_PROTOCOL_AH:       words = 10'(word[23:16]) + 10'd2;
      default:              words = {1'b0, word[23:16], 1'b0} + 10'd2;
    endcase
    s.record.fault = header_fault(remaining, s.words, s.pointer, 10'd2);
    if (s.record.fault == FAULT_NONE) s.record.fault = header_fault(remaining, s.words, s.pointer, words);
    if (s.record.fault == FAULT_NONE) begin
      if (s.record.phv.ip_protocol == IP_PROTOCOL_FRAGMENT) begin
        s.record.phv.ip_fragment = {2'd0, word[0], word[15:3]};
        if (word[0] || word[15:3] != '0) s.record.info.is_fragment = 1'b1;
        if (word[15:3] != '0) s.chain = 1'b0;
      end
      s.record.phv.ip_protocol    = word[31:24];
      s.record.info.ip_options    = 1'b1;
      s.record.info.header_length = s.record.info.header_length + {words[5:0], 2'd0};
      s.pointer                   = s.pointer + words[POINTER_BITS-1:0];
    end
    return s;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // One block per cycle: if one block reads and writes a register, a simulator copies the whole register every cycle.
  always_ff @(posedge clk_i) begin
    valid_q <= valid_i && !rst_i;
    if (valid_i) begin
      window_q    <= window_i;
      state_q     <= state_i;
      word_q      <= window_word(window_i, state_i.pointer);
      remaining_q <= state_i.limit - {8'd0, 8'({state_i.pointer, 2'b10})};
      active_q    <= state_i.chain && state_i.record.fault == FAULT_NONE && is_extension(state_i.record.phv.ip_protocol);
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o <= valid_q && !rst_i;
    if (valid_q) begin
      window_o <= window_q;
      state_o  <= active_q ? parse(state_q, word_q, remaining_q) : state_q;
    end
  end
endmodule
