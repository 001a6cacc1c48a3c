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
  parameter int unsigned   EditEntries = 256,          // entries of the edit-data table, a power of two up to 65536
  localparam int unsigned  EditBits    = $clog2(EditEntries)
) (
  input  logic                      clk_i,
  input  logic                      rst_i,                // synchronous, active high
  input  register_request_t         reg_request_i,
  input  logic                      reg_request_valid_i,
  output logic                      reg_request_ready_o,
  output register_response_t        reg_response_o,
  output logic                      reg_response_valid_o, // one cycle
  output logic                      enabled_o,            // control bit 0; 0 after reset
  input  logic                      ready_i,              // memories are cleared
  input  logic [4:0]                free_i,               // free slots of the instruction FIFO
  input  logic [5:0]                waiting_i,            // responses waiting
  input  logic                      idle_i,               // no instruction and no response is in flight
  input  logic [31:0]               used0_i,              // rules in table 0
  input  logic [31:0]               used1_i,
  output instruction_t              push_data_o,          // channel to the instruction FIFO
  output logic                      push_valid_o,         // only when push_ready_i
  input  logic                      push_ready_i,
  input  response_t                 response_data_i,      // channel from the response FIFO
  input  logic                      response_valid_i,
  output logic                      response_ready_o,
  output logic                      edit_valid_o,         // writes an entry of the edit-data table
  output logic [EditBits-1:0]       edit_index_o,
  output logic [EDIT_DATA_BITS-1:0] edit_data_o,
  output logic                      counter_valid_o,      // reads the counters of a rule; stable until counter_done_i
  output logic                      counter_table_o,
  output logic [29:0]               counter_id_o,
  input  logic                      counter_done_i,       // pulse
  input  rule_counters_t            counter_data_i        // stable after counter_done_i
);
  typedef enum logic [1:0] {StIdle, StDecode, StCounters, StRemove} state_e;

  state_e            state_q;
  register_request_t request_q;
  logic [11:0]       address;
  logic              write, failed, is_counters, known_index, remove;
  logic [31:0]       data, read_data, response_high_q, counter_index_q;
  logic              response_latched_q;
  logic [31:0]       instruction_q [OFU_REGISTERS_INSTRUCTION_COUNT];
  logic [31:0]       edit_q [OFU_REGISTERS_EDIT_DATA_COUNT];
  logic [15:0]       edit_index_q;
  logic [4:0]        place;  // word index in the instruction
  logic              in_instruction;
  instruction_t      instruction;

  assign address        = request_q.address[11:0];
  assign write          = request_q.write[0];
  assign data           = request_q.data;
  assign place          = 5'(address[6:2]);
  assign in_instruction = address >= OFU_REGISTERS_INSTRUCTION &&
                          address < OFU_REGISTERS_INSTRUCTION + 12'(4 * OFU_REGISTERS_INSTRUCTION_COUNT);
  assign is_counters    = address >= OFU_REGISTERS_COUNTER_INDEX &&
                          address < OFU_REGISTERS_COUNTER_DATA + 12'(4 * OFU_REGISTERS_COUNTER_DATA_COUNT);
  assign known_index    = !data[31] && 32'(data[29:0]) < (data[30] ? Entries1 : Entries0);

  always_comb begin
    read_data = '0;
    failed    = write;  // an error unless writable
    unique case (address)
      OFU_REGISTERS_KIND:             read_data = 32'(Kind);
      OFU_REGISTERS_CONTROL: begin
        read_data = 32'(enabled_o);
        failed    = 1'b0;
      end
      OFU_REGISTERS_STATUS:           read_data = {8'd0, 2'd0, waiting_i, 3'd0, free_i, 7'd0, ready_i};
      OFU_REGISTERS_ENTRIES:          read_data = Entries0;
      OFU_REGISTERS_ENTRIES + 12'd4:  read_data = Entries1;
      OFU_REGISTERS_USED:             read_data = used0_i;
      OFU_REGISTERS_USED + 12'd4:     read_data = used1_i;
      OFU_REGISTERS_KEY_BITS:         read_data = KeyBits0;
      OFU_REGISTERS_KEY_BITS + 12'd4: read_data = KeyBits1;
      OFU_REGISTERS_LATENCY:          read_data = Latency;
      OFU_REGISTERS_REMOVE:           failed = !remove;
      OFU_REGISTERS_PUSH:             failed = !write || !push_ready_i;
      OFU_REGISTERS_RESPONSE:         read_data = response_valid_i ? response_data_i[31:0] : '0;
      OFU_REGISTERS_RESPONSE + 12'd4: read_data = response_high_q;
      OFU_REGISTERS_EDIT_INDEX: begin
        read_data = 32'(edit_index_q);
        failed    = write && data >= EditEntries;
      end
      OFU_REGISTERS_EDIT_DATA, OFU_REGISTERS_EDIT_DATA + 12'd4, OFU_REGISTERS_EDIT_DATA + 12'd8,
      OFU_REGISTERS_EDIT_DATA + 12'd12: begin
        read_data = edit_q[address[3:2]];
        failed    = 1'b0;
      end
      OFU_REGISTERS_COUNTER_INDEX: begin
        read_data = counter_index_q;
        failed    = write && !known_index;
      end
      OFU_REGISTERS_COUNTER_DATA:          read_data = counter_data_i.packets[31:0];
      OFU_REGISTERS_COUNTER_DATA + 12'd4:  read_data = {counter_data_i.bytes[15:0], counter_data_i.packets[47:32]};
      OFU_REGISTERS_COUNTER_DATA + 12'd8:  read_data = counter_data_i.bytes[47:16];
      OFU_REGISTERS_COUNTER_DATA + 12'd12: read_data = counter_data_i.last_hit;
      default: begin
        failed = !in_instruction;
        if (in_instruction) read_data = instruction_q[place];
      end
    endcase
    if (address[1:0] != 2'd0) failed = 1'b1;
  end

  assign reg_request_ready_o = state_q == StIdle;
  assign remove              = write && address == OFU_REGISTERS_REMOVE && known_index && idle_i && push_ready_i;
  assign push_valid_o        = state_q == StDecode && write && push_ready_i && (remove || address == OFU_REGISTERS_PUSH);
  for (genvar n = 0; n < OFU_REGISTERS_INSTRUCTION_COUNT; n++) begin : gen_word
    assign instruction[32*n +: 32] = instruction_q[n];
  end
  always_comb begin
    push_data_o = instruction;
    if (remove) begin
      push_data_o.kind     = INSTRUCTION_DELETE;
      push_data_o.table_id = table_t'(data[30]);
      push_data_o.rule_id  = 32'(data[29:0]);
    end
  end
  assign response_ready_o = state_q == StRemove || (state_q == StDecode && !write &&
                            address == OFU_REGISTERS_RESPONSE + 12'd4 && response_latched_q);
  assign edit_index_o    = edit_index_q[EditBits-1:0];
  assign edit_data_o     = {edit_q[3], edit_q[2], edit_q[1], edit_q[0]};
  assign counter_table_o = counter_index_q[30];
  assign counter_id_o    = counter_index_q[29:0];

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
        reg_response_o.data  <= (failed || write) ? '0 : read_data;
        if (write && !failed) begin
          if (address == OFU_REGISTERS_CONTROL) enabled_o <= data[0];
          if (address == OFU_REGISTERS_EDIT_INDEX) edit_index_q <= data[15:0];
          if (address[11:4] == OFU_REGISTERS_EDIT_DATA[11:4]) begin
            edit_q[address[3:2]] <= data;
            edit_valid_o         <= address[3:2] == 2'd3;
          end
          if (address == OFU_REGISTERS_COUNTER_INDEX) begin
            counter_index_q <= data;
            counter_valid_o <= 1'b1;
          end
          if (in_instruction) instruction_q[place] <= data;
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
      enabled_o            <= 1'b0;
      response_high_q      <= '0;
      edit_index_q         <= '0;
      edit_q               <= '{default: '0};
      counter_index_q      <= '0;
      instruction_q        <= '{default: '0};
    end
  end

  logic unused;
  assign unused = &{1'b0, request_q.address[19:12]};
endmodule
