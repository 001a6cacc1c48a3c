// SPDX-License-Identifier: Apache-2.0
// The programmable pipeline: a parser, a row of units on one packet header vector, and a deparser, all of whose programs are loaded
// at run time (README.md). A packet goes through the row as its record, and waits here as its flits. One flit a cycle, and one
// packet a cycle. A packet with a fault leaves unchanged for the host, and one without a verdict leaves for the host; one whose
// verdict is to drop it, or to forward it to no port, does not leave. As it leaves, or not, a packet can enter once more (sl_passes).
module el_pipeline
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Stages         = PARSER_STAGES,     // headers of a packet that the parser can read, 1 to 16
  parameter int unsigned Units          = 2,                 // 1 to 15
  parameter int unsigned Writers        = DEPARSER_WRITERS,  // headers of a packet that can be rewritten, 1 to 8
  parameter int unsigned ExactEntries   = 256,               // of each unit; power of two, 8 or more
  parameter int unsigned TernaryEntries = 64,                // of each unit; multiple of 64
  parameter int unsigned PacketFlits    = 512,               // flits that wait for their record; more than the row's latency
  parameter int unsigned PassFlits      = 1024,              // of sl_passes: 2 for each packet inside and 292, or less than one a cycle
  parameter int unsigned Stateful       = 0,                 // bit u: unit u is a stateful one
  parameter bit          StatefulSmall  = 1'b0               // of these: 0: STATEFUL_PAPER, 1: STATEFUL_SMALL
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high; afterwards packets fault until a program is loaded
  input  logic [31:0]        tick_i,               // microseconds
  input  flit_t              in_data_i,            // with the length in the first flit
  input  logic               in_valid_i,
  output logic               in_ready_o,
  output flit_t              out_data_o,
  output logic               out_stays_o,          // the packet is inside still: it leaves once more, or is dropped
  output logic               out_valid_o,
  input  logic               out_ready_i,
  input  register_request_t  reg_request_i,        // window: pipeline_registers
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o, // the cycle after the request is taken
  output deparse_event_t     event_o               // one-cycle pulses, at most one packet per cycle
);
  localparam int unsigned RowLatency = parser_latency(Stages) + units_latency(Units, Stateful) + DEPARSER_CHECKSUM_LATENCY;
  localparam int unsigned Inside     = 2 ** $clog2(RowLatency + 5);  // packets that u_row_gate lets in
  localparam stateful_sizes_t Sizes  = StatefulSmall ? STATEFUL_SMALL : STATEFUL_PAPER;
  localparam int unsigned CountBits  = $clog2(PacketFlits + 1);

  logic                      write_valid, version, counter_begins;
  pipeline_write_t           write;
  lookup_event_t [Units-1:0] lookups;
  flow_event_t [Units-1:0]   flows;

  // A packet comes in, or once more: its flits wait, its first bytes go to the parser.
  flit_t                enter_data;
  logic                 enter_valid, enter_ready;
  flit_t                body;
  logic                 body_in_ready, body_valid, body_ready, window_in_ready, window_valid, window_ready, row_ready;
  window_t              window;
  meta_t                meta;
  logic [CountBits-1:0] unused_count;

  assign enter_ready = body_in_ready && window_in_ready;
  sl_fifo #(.Width(FLIT_BITS), .Depth(PacketFlits), .Style(1)) u_bodies (
    .clk_i, .rst_i, .in_data_i(enter_data), .in_valid_i(enter_valid && window_in_ready), .in_ready_o(body_in_ready),
    .out_data_o(body), .out_valid_o(body_valid), .out_ready_i(body_ready), .count_o(unused_count)
  );
  sl_parse_window u_window (
    .clk_i, .rst_i, .in_data_i(enter_data), .in_valid_i(enter_valid && body_in_ready), .in_ready_o(window_in_ready),
    .window_o(window), .meta_o(meta), .window_valid_o(window_valid), .window_ready_i(window_ready)
  );

  // The row: parser, units, checksums.
  window_t        row_window;
  meta_t          row_meta;
  pipeline_pass_t row_pass;
  logic           enters, row_valid, record_valid, record_ready;
  pipeline_phv_t  row_phv, record;

  assign row_pass = pass_of(row_meta);

  assign window_ready = row_ready && !counter_begins;  // a cycle without a packet passes all units: a read of counters
  sl_pipe_gate #(.InWidth(WINDOW_BITS + META_BITS), .OutWidth(PIPELINE_PHV_BITS), .Latency(RowLatency)) u_row_gate (
    .clk_i, .rst_i, .in_data_i({window, meta}), .in_valid_i(window_valid && !counter_begins), .in_ready_o(row_ready),
    .stage_valid_o(enters), .stage_data_o({row_window, row_meta}), .stage_valid_i(row_valid), .stage_data_i(row_phv),
    .out_data_o(record), .out_valid_o(record_valid), .out_ready_i(record_ready)
  );
  sl_pipeline_row #(
    .Stages(Stages), .Units(Units), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries), .Stateful(Stateful), .Sizes(Sizes),
    .Inside(Inside)
  ) u_row (
    .clk_i, .rst_i, .tick_i, .write_valid_i(write_valid), .write_i(write), .pause_i(counter_begins),
    .valid_i(enters), .window_i(row_window), .meta_i(row_meta), .version_i(row_pass.begins == '0 ? version : row_pass.version),
    .begins_i(row_pass.begins),
    .valid_o(row_valid), .phv_o(row_phv), .lookups_o(lookups), .flows_o(flows)
  );

  // The packet meets its record again, and leaves as the record says.
  flit_t joined, left;
  logic  joined_valid, joined_ready, left_valid, left_ready, meets, turn_in_ready, turn_valid, leaves;

  assign meets        = !body.sop || (record_valid && turn_in_ready);
  assign joined_valid = body_valid && meets;
  assign body_ready   = joined_ready && meets;
  assign record_ready = joined_ready && body_valid && body.sop && turn_in_ready;
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

  sl_pipeline_rewrite #(.Writers(Writers)) u_rewrite (
    .clk_i, .rst_i, .write_valid_i(write_valid), .write_i(write),
    .in_data_i({record.splice, record.parsed, joined}), .in_valid_i(joined_valid), .in_ready_o(joined_ready),
    .out_data_o(left), .out_valid_o(left_valid), .out_ready_i(left_ready)
  );

  // What its pass was, and whether it asks for another, goes beside the deparser.
  pipeline_pass_t body_pass, joined_pass, left_pass;
  logic [3:0]     left_again;
  logic [6:0]     unused_turns;

  assign body_pass   = pass_of(body.meta);
  assign joined_pass = '{version: record.parsed.version, begins: record.parsed.begins, longest: body_pass.longest};
  sl_fifo #(.Width($bits(pipeline_pass_t) + 4), .Depth(64)) u_turns (
    .clk_i, .rst_i, .in_data_i({joined_pass, record.again}), .in_valid_i(record_ready && record_valid), .in_ready_o(turn_in_ready),
    .out_data_o({left_pass, left_again}), .out_valid_o(turn_valid), .out_ready_i(leaves), .count_o(unused_turns)
  );

  // A packet that is to be dropped ends here, and one that asks for it begins anew.
  logic            to_drop, to_nowhere, passes_ready, ends, passes, refused;
  pipeline_event_t happened;

  assign to_drop    = left.meta.verdict == VERDICT_DROP;
  assign to_nowhere = left.meta.verdict == VERDICT_FORWARD && left.meta.egress_mask == '0;
  assign left_ready = passes_ready && (!left.sop || turn_valid);
  assign leaves     = left_valid && left_ready && left.sop;
  assign happened   = '{entered: enters && row_pass.begins == '0, left: ends, version: left_pass.version,
                        dropped: ends && (to_drop || to_nowhere), fault: leaves && left.meta.fault != FAULT_NONE,
                        passes: passes, refused: refused};

  sl_passes #(.Units(Units), .Flits(PassFlits)) u_passes (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o,
    .enter_data_o(enter_data), .enter_valid_o(enter_valid), .enter_ready_i(enter_ready),
    .left_data_i(left), .left_pass_i(left_pass), .left_again_i(left_again), .left_dropped_i(to_drop || to_nowhere),
    .left_valid_i(left_valid && (!left.sop || turn_valid)), .left_ready_o(passes_ready),
    .out_data_o, .out_stays_o, .out_valid_o, .out_ready_i, .ends_o(ends), .passes_o(passes), .refused_o(refused)
  );

  always_ff @(posedge clk_i) begin
    event_o <= '0;
    if (leaves && !rst_i) begin
      event_o.forwarded    <= left.meta.verdict == VERDICT_FORWARD && !to_nowhere;
      event_o.to_host      <= left.meta.verdict == VERDICT_TO_HOST || left.meta.verdict == VERDICT_TO_CONTROLLER;
      event_o.drop_rule    <= to_drop && ends;
      event_o.drop_no_port <= to_nowhere && ends;
      event_o.fault        <= happened.fault;
    end
  end

  logic           counters_ready, counter_valid, counter_done;
  logic [3:0]     counter_unit;
  logic [15:0]    counter_action;
  rule_counters_t counter_data;

  sl_pipeline_registers #(
    .Stages(Stages), .Units(Units), .Writers(Writers), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries),
    .Stateful(Stateful), .Sizes(Sizes)
  ) u_registers (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .happened_i(happened), .lookups_i(lookups), .flows_i(flows), .version_o(version), .write_valid_o(write_valid), .write_o(write),
    .counters_ready_i(counters_ready), .counter_begins_o(counter_begins), .counter_valid_o(counter_valid),
    .counter_unit_o(counter_unit), .counter_action_o(counter_action), .counter_done_i(counter_done), .counter_data_i(counter_data)
  );
  sl_pipeline_counters #(.Units(Units), .Actions(ExactEntries + TernaryEntries + 2), .Without(Stateful)) u_counters (
    .clk_i, .rst_i, .ready_o(counters_ready), .tick_i, .write_valid_i(write_valid), .write_i(write), .lookups_i(lookups),
    .read_valid_i(counter_valid), .read_unit_i(counter_unit), .read_action_i(counter_action),
    .read_done_o(counter_done), .read_data_o(counter_data)
  );

  logic unused;
  assign unused = &{1'b0, unused_count, unused_turns, body_pass, row_pass, record.next};

  sl_channel_check #(.Width(FLIT_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
