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
  input  logic [Windows-1:0][31:0]       capability_i,      // element kind and size code of each window
  input  logic                           ready_i,
  input  logic                           idle_i,
  input  logic                           reset_done_i,      // pulse: clears bit 0 of control
  output logic [2:0]                     control_o,
  output logic [63:0]                    time_o,            // core cycles
  output logic [31:0]                    tick_o,            // microseconds, from the clock or as the host writes them
  output logic [7:0]                     host_share_o,
  output logic [2:0]                     counter_pair_o,    // index of two words of the counters below
  input  logic [Lanes+HostLanes-1:0][63:0] lane_pair_i,
  input  logic [63:0]                    host_pair_i,
  input  logic [63:0]                    graph_pair_i
);
  import sluice_pkg::*;

  localparam int unsigned LanesBits = Lanes + HostLanes > 1 ? $clog2(Lanes + HostLanes) : 1;
  localparam int unsigned WindowsBits = Windows > 1 ? $clog2(Windows) : 1;

  localparam int unsigned PhaseBits = $clog2(ClockKilohertz);

  logic [11:0] address;
  logic [31:0] data, time_high_q, counter_high_q;
  logic [63:0] pair;        // of counters
  logic [4:0]  wide_words;  // number of words of these counters that are halves of 64 bits
  logic        known, writable, wide, tick_source_q;
  logic [7:0]  index;       // index in a register array
  logic [PhaseBits-1:0] phase_q;  // phase of the microsecond, in parts of ClockKilohertz

  assign request_ready_o = !response_valid_o;
  assign address         = request_i.address[11:0];
  assign counter_pair_o  = address[5:3];
  assign wide            = 5'(address[5:2]) < wide_words;

  function automatic logic in_array(logic [11:0] at, logic [11:0] base, int unsigned count);
    return at >= base && 32'(at) < 32'(base) + 4 * count;
  endfunction

  always_comb begin
    known      = 1'b1;
    writable   = 1'b0;
    data       = '0;
    index      = '0;
    pair       = '0;
    wide_words = '0;
    unique case (address)
      SHELL_REGISTERS_MAGIC:       data = DEVICE_MAGIC;
      SHELL_REGISTERS_VERSION:     data = DEVICE_VERSION;
      SHELL_REGISTERS_LAYOUT_HASH: data = LAYOUT_HASH;
      SHELL_REGISTERS_LANES:       data = Lanes;
      SHELL_REGISTERS_CLOCK_KHZ:   data = ClockKilohertz;
      SHELL_REGISTERS_WINDOWS:     data = Windows;
      SHELL_REGISTERS_STATUS:      data = {30'd0, idle_i, ready_i};
      SHELL_REGISTERS_TIME_LOW:    data = time_o[31:0];
      SHELL_REGISTERS_TIME_HIGH:   data = time_high_q;
      SHELL_REGISTERS_CONTROL: begin
        data     = 32'(control_o);
        writable = 1'b1;
      end
      SHELL_REGISTERS_TICK: begin
        data     = tick_o;
        writable = 1'b1;
      end
      SHELL_REGISTERS_HOST_SHARE: begin
        data     = 32'(host_share_o);
        writable = 1'b1;
      end
      SHELL_REGISTERS_TICK_SOURCE: begin
        data     = 32'(tick_source_q);
        writable = 1'b1;
      end
      default: begin
        if (in_array(address, SHELL_REGISTERS_CAPABILITY, SHELL_REGISTERS_CAPABILITY_COUNT)) begin
          index = 8'((address - SHELL_REGISTERS_CAPABILITY) >> 2);
          data  = 32'(index) < Windows ? capability_i[index[WindowsBits-1:0]] : '0;
        end else if (in_array(address, SHELL_REGISTERS_LANE_COUNTERS, 16 * (Lanes + HostLanes))) begin
          index      = 8'((address - SHELL_REGISTERS_LANE_COUNTERS) >> 6);
          pair       = lane_pair_i[index[LanesBits-1:0]];
          wide_words = 5'(LANE_COUNTERS_WIDE_WORDS);
        end else if (in_array(address, SHELL_REGISTERS_HOST_COUNTERS, SHELL_REGISTERS_HOST_COUNTERS_COUNT)) begin
          pair       = host_pair_i;
          wide_words = 5'(HOST_COUNTERS_WIDE_WORDS);
        end else if (in_array(address, SHELL_REGISTERS_GRAPH_COUNTERS, SHELL_REGISTERS_GRAPH_COUNTERS_COUNT)) begin
          pair       = graph_pair_i;
          wide_words = 5'(GRAPH_COUNTERS_WIDE_WORDS);
        end else begin
          known = 1'b0;
        end
        if (wide_words != '0) data = !address[2] ? pair[31:0] : wide ? counter_high_q : pair[63:32];
      end
    endcase
  end

  logic accept;
  assign accept = request_valid_i && request_ready_o;

  always_ff @(posedge clk_i) begin
    time_o           <= time_o + 1'b1;
    response_valid_o <= accept;
    if (reset_done_i) control_o[0] <= 1'b0;
    if (tick_source_q) begin
      phase_q <= phase_q + PhaseBits'(1000);
      if (phase_q >= PhaseBits'(ClockKilohertz - 1000)) begin
        phase_q <= phase_q - PhaseBits'(ClockKilohertz - 1000);
        tick_o  <= tick_o + 32'd1;
      end
    end
    if (accept) begin
      response_o.error <= !known || (request_i.write && !writable);
      response_o.data  <= request_i.write || !known ? '0 : data;
      if (!request_i.write && address == SHELL_REGISTERS_TIME_LOW) time_high_q <= time_o[63:32];
      if (!request_i.write && wide && !address[2]) counter_high_q <= pair[63:32];
      if (request_i.write && address == SHELL_REGISTERS_CONTROL)    control_o    <= request_i.data[2:0];
      if (request_i.write && address == SHELL_REGISTERS_TICK)       tick_o       <= request_i.data;
      if (request_i.write && address == SHELL_REGISTERS_TICK_SOURCE) tick_source_q <= request_i.data[0];
      if (request_i.write && address inside {SHELL_REGISTERS_TICK, SHELL_REGISTERS_TICK_SOURCE}) phase_q <= '0;
      if (request_i.write && address == SHELL_REGISTERS_HOST_SHARE) host_share_o <= request_i.data[7:0];
    end
    if (rst_i) begin
      time_o           <= '0;
      response_valid_o <= 1'b0;
      control_o        <= '0;
      tick_o           <= '0;
      tick_source_q    <= 1'b1;
      phase_q          <= '0;
      host_share_o     <= 8'd32;
      time_high_q      <= '0;
      counter_high_q   <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, request_i.address[REGISTER_ADDRESS_BITS-1:12], index};
endmodule
