// SPDX-License-Identifier: Apache-2.0
// The flow of a packet of a stateful unit: makes the key that the version of its program selects (`flow_selector_t`), and finds or makes
// the flow in a table. A packet a cycle, STATEFUL_PLACE_LATENCY cycles, never stalls.
module sl_stateful_flow
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned KeyWords = FLOW_KEY_WORDS,  // of 16 bits, 1 to 16
  parameter int unsigned Sets     = 1024,            // a power of two
  parameter int unsigned Ways     = 4,               // 2 to 8
  localparam int unsigned SetBits = $clog2(Sets),
  localparam int unsigned WayBits = $clog2(Ways)
) (
  input  logic               clk_i,
  input  logic               rst_i,          // synchronous, active high
  input  logic [31:0]        tick_i,         // microseconds
  input  logic               write_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // not all of a write and of a packet
  input  pipeline_write_t    write_i,
  input  logic               valid_i,
  input  parsed_t            parsed_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic               valid_o,
  output logic               found_o,        // these four are 0 without valid_o
  output logic               made_o,
  output logic               evicted_o,
  output logic               expired_o,
  output logic [SetBits-1:0] set_o,
  output logic [WayBits-1:0] way_o           // with found_o or made_o
);
  localparam int unsigned KeyBits = 16 * KeyWords + FLOW_EPOCH_BITS;

  // The selector of a version, as it is used. The last word is that of `insert`.
  typedef struct packed {
    source_choice_t [KeyWords:0] words;
    logic [16*KeyWords-1:0]      mask;
    logic [FLOW_EPOCH_BITS-1:0]  epoch;
    logic [15:0]                 insert_mask;
    logic                        any_source;
  } choice_t;

  /* verilator lint_off UNUSEDSIGNAL */  // words that this unit has not
  function automatic choice_t choice_of_selector(flow_selector_t selector);
    for (int w = 0; w < KeyWords; w++) choice_of_selector.words[w] = choice_of(selector.words[w]);
    choice_of_selector.words[KeyWords] = choice_of(selector.insert_source);
    choice_of_selector.mask            = selector.mask[16*KeyWords-1:0];
    choice_of_selector.epoch           = selector.epoch;
    choice_of_selector.insert_mask     = selector.insert_mask;
    choice_of_selector.any_source      = 32'(selector.insert_source) >= UNIT_SOURCES;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  choice_t [1:0]            selector_q;  // of each version
  choice_t                  choice_q, choice_2_q;
  flow_settings_t           settings_q;
  pipeline_sources_t        sources_q;
  logic [KeyWords:0][15:0]  word;
  logic [KeyBits-1:0]       key_q;
  logic                     insert_q;
  logic [STATEFUL_KEY_LATENCY:1]       valid_q;
  logic [STATEFUL_KEY_LATENCY:1][31:0] tick_q;

  sl_source_select #(.Words(KeyWords + 1)) u_key (.clk_i, .sources_i(sources_q), .choice_i(choice_q.words), .word_o(word));

  always_ff @(posedge clk_i) begin
    if (write_valid_i && write_i.memory == UNIT_MEMORY_SELECTOR) begin
      selector_q[write_i.address[0]] <= choice_of_selector(flow_selector_t'(write_i.data[$bits(flow_selector_t)-1:0]));
    end
    settings_q.flush <= 1'b0;
    if (write_valid_i && write_i.memory == UNIT_MEMORY_FLOWS) settings_q <= write_i.data[$bits(flow_settings_t)-1:0];
    choice_q   <= selector_q[parsed_i.version];
    sources_q  <= sources_of(parsed_i);
    choice_2_q <= choice_q;
    key_q      <= {choice_2_q.epoch, word[KeyWords-1:0] & choice_2_q.mask};
    insert_q   <= ((word[KeyWords] | {16{choice_2_q.any_source}}) & choice_2_q.insert_mask) != '0;
    valid_q    <= {valid_q[STATEFUL_KEY_LATENCY-1:1], valid_i};
    tick_q     <= {tick_q[STATEFUL_KEY_LATENCY-1:1], tick_i};
    if (rst_i) begin
      valid_q    <= '0;
      settings_q <= '0;
    end
  end

  logic       unused_ready;
  logic [7:0] unused_generation;
  sl_flow_place #(.KeyBits(KeyBits), .Sets(Sets), .Ways(Ways)) u_place (
    .clk_i, .rst_i, .secret_i(settings_q.secret), .timeout_i(settings_q.timeout), .now_i(tick_q[STATEFUL_KEY_LATENCY]),
    .evict_i(settings_q.evict), .flush_i(settings_q.flush), .ready_o(unused_ready), .key_valid_i(valid_q[STATEFUL_KEY_LATENCY]),
    .key_i(key_q), .insert_i(insert_q), .result_valid_o(valid_o), .found_o, .new_o(made_o), .evicted_o, .expired_o, .set_o, .way_o,
    .generation_o(unused_generation), .remove_valid_i(1'b0), .remove_set_i('0), .remove_way_i('0), .remove_generation_i('0)
  );

  logic unused;
  assign unused = &{1'b0, unused_ready, unused_generation, choice_2_q.words};
endmodule
