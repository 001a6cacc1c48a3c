// SPDX-License-Identifier: Apache-2.0
// The row of the programmable pipeline: parser, units, checksums. Window in, PHV out, a packet a cycle, in order. Packets wait in
// stateful units, so whoever sends them must not have more than `Inside` of them in here; without such units the latency is fixed.
module sl_pipeline_row
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Stages         = PARSER_STAGES,
  parameter int unsigned Units          = 2,    // at least 1
  parameter int unsigned ExactEntries   = 256,  // of each unit
  parameter int unsigned TernaryEntries = 64,   // of each unit
  parameter int unsigned Stateful       = 0,    // bit u: unit u is a stateful one
  parameter stateful_sizes_t Sizes      = STATEFUL_PAPER,
  parameter int unsigned Inside         = 512
) (
  input  logic             clk_i,
  input  logic             rst_i,          // synchronous, active high
  input  logic [31:0]      tick_i,         // microseconds
  input  logic             write_valid_i,
  input  pipeline_write_t  write_i,        // effective for packets that enter four cycles later
  input  logic             pause_i,        // no packet enters in this cycle, and behind each stateful unit there shall be one without
  input  logic             valid_i,
  input  window_t          window_i,       // bytes beyond the packet's end are undefined
  input  meta_t            meta_i,
  input  logic             version_i,      // of the program, for this packet
  input  logic [3:0]       begins_i,       // the unit that looks it up first
  output logic             valid_o,
  output pipeline_phv_t    phv_o,
  output lookup_event_t [Units-1:0] lookups_o,
  output flow_event_t [Units-1:0] flows_o
);
  logic                 parsed_valid, last_valid, original_valid, repaired_valid, verdict_valid;
  parsed_t              parsed;
  pipeline_phv_t        first, last;
  pipeline_containers_t original;

  sl_parser #(.Stages(Stages)) u_parser (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i, .window_i, .meta_i, .version_i, .begins_i,
    .valid_o(parsed_valid), .parsed_o(parsed)
  );
  always_comb begin
    first        = '0;
    first.parsed = parsed;
    first.next   = parsed.begins;
  end

  sl_units #(
    .Units(Units), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries), .Stateful(Stateful), .Sizes(Sizes), .Inside(Inside)
  ) u_units (
    .clk_i, .rst_i, .tick_i, .write_valid_i, .write_i, .pause_i, .valid_i(parsed_valid), .phv_i(first), .valid_o(last_valid), .phv_o(last),
    .lookups_o, .flows_o
  );
  if (Stateful == 0) begin : gen_delay
    sl_delay_block #(.Width($bits(pipeline_containers_t)), .Cycles(Units * UNIT_LATENCY)) u_original (
      .clk_i, .rst_i, .valid_i(parsed_valid), .data_i(parsed.containers), .valid_o(original_valid), .data_o(original)
    );
  end else begin : gen_fifo
    logic                        unused_room;
    logic [$clog2(Inside+1)-1:0] unused_count;

    sl_fifo #(.Width($bits(pipeline_containers_t)), .Depth(Inside), .Style(1)) u_original (
      .clk_i, .rst_i, .in_data_i(parsed.containers), .in_valid_i(parsed_valid), .in_ready_o(unused_room),
      .out_data_o(original), .out_valid_o(original_valid), .out_ready_i(last_valid), .count_o(unused_count)
    );
  end
  sl_deparser_checksums u_checksums (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(last_valid), .record_i(last.parsed), .original_i(original),
    .valid_o(repaired_valid), .record_o(phv_o.parsed)
  );
  sl_delay #(.Width(PIPELINE_PHV_BITS - PARSED_BITS), .Cycles(DEPARSER_CHECKSUM_LATENCY)) u_verdict (
    .clk_i, .rst_i, .valid_i(last_valid), .data_i({last.verdict, last.egress_mask, last.queue, last.next, last.splice, last.again}),
    .valid_o(verdict_valid), .data_o({phv_o.verdict, phv_o.egress_mask, phv_o.queue, phv_o.next, phv_o.splice, phv_o.again})
  );
  assign valid_o = repaired_valid;

  logic unused;
  assign unused = &{1'b0, verdict_valid, original_valid};
endmodule
