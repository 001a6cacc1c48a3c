// SPDX-License-Identifier: Apache-2.0
// The parser that is loaded at run time: a row of stages, each of which reads one header. Window in, record out,
// parser_latency(Stages) cycles later; never stalls. A packet is parsed by one version of the program, the one it entered with. Without a program, or with
// headers that the program has no entry for, it leaves with FAULT_PROGRAM; with more headers than stages, with FAULT_CHAIN.
//
// All memories of a stage must be written once before its first packet; afterwards entries of the version that no packet has may be
// written at any time.
module sl_parser
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Stages = PARSER_STAGES  // at least 1
) (
  input  logic          clk_i,
  input  logic          rst_i,          // synchronous, active high: forgets where the versions begin
  input  logic          write_valid_i,
  input  pipeline_write_t write_i,        // effective for packets that enter three cycles later
  input  logic          valid_i,
  input  window_t       window_i,       // bytes beyond the packet's end are undefined
  /* verilator lint_off UNUSEDSIGNAL */ // ingress port, length and mark only
  input  meta_t         meta_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic          version_i,      // of the program, for this packet
  input  logic [3:0]    begins_i,       // the unit that looks it up first
  output logic          valid_o,
  output parsed_t       parsed_o
);
  logic          write_valid_q;
  pipeline_write_t write_q;
  parser_start_t start_q [2];

  always_ff @(posedge clk_i) begin
    write_valid_q <= write_valid_i && !rst_i;
    if (write_valid_i) write_q <= write_i;
    if (write_valid_q && write_q.memory == PARSER_MEMORY_START) start_q[write_q.address[0]] <= write_q.data[PARSER_START_BITS-1:0];
    if (rst_i) start_q <= '{default: '0};
  end

  logic          entered_q;
  parser_walk_t  walk_q;
  parser_words_t words_q;

  function automatic parser_words_t words_of(window_t window, logic [15:0] length);
    parser_words_t result;
    for (int n = 0; n < PARSER_WORDS; n++) begin
      result[n][15:8] = 16'(2 * n) < length ? window[16*n +: 8] : '0;
      result[n][7:0]  = 16'(2 * n + 1) < length ? window[16*n+8 +: 8] : '0;
    end
    return result;
  endfunction

  always_ff @(posedge clk_i) begin
    entered_q <= valid_i && !rst_i;
    if (valid_i) begin
      walk_q                     <= '0;
      for (int n = 0; n < PARSER_LOOKUPS; n++) walk_q.lookups[n] <= parser_one_hot(start_q[version_i].lookups[n]);
      walk_q.record.state        <= start_q[version_i].state;
      walk_q.record.fault        <= start_q[version_i].state == 7'(PARSER_DONE) ? FAULT_PROGRAM : FAULT_NONE;
      walk_q.record.version      <= version_i;
      walk_q.record.ingress_port <= meta_i.ingress_port;
      walk_q.record.length       <= meta_i.length;
      walk_q.record.begins       <= begins_i;
      walk_q.record.containers[PIPELINE_MARK]   <= meta_i.mark[31:16];
      walk_q.record.containers[PIPELINE_MARK+1] <= meta_i.mark[15:0];
      words_q                    <= words_of(window_i, meta_i.length);
    end
  end

  for (genvar s = 0; s < Stages; s++) begin : gen_stage
    logic          in_valid, valid, position_valid;
    logic [6:0]    position;
    parser_walk_t  in_walk, walk;
    parser_reach_t in_reach;

    // The first header begins with the packet. The words wait for the position of another.
    if (s == 0) begin : gen_first
      assign in_valid = entered_q;
      assign in_walk  = walk_q;
      assign in_reach = words_q[PARSER_REACH-1:0];
    end else begin : gen_later
      parser_words_t words;
      logic          words_valid;

      if (s == 1) begin : gen_words
        sl_delay #(.Width($bits(parser_words_t)), .Cycles(PARSER_STAGE_LATENCY - PARSER_REACH_LATENCY + 1)) u_words (
          .clk_i, .rst_i, .valid_i(entered_q), .data_i(words_q), .valid_o(words_valid), .data_o(words)
        );
      end else begin : gen_words
        sl_delay #(.Width($bits(parser_words_t)), .Cycles(PARSER_STAGE_LATENCY)) u_words (
          .clk_i, .rst_i, .valid_i(gen_stage[s-1].gen_later.words_valid), .data_i(gen_stage[s-1].gen_later.words),
          .valid_o(words_valid), .data_o(words)
        );
      end
      sl_parser_reach u_reach (
        .clk_i, .rst_i, .valid_i(gen_stage[s-1].position_valid), .position_i(gen_stage[s-1].position), .words_1_i(words),
        .reach_o(in_reach)
      );
      assign in_valid = gen_stage[s-1].valid;
      assign in_walk  = gen_stage[s-1].walk;

      logic unused;
      assign unused = words_valid;
    end
    sl_parser_stage u_stage (
      .clk_i, .rst_i,
      .write_valid_i(write_valid_q && 32'(write_q.unit) == s), .write_i(write_q),
      .valid_i(in_valid), .walk_i(in_walk), .reach_i(in_reach),
      .position_valid_o(position_valid), .position_o(position), .valid_o(valid), .walk_o(walk)
    );
  end

  parser_walk_t last;
  assign last    = gen_stage[Stages-1].walk;
  assign valid_o = gen_stage[Stages-1].valid;
  always_comb begin
    parsed_o = last.record;
    if (parsed_o.fault == FAULT_NONE && parsed_o.state != 7'(PARSER_DONE)) parsed_o.fault = FAULT_CHAIN;
  end

  logic unused;
  assign unused = &{1'b0, last.lookups, gen_stage[Stages-1].position_valid, gen_stage[Stages-1].position};
endmodule
