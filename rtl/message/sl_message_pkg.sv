// SPDX-License-Identifier: Apache-2.0
// Messages as words of 8 bytes, byte 0 in bits 7:0, and what is computed from their headers.
package sl_message_pkg;
  import sluice_pkg::*;

  localparam int unsigned HeaderWords = MESSAGE_FRAME_BITS / 64;
  localparam int unsigned HashedFrom  = 5;   // the tag covers word 5, without the UDP checksum, and all behind it
  localparam int unsigned BodyBits    = 11;  // of a number of body words: EGRESS_BYTES / 8 fit

  typedef struct packed {
    logic        error;  // at eop
    logic        eop;
    logic        sop;
    logic [2:0]  empty;  // unused bytes, at eop; 0 elsewhere
    logic [63:0] data;
  } message_word_t;

  typedef logic [HeaderWords-1:0][63:0] message_words_t;

  // Pulses.
  typedef struct packed {
    logic accepted;
    logic repeated;
    logic malformed;
    logic forged;
    logic unexpected;
  } message_event_t;

  function automatic logic [63:0] swap64(logic [63:0] x);
    logic [63:0] y;
    for (int unsigned i = 0; i < 8; i++) y[8*i +: 8] = x[8*(7-i) +: 8];
    return y;
  endfunction

  function automatic message_frame_t frame_of(message_words_t words);
    message_words_t big;
    for (int unsigned i = 0; i < HeaderWords; i++) big[HeaderWords-1-i] = swap64(words[i]);
    return message_frame_t'(big);
  endfunction

  function automatic message_words_t words_of(message_frame_t frame);
    message_words_t big, words;
    big = frame;
    for (int unsigned i = 0; i < HeaderWords; i++) words[i] = swap64(big[HeaderWords-1-i]);
    return words;
  endfunction

  // Words that a body of so many bytes takes, padding included.
  function automatic logic [BodyBits-1:0] body_words(logic [15:0] length);
    return BodyBits'((32'(length) + 7) / 8);
  endfunction

  // Total length of an IP packet with such a body.
  function automatic logic [15:0] total_length(logic [15:0] length);
    return 16'(MESSAGE_FRAME_BITS / 8 - ETHERNET_BITS / 8 + MESSAGE_TAG_BYTES) + 16'(8 * 32'(body_words(length)));
  endfunction

  // The header with a body of so many bytes. IPv4 checksum: RFC 1624, equation 3.
  function automatic message_frame_t with_length(message_frame_t frame, logic [15:0] length);
    message_frame_t changed;
    logic [17:0]    sum;
    changed                   = frame;
    changed.ipv4.total_length = total_length(length);
    sum = 18'(16'(~frame.ipv4.checksum)) + 18'(16'(~frame.ipv4.total_length)) + 18'(changed.ipv4.total_length);
    sum = 18'(sum[15:0]) + 18'(sum[17:16]);
    sum = 18'(sum[15:0]) + 18'(sum[17:16]);
    changed.ipv4.checksum     = ~sum[15:0];
    changed.udp.length        = changed.ipv4.total_length - 16'(IPV4_BITS / 8);
    changed.message.length    = length;
    return changed;
  endfunction

  // The header of a message of the same length, back to where `frame` came from.
  function automatic message_frame_t answer_to(message_frame_t frame, message_type_t kind);
    message_frame_t answer;
    answer                      = frame;
    answer.ethernet.destination = frame.ethernet.source;
    answer.ethernet.source      = frame.ethernet.destination;
    answer.ipv4.source          = frame.ipv4.destination;
    answer.ipv4.destination     = frame.ipv4.source;
    answer.udp.source_port      = frame.udp.destination_port;
    answer.udp.destination_port = frame.udp.source_port;
    answer.udp.checksum         = '0;
    answer.message.kind         = kind;
    answer.message.status       = '0;
    answer.message.ports        = '0;
    answer.message.detail       = '0;
    return answer;
  endfunction
endpackage
