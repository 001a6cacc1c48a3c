// SPDX-License-Identifier: Apache-2.0
// Register window of the programmable pipeline (`pipeline_registers`): writes to its memories, the version that packets get, and
// counters. An invalid access, a place that no memory has, or a change of the version while packets of the other one are in flight
// answers an error and changes nothing. Requests wait while the counters of an action are read.
module sl_pipeline_registers
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Stages         = PARSER_STAGES,
  parameter int unsigned Units          = 2,
  parameter int unsigned Writers        = DEPARSER_WRITERS,
  parameter int unsigned ExactEntries   = 256,  // of each unit
  parameter int unsigned TernaryEntries = 64,   // of each unit
  parameter int unsigned Stateful       = 0,    // bit u: unit u is a stateful one
  parameter stateful_sizes_t Sizes      = STATEFUL_PAPER
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t  reg_request_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o, // the cycle after the request is taken
  input  pipeline_event_t    happened_i,
  input  lookup_event_t [Units-1:0] lookups_i,
  input  flow_event_t [Units-1:0] flows_i,
  output logic               version_o,
  output logic               write_valid_o,        // pulse
  output pipeline_write_t    write_o,
  input  logic               counters_ready_i,
  output logic               counter_begins_o,     // pulse: a read of counters begins
  output logic               counter_valid_o,      // reads the counters of this action; stable until counter_done_i
  output logic [3:0]         counter_unit_o,
  output logic [15:0]        counter_action_o,
  input  logic               counter_done_i,       // pulse
  input  rule_counters_t     counter_data_i        // from the cycle after counter_done_i on
);
  localparam int unsigned InFlightBits = 16;
  localparam int unsigned Entries = ExactEntries + TernaryEntries;
  localparam int unsigned Actions = Entries + 2;

  pipeline_registers_t     registers_q;
  logic [11:0]             address;
  logic                    taken, write, is_place, is_version, is_counter, refused, failed;
  logic [InFlightBits-1:0] in_flight_q, in_flight, draining_q;
  logic [3:0]              changing_q;  // the version changes, after the writes before it are effective
  logic [31:0]             dropped_q, faults_q, passes_q, refused_q;
  logic [15:0][31:0]       looked_up_q, matched_q;
  logic [15:0][31:0]       made_q, evicted_q, expired_q, absent_q;  // of the flows of stateful units
  logic [3:0]              reading_q;  // counters are read; the last bit: all actions that were written before have their counters
  logic [3:0][31:0]        counter_words;

  assign taken      = reg_request_valid_i && reg_request_ready_o;
  assign address    = reg_request_i.address[11:0];
  assign write      = reg_request_i.write[0];
  assign is_place   = write && address == PIPELINE_REGISTERS_PLACE;
  assign is_version = write && address == PIPELINE_REGISTERS_VERSION;
  assign is_counter = write && address == PIPELINE_REGISTERS_COUNTER_INDEX;

  function automatic logic place_exists(pipeline_memory_t memory, logic [3:0] unit, logic [15:0] place);
    logic stateful, stateless;
    stateful  = 32'(unit) < Units && Stateful[32'(unit)];
    stateless = 32'(unit) < Units && !Stateful[32'(unit)];
    unique case (memory)
      PARSER_MEMORY_MATCH:           return 32'(unit) < Stages && 32'(place) < 4 * PARSER_ENTRIES;
      PARSER_MEMORY_STEP:            return 32'(unit) < Stages && 32'(place) < PARSER_ENTRIES;
      PARSER_MEMORY_START:           return place < 16'd2;
      DEPARSER_MEMORY_ROW:           return 32'(unit) < Writers && 32'(place) < 2 * PARSER_KINDS;
      DEPARSER_MEMORY_BASE:          return 32'(unit) < Writers && place < 16'd2;
      DEPARSER_MEMORY_CHECKSUM_ROW:  return 32'(unit) < DEPARSER_CHECKSUMS && 32'(place) < 2 * PARSER_KINDS;
      DEPARSER_MEMORY_CHECKSUM_BASE: return 32'(unit) < DEPARSER_CHECKSUMS && place < 16'd2;
      DEPARSER_MEMORY_SPLICE:        return 32'(place) < 2 * SPLICES;
      UNIT_MEMORY_SELECTOR:          return 32'(unit) < Units && place < 16'd2;
      UNIT_MEMORY_EXACT:             return stateless && 32'(place[13:0]) < ExactEntries / UNIT_WAYS;
      UNIT_MEMORY_TERNARY:           return stateless && 32'(place) < 4 * TernaryEntries;
      UNIT_MEMORY_ACTION:            return stateless && 32'(place) < Actions;
      UNIT_MEMORY_PROCESS:           return stateful && place[15:11] <= 5'(PROCESS_MEMORY_COMPOSED);
      UNIT_MEMORY_FLOWS:             return stateful && place == '0;
      default:                       return 1'b0;
    endcase
  endfunction

  assign refused = (is_place && (reg_request_i.data[31:24] != '0
                                 || !place_exists(pipeline_memory_t'(reg_request_i.data[23:20]), reg_request_i.data[19:16],
                                                  reg_request_i.data[15:0])))
                   || (is_counter && (reg_request_i.data[31:20] != '0 || !counters_ready_i
                                      || !place_exists(UNIT_MEMORY_ACTION, reg_request_i.data[19:16], reg_request_i.data[15:0])))
                   || (is_version && reg_request_i.data[0] != registers_q.version && (draining_q != '0 || changing_q != '0));
  assign failed  = !pipeline_registers_allows(address, write) || refused;

  // Packets of the version before the last change are those that were in flight then, in whichever pass.
  assign in_flight = in_flight_q + InFlightBits'(happened_i.entered) - InFlightBits'(happened_i.left);

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    pipeline_registers_values_t live;
    live           = '0;
    live.parts     = {8'd0, 8'(Writers), 8'(Units), 8'(Stages)};
    live.entries   = {16'(TernaryEntries), 16'(ExactEntries)};
    live.draining  = 32'(draining_q) + 32'(changing_q != '0);
    live.dropped   = dropped_q;
    live.faults    = faults_q;
    live.passes    = passes_q;
    live.passes_refused = refused_q;
    live.looked_up = looked_up_q[address[5:2]];
    live.matched   = matched_q[address[5:2]];
    live.flows_new     = made_q[address[5:2]];
    live.flows_evicted = evicted_q[address[5:2]];
    live.flows_expired = expired_q[address[5:2]];
    live.flows_absent  = absent_q[address[5:2]];
    live.stateful      = Stateful;
    if (Stateful != 0) begin
      live.process_parts = {8'(Sizes.actions), 8'(Sizes.entries), 4'(Sizes.updates), 4'(Sizes.words), 4'(Sizes.conditions),
                            4'(Sizes.inputs)};
      live.flow_parts    = {7'd0, Sizes.composed, 8'(Sizes.key_words), 8'(Sizes.ways), 8'($clog2(Sizes.sets))};
    end
    live.counter_data = counter_words[2'((address - PIPELINE_REGISTERS_COUNTER_DATA) >> 2)];
    return pipeline_registers_read(pipeline_registers_values(live, registers_q, address), address);
  endfunction

  assign reg_request_ready_o = !reading_q[0];
  assign counter_begins_o    = reading_q[0] && !reading_q[1];
  assign counter_valid_o     = reading_q[3];
  assign {counter_unit_o, counter_action_o} = registers_q.counter_index;
  assign counter_words       = counter_data_i;

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= taken && !rst_i;
    write_valid_o        <= taken && is_place && !failed && !rst_i;
    in_flight_q          <= in_flight;
    if (draining_q != '0) draining_q <= draining_q - InFlightBits'(happened_i.left && happened_i.version != version_o);
    changing_q <= {changing_q[2:0], 1'b0};
    if (changing_q[3]) begin
      version_o  <= registers_q.version;
      draining_q <= in_flight;
    end
    dropped_q <= dropped_q + 32'(happened_i.dropped);
    faults_q  <= faults_q + 32'(happened_i.fault);
    passes_q  <= passes_q + 32'(happened_i.passes);
    refused_q <= refused_q + 32'(happened_i.refused);
    for (int u = 0; u < Units; u++) begin
      looked_up_q[u] <= looked_up_q[u] + 32'(lookups_i[u].looked_up);
      matched_q[u]   <= matched_q[u] + 32'(lookups_i[u].looked_up && 32'(lookups_i[u].action) < Entries);
      if (Stateful[u]) begin
        looked_up_q[u] <= looked_up_q[u] + 32'(flows_i[u].looked_up);
        matched_q[u]   <= matched_q[u] + 32'(flows_i[u].found);
        made_q[u]      <= made_q[u] + 32'(flows_i[u].made);
        evicted_q[u]   <= evicted_q[u] + 32'(flows_i[u].evicted);
        expired_q[u]   <= expired_q[u] + 32'(flows_i[u].expired);
        absent_q[u]    <= absent_q[u] + 32'(flows_i[u].looked_up && !flows_i[u].found && !flows_i[u].made);
      end
    end
    reading_q <= counter_done_i ? '0 : {reading_q[2:0], reading_q[0]};
    if (taken) begin
      reg_response_o.error <= failed;
      reg_response_o.data  <= write || failed ? '0 : read();
      write_o              <= '{
        data: registers_q.data, address: reg_request_i.data[15:0], unit: reg_request_i.data[19:16],
        memory: pipeline_memory_t'(reg_request_i.data[23:20])
      };
      if (write && !failed) begin
        registers_q <= pipeline_registers_write(registers_q, address, reg_request_i.data);
        reading_q[0]  <= is_counter;
        changing_q[0] <= is_version && reg_request_i.data[0] != registers_q.version;
      end
    end
    if (rst_i) begin
      registers_q <= PIPELINE_REGISTERS_RESET;
      version_o   <= 1'b0;
      in_flight_q <= '0;
      draining_q  <= '0;
      changing_q  <= '0;
      dropped_q   <= '0;
      faults_q    <= '0;
      passes_q    <= '0;
      refused_q   <= '0;
      looked_up_q <= '0;
      matched_q   <= '0;
      made_q      <= '0;
      evicted_q   <= '0;
      expired_q   <= '0;
      absent_q    <= '0;
      reading_q   <= '0;
    end
  end
endmodule
