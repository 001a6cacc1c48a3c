// SPDX-License-Identifier: Apache-2.0
// A scheduler around the process block of the stateful unit, connected as in sl_stateful_core, with a program that is loaded; or, with
// Composed, sl_stateful_core. The flow of a packet is an address that comes with it. Where the scheduler's Latency is above that of the
// block, new states and results are delayed.
module program_harness
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter bit          Composed     = 1'b0,
  parameter int unsigned AddressBits  = 12,
  parameter int unsigned PayloadWidth = 162,  // as record_t, result_t: parameters, so that all of sl_scheduler's are those of its cost
  parameter int unsigned StateWidth   = 64,
  parameter int unsigned ResultWidth  = 292,
  parameter int unsigned Latency      = PROCESS_LOOP,
  parameter bit          Forward      = 1'b1,
  parameter bit          Turns        = 1'b0,
  parameter int unsigned Depth        = 8,
  parameter int unsigned TagBits      = 8,
  parameter int unsigned Window       = 32,
  parameter bit          Reorder      = 1'b1,
  parameter bit          Keeps        = 1'b1,
  parameter int unsigned Ahead        = PROCESS_AHEAD,
  parameter int unsigned Inputs       = 4,    // of the process block, as the others
  parameter int unsigned Conditions   = 4,
  parameter int unsigned Words        = 2,
  parameter int unsigned Updates      = 3,
  parameter int unsigned Entries      = 16,
  parameter int unsigned Actions      = 2,
  localparam int unsigned EntryBits   = $clog2(Entries)
) (
  input  logic                   clk_i,
  input  logic                   rst_i,            // synchronous, active high
  input  logic                   write_valid_i,
  input  process_write_t         write_i,
  input  logic [AddressBits-1:0] in_address_i,
  input  logic [31:0]            in_number_i,      // of the packet
  input  pipeline_phv_t          in_phv_i,
  input  logic [31:0]            in_tick_i,
  input  logic                   in_valid_i,
  output logic                   in_ready_o,
  output logic                   enter_valid_o,    // a packet's inputs enter the process block
  output logic [31:0]            enter_number_o,
  output logic                   issue_valid_o,    // its state does
  output logic [AddressBits-1:0] issue_address_o,
  output logic [31:0]            issue_number_o,
  output logic                   done_valid_o,     // its new state is written
  output logic [31:0]            done_number_o,
  output logic [31:0]            out_number_o,
  output logic [EntryBits-1:0]   out_entry_o,
  output logic [Words-1:0][31:0] out_before_o,
  output logic [Words-1:0][31:0] out_after_o,
  output logic                   out_valid_o,
  input  logic                   out_ready_i,
  input  pipeline_phv_t          acts_phv_i,       // the packet of out_number_o, when it leaves
  output logic                   acted_valid_o,
  output pipeline_phv_t          acted_phv_o       // with its actions
);
  localparam int unsigned Inside = 32;  // packets in front of the scheduler

  typedef struct packed {
    logic                    keeps;
    logic                    version;
    logic [Inputs-1:0][31:0] inputs;
    logic [31:0]             number;
  } record_t;

  typedef struct packed {
    logic [31:0]             number;
    logic [EntryBits-1:0]    entry;
    logic [Inputs-1:0][31:0] inputs;
    logic [Words-1:0][31:0]  old_state;
    logic [Words-1:0][31:0]  new_state;
  } result_t;

  if (PayloadWidth != $bits(record_t) || ResultWidth != $bits(result_t) || StateWidth != 32 * Words || !Keeps || Ahead != PROCESS_AHEAD) begin : gen_wrong
    $error("the scheduler's parameters are not those of this process block");
  end

  // In front of the scheduler: the inputs of the program.
  logic                        enters, taken, inputs_valid, fifo_room, queued_valid, queued_ready, beside;
  logic [$clog2(Inside+1)-1:0] inside_q, unused_count;
  record_t                     record, queued;
  logic [AddressBits-1:0]      address, queued_address;

  assign in_ready_o = 32'(inside_q) < Inside;
  assign enters     = in_valid_i && in_ready_o;
  assign taken      = queued_valid && queued_ready;
  always_ff @(posedge clk_i) begin
    if (enters != taken) inside_q <= enters ? inside_q + 1'b1 : inside_q - 1'b1;
    if (rst_i) inside_q <= '0;
  end

  sl_process_inputs #(.Inputs(Inputs)) u_inputs (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(enters), .phv_i(in_phv_i), .tick_i(in_tick_i), .valid_o(inputs_valid),
    .inputs_o(record.inputs)
  );
  sl_delay #(.Width(33 + AddressBits), .Cycles(PROCESS_INPUT_LATENCY)) u_beside (
    .clk_i, .rst_i, .valid_i(enters), .data_i({in_phv_i.parsed.version, in_number_i, in_address_i}), .valid_o(beside),
    .data_o({record.version, record.number, address})
  );
  assign record.keeps = 1'b1;
  sl_fifo #(.Width(AddressBits + PayloadWidth), .Depth(Inside)) u_records (
    .clk_i, .rst_i, .in_data_i({address, record}), .in_valid_i(inputs_valid), .in_ready_o(fifo_room),
    .out_data_o({queued_address, queued}), .out_valid_o(queued_valid), .out_ready_i(queued_ready), .count_o(unused_count)
  );

  // The scheduler and the loop.
  result_t left;

  if (Composed) begin : gen_core
    // Results come in the order of arrival, so their numbers need not go through.
    logic [31:0] number_q;
    always_ff @(posedge clk_i) begin
      if (out_valid_o && out_ready_i) number_q <= number_q + 1;
      if (rst_i) number_q <= '0;
    end
    sl_stateful_core #(
      .Composed(1'b1), .AddressBits(AddressBits), .Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates),
      .Entries(Entries)
    ) u_core (
      .clk_i, .rst_i, .write_valid_i, .write_i, .in_valid_i(queued_valid), .in_ready_o(queued_ready), .in_address_i(queued_address),
      .in_keeps_i(queued.keeps), .in_fresh_i(1'b0), .in_version_i(queued.version), .in_inputs_i(queued.inputs), .out_valid_o,
      .out_ready_i, .out_entry_o(left.entry), .out_inputs_o(left.inputs), .out_before_o(left.old_state), .out_after_o(left.new_state)
    );
    assign left.number = number_q;
    assign {enter_valid_o, enter_number_o, issue_valid_o, issue_address_o, issue_number_o, done_valid_o, done_number_o} = '0;
    logic unused_number;
    assign unused_number = &{1'b0, queued.number};
  end else begin : gen_scheduler
    record_t                ahead, issued;
    result_t                result, done;
    logic                   take, loop_valid;
    logic [Words-1:0][31:0] state;

    sl_scheduler #(
      .AddressBits(AddressBits), .PayloadWidth(PayloadWidth), .StateWidth(StateWidth), .ResultWidth(ResultWidth), .Latency(Latency),
      .Forward(Forward), .Turns(Turns), .Depth(Depth), .TagBits(TagBits), .Window(Window), .Reorder(Reorder), .Keeps(Keeps), .Ahead(Ahead)
    ) u_scheduler (
      .clk_i, .rst_i, .in_data_i({queued_address, queued}), .in_valid_i(queued_valid), .in_ready_o(queued_ready),
      .ahead_valid_o(enter_valid_o), .ahead_data_o(ahead), .issue_valid_o, .issue_data_o({issue_address_o, issued}),
      .issue_state_o(state), .done_state_i(done.new_state), .done_result_i(done), .out_data_o(left), .out_valid_o, .out_ready_i
    );
    sl_process_loop #(
      .Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates), .Entries(Entries)
    ) u_loop (
      .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(enter_valid_o), .version_i(ahead.version), .inputs_i(ahead.inputs),
      .take_o(take), .state_i(state), .valid_o(loop_valid), .state_o(result.new_state), .before_o(result.old_state), .entry_o(result.entry)
    );
    logic unused_valid;
    sl_delay #(.Width(32 + 32 * Inputs), .Cycles(PROCESS_AHEAD + PROCESS_LOOP)) u_result_beside (
      .clk_i, .rst_i, .valid_i(enter_valid_o), .data_i({ahead.number, ahead.inputs}), .valid_o(unused_valid),
      .data_o({result.number, result.inputs})
    );
    sl_delay #(.Width(ResultWidth), .Cycles(Latency - PROCESS_LOOP)) u_done (
      .clk_i, .rst_i, .valid_i(loop_valid), .data_i(result), .valid_o(done_valid_o), .data_o(done)
    );
    assign enter_number_o = ahead.number;
    assign issue_number_o = issued.number;
    assign done_number_o  = done.number;
    logic unused_scheduler;
    assign unused_scheduler = &{1'b0, take, ahead, issued, unused_valid};
  end
  assign out_number_o   = left.number;
  assign out_entry_o    = left.entry;
  assign out_before_o   = left.old_state;
  assign out_after_o    = left.new_state;

  sl_process_actions #(.Inputs(Inputs), .Words(Words), .Entries(Entries), .Actions(Actions)) u_actions (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(out_valid_o && out_ready_i), .acts_i(1'b1), .phv_i(acts_phv_i),
    .entry_i(left.entry), .inputs_i(left.inputs), .before_i(left.old_state), .after_i(left.new_state), .valid_o(acted_valid_o),
    .phv_o(acted_phv_o)
  );

  logic unused;
  assign unused = &{1'b0, beside, fifo_room, unused_count};
endmodule
