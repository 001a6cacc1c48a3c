// SPDX-License-Identifier: Apache-2.0
// The register window of an OFU (`ofu_registers`). Answers every request once. An access to an unused address, a write to a
// read-only register, a read of `push`, a push into a full FIFO and a counter index out of range answer an error and change
// nothing. A read of the counters waits until they are available, a write to `remove` until the rule is gone; every other request
// is answered in 2 cycles. `edit_data` reads back the last value written to it, not the table; unwritten parts read 0 after reset.
module sl_rule_registers
  import sluice_pkg::*;
#(
  parameter element_kind_t Kind        = ELEMENT_LPM,  // kind of the element
  parameter int unsigned   Entries0    = 512,          // rules of table 0
  parameter int unsigned   Entries1    = 512,          // rules of table 1, 0: no table 1
  parameter int unsigned   KeyBits0    = 32,           // key bits of table 0
  parameter int unsigned   KeyBits1    = 128,          // key bits of table 1
  parameter int unsigned   Latency     = 20,           // cycles from record in to record out
  parameter int unsigned   EditEntries = 256           // entries of the edit-data table, a power of two up to 65536
) (
  input  logic                      clk_i,
  input  logic                      rst_i,                // synchronous, active high
  input  register_request_t         reg_request_i,
  input  logic                      reg_request_valid_i,
  output logic                      reg_request_ready_o,
  output register_response_t        reg_response_o,
  output logic                      reg_response_valid_o, // one cycle
  input  ofu_registers_values_t     values_i,             // what this module does not give itself, such as the status
  output ofu_registers_t            registers_o,          // as the host wrote them
  input  logic                      idle_i,               // no instruction and no response is in flight
  input  logic [31:0]               used0_i,              // rules in table 0
  input  logic [31:0]               used1_i,
  output instruction_t              push_data_o,          // channel to the instruction FIFO
  output logic                      push_valid_o,         // only when push_ready_i
  input  logic                      push_ready_i,
  input  response_t                 response_data_i,      // channel from the response FIFO
  input  logic                      response_valid_i,
  output logic                      response_ready_o,
  output logic                      edit_valid_o,         // writes edit_data as entry edit_index of the edit-data table
  output logic                      counter_valid_o,      // reads the counters of rule counter_index; stable until counter_done_i
  input  logic                      counter_done_i,       // pulse
  input  rule_counters_t            counter_data_i        // stable after counter_done_i
);
  typedef enum logic [1:0] {StIdle, StDecode, StCounters, StRemove} state_e;

  state_e                state_q;
  register_request_t     request_q;
  logic [11:0]           address;
  logic                  write, refused, failed, is_counters, known_index, remove;
  logic [31:0]           data, response_high_q;
  logic [3:0][31:0]      counter_words;
  logic                  response_latched_q;

  assign address     = request_q.address[11:0];
  assign write       = request_q.write[0];
  assign data        = request_q.data;
  assign is_counters = address == OFU_REGISTERS_COUNTER_INDEX ||
                       in_registers(address, OFU_REGISTERS_COUNTER_DATA, OFU_REGISTERS_COUNTER_DATA_COUNT);
  assign known_index = !data[31] && 32'(data[29:0]) < (data[30] ? Entries1 : Entries0);

  always_comb begin
    unique case (address)
      OFU_REGISTERS_REMOVE:        refused = !remove;
      OFU_REGISTERS_PUSH:          refused = !push_ready_i;
      OFU_REGISTERS_EDIT_INDEX:    refused = data >= EditEntries;
      OFU_REGISTERS_COUNTER_INDEX: refused = !known_index;
      default:                     refused = 1'b0;
    endcase
  end
  assign failed = !ofu_registers_allows(address, write) || (write && refused);

  // What the host reads, computed only when it does.
  assign counter_words = counter_data_i;
  function automatic logic [31:0] read();
    ofu_registers_values_t live;
    live              = values_i;
    live.kind         = 32'(Kind);
    live.entries      = address[2] ? Entries1 : Entries0;  // of the tables, in turn
    live.used         = address[2] ? used1_i : used0_i;
    live.key_bits     = address[2] ? KeyBits1 : KeyBits0;
    live.latency      = Latency;
    live.response     = address == OFU_REGISTERS_RESPONSE ? (response_valid_i ? response_data_i[31:0] : '0) : response_high_q;
    live.counter_data = counter_words[2'((address - OFU_REGISTERS_COUNTER_DATA) >> 2)];
    return ofu_registers_read(ofu_registers_values(live, registers_o, address), address);
  endfunction

  assign reg_request_ready_o = state_q == StIdle;
  assign remove              = write && address == OFU_REGISTERS_REMOVE && known_index && idle_i && push_ready_i;
  assign push_valid_o        = state_q == StDecode && write && push_ready_i && (remove || address == OFU_REGISTERS_PUSH);
  always_comb begin
    push_data_o = instruction_t'(registers_o.instruction);
    if (remove) begin
      push_data_o.kind     = INSTRUCTION_DELETE;
      push_data_o.table_id = table_t'(data[30]);
      push_data_o.rule_id  = 32'(data[29:0]);
    end
  end
  assign response_ready_o = state_q == StRemove || (state_q == StDecode && !write &&
                            address == OFU_REGISTERS_RESPONSE + 12'd4 && response_latched_q);

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= 1'b0;
    edit_valid_o         <= 1'b0;
    if (counter_done_i) counter_valid_o <= 1'b0;
    unique case (state_q)
      StIdle: if (reg_request_valid_i) begin
        request_q <= reg_request_i;
        state_q   <= StDecode;
      end
      StDecode: if (is_counters && counter_valid_o) begin
        state_q <= StCounters;
      end else if (remove) begin
        state_q <= StRemove;
      end else begin
        state_q              <= StIdle;
        reg_response_valid_o <= 1'b1;
        reg_response_o.error <= failed;
        reg_response_o.data  <= failed || write ? '0 : read();
        if (write && !failed) begin
          registers_o <= ofu_registers_write(registers_o, address, data);
          if (address == OFU_REGISTERS_EDIT_DATA + 12'd12) edit_valid_o <= 1'b1;
          if (address == OFU_REGISTERS_COUNTER_INDEX) counter_valid_o <= 1'b1;
        end
        if (!write && address == OFU_REGISTERS_RESPONSE) begin
          response_high_q    <= response_valid_i ? response_data_i[63:32] : '0;
          response_latched_q <= response_valid_i;
        end
        if (response_ready_o) response_latched_q <= 1'b0;
      end
      StRemove: if (response_valid_i) begin  // of this deletion: nothing else was in flight
        state_q              <= StIdle;
        reg_response_valid_o <= 1'b1;
        reg_response_o.error <= response_data_i.status != STATUS_OK;
        reg_response_o.data  <= '0;
      end
      default: if (!counter_valid_o) state_q <= StDecode;
    endcase
    if (rst_i) begin
      state_q              <= StIdle;
      reg_response_valid_o <= 1'b0;
      edit_valid_o         <= 1'b0;
      counter_valid_o      <= 1'b0;
      response_latched_q   <= 1'b0;
      response_high_q      <= '0;
      registers_o          <= OFU_REGISTERS_RESET;
    end
  end

  logic unused;
  assign unused = &{1'b0, request_q.address[19:12]};
endmodule
