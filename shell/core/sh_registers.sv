// SPDX-License-Identifier: Apache-2.0
// Page 0 of the register map (`shell_registers`): identity, control, time, capability list, counters. An access to an unused
// address, or a write to a read-only register, is answered with an error and changes nothing. Time and 64-bit counters are read
// atomically: reading a low word latches the high word.
module sh_registers #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned HostLanes = 0,      // counted after the lanes
  parameter int unsigned Windows = 4,        // page 0 included
  parameter int unsigned ClockKilohertz = 200_000  // 1000 or more
) (
  input  logic                           clk_i,
  input  logic                           rst_i,             // synchronous, active high
  input  sluice_pkg::register_request_t  request_i,
  input  logic                           request_valid_i,
  output logic                           request_ready_o,
  output sluice_pkg::register_response_t response_o,
  output logic                           response_valid_o,
  input  sluice_pkg::shell_registers_values_t values_i,     // what the core measures; what this module gives is ignored
  output sluice_pkg::shell_registers_t   registers_o,       // as the host wrote them
  input  logic [Windows-1:0][31:0]       capability_i,      // element kind and size code of each window
  input  logic                           reset_done_i,      // pulse: clears bit 0 of control
  output logic [63:0]                    time_o,            // core cycles
  output logic [2:0]                     counter_pair_o,    // index of two words of the counters below
  input  logic [Lanes+HostLanes-1:0][63:0] lane_pair_i,
  input  logic [63:0]                    host_pair_i,
  input  logic [63:0]                    graph_pair_i
);
  import sluice_pkg::*;

  localparam int unsigned LanesBits = Lanes + HostLanes > 1 ? $clog2(Lanes + HostLanes) : 1;
  localparam int unsigned WindowsBits = Windows > 1 ? $clog2(Windows) : 1;

  localparam int unsigned PhaseBits = $clog2(ClockKilohertz);

  shell_registers_t next;
  logic [11:0] address;
  logic [31:0] time_high_q, counter_high_q;
  logic [63:0] pair;        // of counters
  logic [4:0]  wide_words;  // number of words of these counters that are halves of 64 bits
  logic        accept, write, failed, wide, is_lane;
  logic [5:0]  window;
  logic [2:0]  lane;
  logic [PhaseBits-1:0] phase_q;  // phase of the microsecond, in parts of ClockKilohertz

  assign accept          = request_valid_i && request_ready_o;
  assign request_ready_o = !response_valid_o;
  assign address         = request_i.address[11:0];
  assign write           = request_i.write[0];
  assign counter_pair_o  = address[5:3];

  // Counters of lanes, host path or graph: two words of them.
  assign is_lane = in_registers(address, SHELL_REGISTERS_LANE_COUNTERS, SHELL_REGISTERS_LANE_COUNTERS_COUNT);
  assign lane    = 3'((address - SHELL_REGISTERS_LANE_COUNTERS) >> 6);
  assign wide    = 5'(address[5:2]) < wide_words;

  always_comb begin
    pair       = '0;
    wide_words = '0;
    if (is_lane) begin
      pair       = lane_pair_i[LanesBits'(lane)];
      wide_words = 5'(LANE_COUNTERS_WIDE_WORDS);
    end else if (in_registers(address, SHELL_REGISTERS_HOST_COUNTERS, SHELL_REGISTERS_HOST_COUNTERS_COUNT)) begin
      pair       = host_pair_i;
      wide_words = 5'(HOST_COUNTERS_WIDE_WORDS);
    end else if (in_registers(address, SHELL_REGISTERS_GRAPH_COUNTERS, SHELL_REGISTERS_GRAPH_COUNTERS_COUNT)) begin
      pair       = graph_pair_i;
      wide_words = 5'(GRAPH_COUNTERS_WIDE_WORDS);
    end
  end

  assign window = 6'((address - SHELL_REGISTERS_CAPABILITY) >> 2);
  assign failed = !shell_registers_allows(address, write) || (is_lane && 32'(lane) >= Lanes + HostLanes);

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    shell_registers_values_t live;
    live                = values_i;
    live.layout_hash    = LAYOUT_HASH;
    live.lanes          = Lanes;
    live.clock_khz      = ClockKilohertz;
    live.windows        = Windows;
    live.time_low       = time_o[31:0];
    live.time_high      = time_high_q;
    live.capability     = 32'(window) < Windows ? capability_i[WindowsBits'(window)] : '0;
    live.lane_counters  = !address[2] ? pair[31:0] : wide ? counter_high_q : pair[63:32];
    live.host_counters  = live.lane_counters;
    live.graph_counters = live.lane_counters;
    return shell_registers_read(shell_registers_values(live, registers_o, address), address);
  endfunction

  // A write comes after what the hardware does to a register in the same cycle.
  always_comb begin
    next = registers_o;
    if (reset_done_i) next.control[0] = 1'b0;
    if (registers_o.tick_source[0] && phase_q >= PhaseBits'(ClockKilohertz - 1000)) next.tick = registers_o.tick + 32'd1;
    if (accept && write && !failed) next = shell_registers_write(next, address, request_i.data);
  end

  always_ff @(posedge clk_i) begin
    time_o           <= time_o + 1'b1;
    response_valid_o <= accept;
    registers_o      <= next;
    if (registers_o.tick_source[0]) begin
      phase_q <= phase_q + PhaseBits'(1000);
      if (phase_q >= PhaseBits'(ClockKilohertz - 1000)) phase_q <= phase_q - PhaseBits'(ClockKilohertz - 1000);
    end
    if (accept) begin
      response_o.error <= failed;
      response_o.data  <= write || failed ? '0 : read();
      if (!write && address == SHELL_REGISTERS_TIME_LOW) time_high_q <= time_o[63:32];
      if (!write && wide && !address[2]) counter_high_q <= pair[63:32];
      if (write && address inside {SHELL_REGISTERS_TICK, SHELL_REGISTERS_TICK_SOURCE}) phase_q <= '0;
    end
    if (rst_i) begin
      time_o           <= '0;
      response_valid_o <= 1'b0;
      registers_o      <= SHELL_REGISTERS_RESET;
      phase_q          <= '0;
      time_high_q      <= '0;
      counter_high_q   <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, request_i.address[REGISTER_ADDRESS_BITS-1:12]};
endmodule
