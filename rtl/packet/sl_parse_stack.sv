// SPDX-License-Identifier: Apache-2.0
// A row of the parser: reads one stack of headers, from Ethernet to the transport header. Latency STACK_LATENCY, never
// stalls.
module sl_parse_stack
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,     // synchronous, active high
  input  logic           valid_i,
  input  window_t        window_i,  // Ethernet at byte 0
  input  pointer_t       words_i,   // of the window
  input  meta_t          meta_i,
  input  own_addresses_t own_i,
  output logic           valid_o,   // STACK_LATENCY cycles after valid_i
  output window_t        window_o,  // where state_o.own
  output parse_state_t   state_o    // its record is finished
);
  // Index n: after n parts.
  localparam int unsigned Parts = 2 + MAX_EXTENSIONS;
  window_t      [Parts:1] part_window;
  parse_state_t [Parts:1] part_state;
  logic         [Parts:1] part_valid;

  sl_parse_ethernet u_ethernet (
    .clk_i, .rst_i, .valid_i, .window_i, .words_i, .meta_i,
    .valid_o(part_valid[1]), .window_o(part_window[1]), .state_o(part_state[1])
  );

  sl_parse_network u_network (
    .clk_i, .rst_i,
    .valid_i(part_valid[1]), .window_i(part_window[1]), .state_i(part_state[1]), .own_i,
    .valid_o(part_valid[2]), .window_o(part_window[2]), .state_o(part_state[2])
  );

  for (genvar i = 2; i < Parts; i++) begin : gen_extension
    sl_parse_extension u_extension (
      .clk_i, .rst_i,
      .valid_i(part_valid[i]), .window_i(part_window[i]), .state_i(part_state[i]),
      .valid_o(part_valid[i+1]), .window_o(part_window[i+1]), .state_o(part_state[i+1])
    );
  end

  sl_parse_transport u_transport (
    .clk_i, .rst_i,
    .valid_i(part_valid[Parts]), .window_i(part_window[Parts]), .state_i(part_state[Parts]),
    .valid_o, .window_o, .state_o
  );
endmodule
