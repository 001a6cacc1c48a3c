// SPDX-License-Identifier: Apache-2.0
// A row of the parser: reads one stack of headers, from Ethernet to transport. Latency STACK_LATENCY, never stalls.
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
  output window_t        window_o,  // valid if state_o.own
  output parse_state_t   state_o    // its record is complete
);
  logic         ethernet_valid, network_valid;
  window_t      ethernet_window, network_window;
  parse_state_t ethernet_state, network_state;

  sl_parse_ethernet u_ethernet (
    .clk_i, .rst_i, .valid_i, .window_i, .words_i, .meta_i,
    .valid_o(ethernet_valid), .window_o(ethernet_window), .state_o(ethernet_state)
  );

  sl_parse_network u_network (
    .clk_i, .rst_i,
    .valid_i(ethernet_valid), .window_i(ethernet_window), .state_i(ethernet_state), .own_i,
    .valid_o(network_valid), .window_o(network_window), .state_o(network_state)
  );

  for (genvar i = 0; i < MAX_EXTENSIONS; i++) begin : gen_extension
    logic         in_valid, valid;
    window_t      in_window, window;
    parse_state_t in_state, state;

    if (i == 0) begin : gen_first
      assign in_valid  = network_valid;
      assign in_window = network_window;
      assign in_state  = network_state;
    end else begin : gen_later
      assign in_valid  = gen_extension[i-1].valid;
      assign in_window = gen_extension[i-1].window;
      assign in_state  = gen_extension[i-1].state;
    end
    sl_parse_extension u_extension (
      .clk_i, .rst_i, .valid_i(in_valid), .window_i(in_window), .state_i(in_state),
      .valid_o(valid), .window_o(window), .state_o(state)
    );
  end

  sl_parse_transport u_transport (
    .clk_i, .rst_i,
    .valid_i(gen_extension[MAX_EXTENSIONS-1].valid), .window_i(gen_extension[MAX_EXTENSIONS-1].window),
    .state_i(gen_extension[MAX_EXTENSIONS-1].state),
    .valid_o, .window_o, .state_o
  );
endmodule
