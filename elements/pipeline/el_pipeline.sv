// SPDX-License-Identifier: Apache-2.0
// The programmable pipeline: a parser, a row of units on one packet header vector, and a deparser, all of whose programs are loaded
// at run time (README.md). A packet goes through the row as its record, and waits here as its flits. One flit a cycle, and one
// packet a cycle. A packet with a fault leaves unchanged for the host, and one without a verdict leaves for the host; one whose
// verdict is to drop it, or to forward it to no port, does not leave.
module el_pipeline
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Stages         = PARSER_STAGES,     // headers of a packet that the parser can read, 1 to 16
  parameter int unsigned Units          = 2,                 // 1 to 15
  parameter int unsigned Writers        = DEPARSER_WRITERS,  // headers of a packet that can be rewritten, 1 to 8
  parameter int unsigned ExactEntries   = 256,               // of each unit; power of two, 8 or more
  parameter int unsigned TernaryEntries = 64,                // of each unit; multiple of 64
  parameter int unsigned PacketFlits    = 512                // flits that wait for their record; more than the row's latency
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high; afterwards packets fault until a program is loaded
  input  logic [31:0]        tick_i,               // microseconds
  input  flit_t              in_data_i,            // with the length in the first flit
  input  logic               in_valid_i,
  output logic               in_ready_o,
  output flit_t              out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  input  register_request_t  reg_request_i,        // window: pipeline_registers
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o, // the cycle after the request is taken
  output deparse_event_t     event_o               // one-cycle pulses, at most one packet per cycle
);
  localparam int unsigned RowLatency = parser_latency(Stages) + Units * UNIT_LATENCY + DEPARSER_CHECKSUM_LATENCY;
  localparam int unsigned CountBits  = $clog2(PacketFlits + 1);

  logic                      write_valid, version, counter_begins;
  pipeline_write_t           write;
  lookup_event_t [Units-1:0] lookups;

  // A packet comes in: its flits wait, its first bytes go to the parser.
  flit_t                body;
  logic                 body_in_ready, body_valid, body_ready, window_in_ready, window_valid, window_ready, row_ready;
  window_t              window;
  meta_t                meta;
  logic [CountBits-1:0] unused_count;

  assign in_ready_o = body_in_ready && window_in_ready;
  sl_fifo #(.Width(FLIT_BITS), .Depth(PacketFlits), .Style(1)) u_bodies (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(in_valid_i && window_in_ready), .in_ready_o(body_in_ready),
    .out_data_o(body), .out_valid_o(body_valid), .out_ready_i(body_ready), .count_o(unused_count)
  );
  sl_parse_window u_window (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(in_valid_i && body_in_ready), .in_ready_o(window_in_ready),
    .window_o(window), .meta_o(meta), .window_valid_o(window_valid), .window_ready_i(window_ready)
  );

  // The row: parser, units, checksums.
  window_t       row_window;
  meta_t         row_meta;
  logic          enters, row_valid, record_valid, record_ready;
  pipeline_phv_t row_phv, record;

  assign window_ready = row_ready && !counter_begins;  // a cycle without a packet passes all units: a read of counters
  sl_pipe_gate #(.InWidth(WINDOW_BITS + META_BITS), .OutWidth(PIPELINE_PHV_BITS), .Latency(RowLatency)) u_row_gate (
    .clk_i, .rst_i, .in_data_i({window, meta}), .in_valid_i(window_valid && !counter_begins), .in_ready_o(row_ready),
    .stage_valid_o(enters), .stage_data_o({row_window, row_meta}), .stage_valid_i(row_valid), .stage_data_i(row_phv),
    .out_data_o(record), .out_valid_o(record_valid), .out_ready_i(record_ready)
  );
  sl_pipeline_row #(
    .Stages(Stages), .Units(Units), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries)
  ) u_row (
    .clk_i, .rst_i, .write_valid_i(write_valid), .write_i(write),
    .valid_i(enters), .window_i(row_window), .meta_i(row_meta), .version_i(version),
    .valid_o(row_valid), .phv_o(row_phv), .lookups_o(lookups)
  );

  // The packet meets its record again, and leaves through the deparser.
  flit_t   joined, deparse_in, deparsed, left;
  parsed_t deparse_record;
  logic    joined_valid, joined_ready, deparse_valid, deparsed_valid, left_valid, left_ready;

  assign joined_valid = body_valid && (!body.sop || record_valid);
  assign body_ready   = joined_ready && (!body.sop || record_valid);
  assign record_ready = joined_ready && body_valid && body.sop;
  always_comb begin
    joined = body;
    if (body.sop) begin
      joined.meta.fault       = record.parsed.fault;
      joined.meta.verdict     = record.parsed.fault != FAULT_NONE || record.verdict == VERDICT_PASS ? VERDICT_TO_HOST : record.verdict;
      joined.meta.egress_mask = record.egress_mask;
      joined.meta.queue       = record.queue;
      joined.meta.mark        = {record.parsed.containers[PIPELINE_MARK], record.parsed.containers[PIPELINE_MARK+1]};
    end
  end

  sl_pipe_gate #(.InWidth(FLIT_BITS + PARSED_BITS), .OutWidth(FLIT_BITS), .Latency(DEPARSER_LATENCY)) u_deparse_gate (
    .clk_i, .rst_i, .in_data_i({joined, record.parsed}), .in_valid_i(joined_valid), .in_ready_o(joined_ready),
    .stage_valid_o(deparse_valid), .stage_data_o({deparse_in, deparse_record}),
    .stage_valid_i(deparsed_valid), .stage_data_i(deparsed),
    .out_data_o(left), .out_valid_o(left_valid), .out_ready_i(left_ready)
  );
  sl_deparser #(.Writers(Writers)) u_deparser (
    .clk_i, .rst_i, .write_valid_i(write_valid), .write_i(write),
    .valid_i(deparse_valid), .flit_i(deparse_in), .record_i(deparse_record), .valid_o(deparsed_valid), .flit_o(deparsed)
  );

  // A packet that is to be dropped ends here.
  logic            to_drop, to_nowhere, dropped, dropped_q, leaves;
  pipeline_event_t happened;

  assign to_drop     = left.meta.verdict == VERDICT_DROP;
  assign to_nowhere  = left.meta.verdict == VERDICT_FORWARD && left.meta.egress_mask == '0;
  assign dropped     = left.sop ? to_drop || to_nowhere : dropped_q;
  assign out_data_o  = left;
  assign out_valid_o = left_valid && !dropped;
  assign left_ready  = out_ready_i || dropped;
  assign leaves      = left_valid && left_ready && left.sop;
  assign happened    = '{entered: enters, left: leaves, dropped: leaves && dropped, fault: leaves && left.meta.fault != FAULT_NONE};

  always_ff @(posedge clk_i) begin
    if (left_valid && left_ready) dropped_q <= dropped;
    event_o <= '0;
    if (leaves && !rst_i) begin
      event_o.forwarded    <= left.meta.verdict == VERDICT_FORWARD && !dropped;
      event_o.to_host      <= left.meta.verdict == VERDICT_TO_HOST || left.meta.verdict == VERDICT_TO_CONTROLLER;
      event_o.drop_rule    <= to_drop;
      event_o.drop_no_port <= to_nowhere;
      event_o.fault        <= happened.fault;
    end
  end

  logic           counters_ready, counter_valid, counter_done;
  logic [3:0]     counter_unit;
  logic [15:0]    counter_action;
  rule_counters_t counter_data;

  sl_pipeline_registers #(
    .Stages(Stages), .Units(Units), .Writers(Writers), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries)
  ) u_registers (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .happened_i(happened), .lookups_i(lookups), .version_o(version), .write_valid_o(write_valid), .write_o(write),
    .counters_ready_i(counters_ready), .counter_begins_o(counter_begins), .counter_valid_o(counter_valid),
    .counter_unit_o(counter_unit), .counter_action_o(counter_action), .counter_done_i(counter_done), .counter_data_i(counter_data)
  );
  sl_pipeline_counters #(.Units(Units), .Actions(ExactEntries + TernaryEntries + 2)) u_counters (
    .clk_i, .rst_i, .ready_o(counters_ready), .tick_i, .write_valid_i(write_valid), .write_i(write), .lookups_i(lookups),
    .read_valid_i(counter_valid), .read_unit_i(counter_unit), .read_action_i(counter_action),
    .read_done_o(counter_done), .read_data_o(counter_data)
  );

  logic unused;
  assign unused = &{1'b0, unused_count, record.next, record.splice, record.again};

  sl_channel_check #(.Width(FLIT_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
