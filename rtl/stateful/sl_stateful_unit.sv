// SPDX-License-Identifier: Apache-2.0
// A stateful unit of the programmable pipeline: finds or makes the flow of a packet by a key of any words of its PHV, and has the
// process block make of the packet and the state of the flow a new packet and a new state. Each packet sees the state that all packets
// of its flow before it left; a packet without a flow sees 0 and leaves none (`models/stateful_unit.py`). Packets leave in the order in
// which they came, those for other units unchanged.
//
// A packet a cycle, except that packets of one flow are PROCESS_LOOP cycles apart, if the updates of their program do not compose
// (sl_stateful_core). Packets wait inside for as long as that takes: whoever
// sends them must not have more than `Inside` of them inside. All memories must be written once before the first packet; afterwards
// those of a version that no packet has, and at any time global and table state and the settings of flows.
module sl_stateful_unit
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Number     = 0,                   // of this unit
  parameter int unsigned Inside     = 512,                 // packets, at least 4
  parameter int unsigned KeyWords   = FLOW_KEY_WORDS,      // of 16 bits, 1 to 16
  parameter int unsigned Sets       = 1024,                // of flows, a power of two
  parameter int unsigned Ways       = 4,                   // 2 to 8
  parameter int unsigned Inputs     = PROCESS_INPUTS,      // of sl_process, as the others
  parameter int unsigned Conditions = PROCESS_CONDITIONS,
  parameter int unsigned Words      = PROCESS_WORDS,
  parameter int unsigned Updates    = PROCESS_UPDATES,
  parameter int unsigned Entries    = PROCESS_ENTRIES,
  parameter int unsigned Actions    = PROCESS_ACTIONS,
  parameter bit          Composed   = 1'b1                 // packets of programs whose updates compose do not wait for each other
) (
  input  logic            clk_i,
  input  logic            rst_i,          // synchronous, active high; afterwards no packet has a flow until the table is clear
  input  logic [31:0]     tick_i,         // microseconds
  input  logic            write_valid_i,  // to a unit, if to this one
  input  pipeline_write_t write_i,        // effective for packets that enter four cycles later
  input  logic            pause_i,        // a cycle without a packet is needed behind this unit
  input  logic            valid_i,
  input  pipeline_phv_t   phv_i,
  output logic            valid_o,
  output pipeline_phv_t   phv_o,
  output flow_event_t     event_o         // of each packet of this unit
);
  localparam int unsigned SetBits      = $clog2(Sets);
  localparam int unsigned WayBits      = $clog2(Ways);
  localparam int unsigned AddressBits  = SetBits + WayBits;
  localparam int unsigned EntryBits    = $clog2(Entries);

  logic            write_valid_q, mine;
  pipeline_write_t write_q;
  process_write_t  process_write;
  logic            process_write_valid;

  always_ff @(posedge clk_i) begin
    write_valid_q <= write_valid_i && 32'(write_i.unit) == Number && !rst_i;
    if (write_valid_i) write_q <= write_i;
  end
  assign process_write_valid = write_valid_q && write_q.memory == UNIT_MEMORY_PROCESS;
  assign process_write       = '{data: write_q.data[71:0], address: write_q.address[10:0],
                                 memory: process_memory_t'(write_q.address[14:11])};
  assign mine                = 32'(phv_i.next) == Number && phv_i.parsed.fault == FAULT_NONE;

  // All packets wait, in order, for what the process block makes of those of this unit.
  pipeline_phv_t              phv;
  logic                       waiting_mine, waiting_valid, waiting_ready, phv_room;
  logic [$clog2(Inside+1)-1:0] unused_phvs;

  sl_fifo #(.Width(1 + PIPELINE_PHV_BITS), .Depth(Inside), .Style(1)) u_phvs (
    .clk_i, .rst_i, .in_data_i({mine, phv_i}), .in_valid_i(valid_i), .in_ready_o(phv_room),
    .out_data_o({waiting_mine, phv}), .out_valid_o(waiting_valid), .out_ready_i(waiting_ready), .count_o(unused_phvs)
  );

  // The flow, and beside it the inputs of the program.
  logic                    placed, found, made, evicted, expired, inputs_valid, inputs_late_valid, version;
  logic [SetBits-1:0]      set;
  logic [WayBits-1:0]      way;
  logic [Inputs-1:0][31:0] inputs, inputs_late;
  logic                    beside;

  sl_stateful_flow #(.KeyWords(KeyWords), .Sets(Sets), .Ways(Ways)) u_flow (
    .clk_i, .rst_i, .tick_i, .write_valid_i(write_valid_q), .write_i(write_q), .valid_i(valid_i && mine), .parsed_i(phv_i.parsed),
    .valid_o(placed), .found_o(found), .made_o(made), .evicted_o(evicted), .expired_o(expired), .set_o(set), .way_o(way)
  );
  sl_process_inputs #(.Inputs(Inputs)) u_inputs (
    .clk_i, .rst_i, .write_valid_i(process_write_valid), .write_i(process_write), .valid_i(valid_i && mine), .phv_i, .tick_i,
    .valid_o(inputs_valid), .inputs_o(inputs)
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(STATEFUL_PLACE_LATENCY - PROCESS_INPUT_LATENCY)) u_inputs_late (
    .clk_i, .rst_i, .valid_i(inputs_valid), .data_i(inputs), .valid_o(inputs_late_valid), .data_o(inputs_late)
  );
  sl_delay #(.Width(1), .Cycles(STATEFUL_PLACE_LATENCY)) u_version (
    .clk_i, .rst_i, .valid_i(valid_i && mine), .data_i(phv_i.parsed.version), .valid_o(beside), .data_o(version)
  );

  // Without a flow any address will do; different ones do not wait for each other.
  typedef struct packed {
    logic [AddressBits-1:0]  address;
    logic                    keeps;  // has a flow
    logic                    fresh;  // the state is 0
    logic                    version;
    logic [Inputs-1:0][31:0] inputs;
  } record_t;
  record_t                     record, queued;
  logic [AddressBits-1:0]      nowhere_q;
  logic                        record_room, queued_valid, queued_ready;
  logic [$clog2(Inside+1)-1:0] unused_records;

  assign record = '{address: found || made ? {set, way} : nowhere_q, keeps: found || made, fresh: !found, version: version,
                    inputs: inputs_late};
  always_ff @(posedge clk_i) begin
    if (placed) nowhere_q <= nowhere_q + 1'b1;
    if (rst_i) nowhere_q <= '0;
    event_o <= '{looked_up: placed && !rst_i, found: found, made: made, evicted: evicted, expired: expired};
  end

  sl_fifo #(.Width($bits(record_t)), .Depth(Inside), .Style(1)) u_records (
    .clk_i, .rst_i, .in_data_i(record), .in_valid_i(placed), .in_ready_o(record_room),
    .out_data_o(queued), .out_valid_o(queued_valid), .out_ready_i(queued_ready), .count_o(unused_records)
  );

  // State of the flow, new state.
  logic                    result_valid, result_ready;
  logic [EntryBits-1:0]    entry;
  logic [Inputs-1:0][31:0] inputs_done;
  logic [Words-1:0][31:0]  old_state, new_state;

  sl_stateful_core #(
    .Composed(Composed), .AddressBits(AddressBits), .Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates),
    .Entries(Entries)
  ) u_core (
    .clk_i, .rst_i, .write_valid_i(process_write_valid), .write_i(process_write), .in_valid_i(queued_valid), .in_ready_o(queued_ready),
    .in_address_i(queued.address), .in_keeps_i(queued.keeps), .in_fresh_i(queued.fresh), .in_version_i(queued.version),
    .in_inputs_i(queued.inputs), .out_valid_o(result_valid), .out_ready_i(result_ready), .out_entry_o(entry),
    .out_inputs_o(inputs_done), .out_before_o(old_state), .out_after_o(new_state)
  );

  // The packet, with its actions.
  logic acts;

  assign acts          = waiting_valid && waiting_ready;
  assign waiting_ready = !pause_i && (!waiting_mine || result_valid);
  assign result_ready  = !pause_i && waiting_valid && waiting_mine;
  sl_process_actions #(.Inputs(Inputs), .Words(Words), .Entries(Entries), .Actions(Actions)) u_actions (
    .clk_i, .rst_i, .write_valid_i(process_write_valid), .write_i(process_write), .valid_i(acts), .acts_i(waiting_mine), .phv_i(phv),
    .entry_i(entry), .inputs_i(inputs_done), .before_i(old_state), .after_i(new_state), .valid_o, .phv_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      if (valid_i) a_room_for_every_packet : assert (phv_room);
      if (placed) a_room_for_every_record : assert (record_room);
      a_beside : assert (placed == inputs_late_valid && placed == beside);
    end
  end
`endif
  logic unused;
  assign unused = &{1'b0, phv_room, record_room, inputs_late_valid, beside, unused_phvs, unused_records, write_q};
endmodule
