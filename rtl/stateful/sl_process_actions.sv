// SPDX-License-Identifier: Apache-2.0
// Executes the actions of an entry of the process block on its packet (`process_action_t`), and its decision. A packet a cycle,
// PROCESS_ACTION_LATENCY cycles, never stalls.
//
// cycle 1: instructions of the entry; 2: operands; 3: results of the ALUs; 4: those that their carries choose, into the packet.
//
// The address of an instruction has its ALU in bits 3:0 and its entry above. With more than 16 ALUs bit 9 is of the ALU, not of the entry.
module sl_process_actions
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Inputs  = PROCESS_INPUTS,   // 1 to 8
  parameter int unsigned Words   = PROCESS_WORDS,    // of the flow state, 1 to 4
  parameter int unsigned Entries = PROCESS_ENTRIES,  // a power of two, at most 32 with more than 16 ALUs
  parameter int unsigned Actions = PROCESS_ACTIONS,  // ALUs, 1 to 22: one for each word of the packet
  localparam int unsigned EntryBits = $clog2(Entries)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic                    write_valid_i,
  input  process_write_t          write_i,
  input  logic                    valid_i,
  input  logic                    acts_i,         // else the packet passes as it is
  input  pipeline_phv_t           phv_i,
  input  logic [EntryBits-1:0]    entry_i,
  input  logic [Inputs-1:0][31:0] inputs_i,
  input  logic [Words-1:0][31:0]  before_i,       // the state of the flow, old
  input  logic [Words-1:0][31:0]  after_i,        // and new
  output logic                    valid_o,
  output pipeline_phv_t           phv_o
);
  localparam int unsigned Last = PROCESS_ACTION_LATENCY;

  localparam bit         Wide  = Actions > 16;
  localparam logic [4:0] NoRow = '1;  // of no word, however few ALUs

  if (Wide && Entries > 32) begin : gen_wrong
    $error("more than 16 ALUs leave addresses for 32 entries");
  end

  logic [Last:0]                           valid;
  logic [Last-1:1]                         acts_q;
  logic [EntryBits:0]                      read_address, write_address;
  process_words_t                          words, words_q, written;
  pipeline_phv_t                           phv;
  logic                                    beside;
  logic [15:0][31:0]                       sources_q;  // by operand's number: inputs, old and new state
  logic [15:0][15:0]                       high, low;  // halves of these
  logic [Actions-1:0][31:0]                result, on_carry_q, on_none_q;
  logic [Actions-1:0]                      carry_q;
  logic [Actions-1:0][4:0]                 row_q;
  process_decision_t                       decision, decision_q, decision_2_q, decision_3_q;

  assign valid[0] = valid_i;
  assign valid_o  = valid[Last];
  always_ff @(posedge clk_i) valid[Last:1] <= rst_i ? '0 : valid[Last-1:0];

  assign read_address  = {phv_i.parsed.version, entry_i};
  always_comb begin
    words = '0;
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) words[c/2][16*(1-c%2) +: 16] = phv_i.parsed.containers[c];
    for (int n = 0; n < 16; n++) {high[n], low[n]} = sources_q[n];
  end

  sl_delay #(.Width($bits(pipeline_phv_t)), .Cycles(Last - 1)) u_packet (
    .clk_i, .rst_i, .valid_i, .data_i(phv_i), .valid_o(beside), .data_o(phv)
  );
  always_ff @(posedge clk_i) begin
    acts_q <= {acts_q[Last-2:1], acts_i};
    if (valid[0]) begin
      words_q    <= words;
      sources_q  <= '0;
      for (int i = 0; i < Inputs; i++) sources_q[i] <= inputs_i[i];
      for (int w = 0; w < Words; w++) begin
        sources_q[PROCESS_OPERAND_BEFORE+w] <= before_i[w];
        sources_q[PROCESS_OPERAND_AFTER+w]  <= after_i[w];
      end
      decision_q <= decision;
    end
    if (valid[1]) decision_2_q <= decision_q;
    if (valid[2]) decision_3_q <= decision_2_q;
  end

  assign write_address = {write_i.address[10], write_i.address[4 +: EntryBits]};
  sl_ram_lut #(.Width($bits(process_decision_t)), .Depth(2 * Entries)) u_decisions (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_DECISION && 32'(write_i.address[9:0]) < Entries),
    .write_address_i({write_i.address[10], write_i.address[EntryBits-1:0]}),
    .write_data_i(write_i.data[$bits(process_decision_t)-1:0]), .read_address_i(read_address), .read_data_o(decision)
  );

  for (genvar n = 0; n < Actions; n++) begin : gen_action
    process_action_t  read, one_q;
    process_alu_t     alu_q;
    logic [4:0]       two_row_q;
    logic [31:0]      own, x_q, y_q, old_q, on_carry, on_none;
    logic             carry;

    process_operand_t [1:0] operand;
    logic [1:0][31:0]       word;  // the source of each operand, if it is an input or of the state

    assign operand = {one_q.instruction.b, one_q.instruction.a};
    for (genvar o = 0; o < 2; o++) begin : gen_operand
      sl_words_mux u_high (.words_i(high), .number_i(operand[o].source[3:0]), .word_o(word[o][31:16]));
      sl_words_mux u_low (.words_i(low), .number_i(operand[o].source[3:0]), .word_o(word[o][15:0]));
    end

    // Inputs are taken as they are: such an operand has no rotation and all lanes here.
    function automatic process_operand_t simple(process_operand_t from);
      simple = from;
      if (from.source < 5'(PROCESS_OPERAND_BEFORE)) {simple.rotate, simple.lanes} = {2'd0, 4'b1111};
    endfunction

    function automatic logic [31:0] operand_of(process_operand_t from, logic [31:0] source, logic [31:0] immediate, logic [31:0] own_word);
      if (from.source >= 5'(PROCESS_OPERAND_OWN)) return from.source == 5'(PROCESS_OPERAND_OWN) ? own_word : immediate;
      return rotated(source, from.rotate) & mask_of(from.lanes);
    endfunction

    sl_ram_lut #(.Width($bits(process_action_t)), .Depth(2 * Entries)) u_actions (
      .clk_i,
      .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_ACTION && 32'({Wide && write_i.address[9], write_i.address[3:0]}) == n
                     && 32'({!Wide && write_i.address[9], write_i.address[8:4]}) < Entries),
      .write_address_i(write_address), .write_data_i(write_i.data[$bits(process_action_t)-1:0]),
      .read_address_i(read_address), .read_data_o(read)
    );
    always_comb begin
      own = '0;
      for (int w = n; w < PROCESS_PACKET_WORDS; w += Actions) if (32'(one_q.row) == w / Actions) own = words_q[w];
    end
    always_ff @(posedge clk_i) begin
      if (valid[0]) begin
        one_q <= read;
        {one_q.instruction.b, one_q.instruction.a} <= {simple(read.instruction.b), simple(read.instruction.a)};
        if (!acts_i) one_q.row <= NoRow;
      end
      if (valid[1]) begin
        {alu_q, two_row_q} <= {alu_of(one_q.instruction.kind, one_q.instruction.lanes, one_q.instruction.bits), one_q.row};
        x_q   <= prepared_a(one_q.instruction.kind, one_q.instruction.lanes, operand_of(operand[0], word[0], one_q.instruction.immediate, own));
        y_q   <= prepared_b(one_q.instruction.kind, one_q.instruction.lanes, operand_of(operand[1], word[1], one_q.instruction.immediate, own));
        old_q <= own;
      end
      if (valid[2]) begin
        {carry_q[n], on_carry_q[n], on_none_q[n]} <= {carry, on_carry, on_none};
        row_q[n] <= two_row_q;
      end
    end
    sl_process_alu u_alu (
      .control_i(alu_q), .x_i(x_q), .y_i(y_q), .old_i(old_q), .carry_o(carry), .on_carry_o(on_carry), .on_none_o(on_none)
    );
    assign result[n] = carry_q[n] ? on_carry_q[n] : on_none_q[n];
  end

  always_comb begin
    written = '0;
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) written[c/2][16*(1-c%2) +: 16] = phv.parsed.containers[c];
    for (int w = 0; w < PROCESS_PACKET_WORDS; w++) if (32'(row_q[w%Actions]) == w / Actions) written[w] = result[w%Actions];
  end
  always_ff @(posedge clk_i) begin
    if (valid[3]) begin
      phv_o <= phv;
      for (int c = 0; c < PIPELINE_CONTAINERS; c++) phv_o.parsed.containers[c] <= written[c/2][16*(1-c%2) +: 16];
      if (acts_q[3]) begin
        phv_o.next <= decision_3_q.next;
        if (decision_3_q.verdict != VERDICT_PASS) begin
          phv_o.verdict     <= decision_3_q.verdict;
          phv_o.egress_mask <= decision_3_q.egress_mask;
          phv_o.queue       <= decision_3_q.queue;
        end
        if (decision_3_q.splice != '0) phv_o.splice <= decision_3_q.splice;
        if (decision_3_q.again != '0) phv_o.again <= decision_3_q.again;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_i};
endmodule
