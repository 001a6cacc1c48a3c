// SPDX-License-Identifier: Apache-2.0
// Executes the action of a unit on a packet (`unit_action_t`): all operations at once, each on a container of its own, then the
// verdict and the next unit. Latency UNIT_OPERATIONS_LATENCY, never stalls.
//
// cycle 1: which words, lowest bits of the masks; 2: rows of the operands, old values; 3: operands; 4: results; 5: into the containers.
module sl_unit_operations
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_i,    // synchronous, active high
  input  logic          valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // `reserved`
  input  unit_action_t  action_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic          acts_i,   // a cycle after the action: it applies, else the packet passes unchanged
  input  pipeline_phv_t phv_i,    // a cycle after the action
  output logic          valid_o,
  output pipeline_phv_t phv_o
);
  localparam int unsigned Latency = UNIT_OPERATIONS_LATENCY;

  logic [Latency:0]                            valid;
  unit_action_t   [Latency-1:1]                action_q;
  pipeline_phv_t  [Latency-1:2]                phv_q;
  logic           [Latency-1:2]                acts_q;
  source_choice_t [UNIT_OPERATIONS-1:0]        source_q;
  logic [UNIT_OPERATIONS-1:0][15:0]            word, step_q, operand_2_q, operand_q, old_2_q, old_q, result_q;
  logic [UNIT_OPERATIONS-1:0][OPERATION_ROWS-1:0] write_q;
  logic [UNIT_OPERATIONS-1:0]                  expires_q;
  logic                                        expired_q;

  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  always_ff @(posedge clk_i) valid[Latency:1] <= rst_i ? '0 : valid[Latency-1:0];

  sl_source_select #(.Words(UNIT_OPERATIONS)) u_operands (
    .clk_i, .sources_i(sources_of(phv_i.parsed)), .choice_i(source_q), .word_o(word)
  );

  // The difference is the complement of a sum with the complement of the old value.
  function automatic logic complements(unit_operator_t kind);
    return kind == OPERATOR_SUBTRACT || kind == OPERATOR_COUNT_DOWN;
  endfunction

  function automatic logic [15:0] result_of(unit_operator_t kind, logic [15:0] old, logic [15:0] operand, logic [15:0] mask);
    logic [15:0] changed;
    unique case (kind)
      OPERATOR_SET: changed = operand;
      OPERATOR_AND: changed = old & operand;
      OPERATOR_OR:  changed = old | operand;
      OPERATOR_XOR: changed = old ^ operand;
      default:      changed = old + operand;
    endcase
    if (kind == OPERATOR_NONE) changed = old;
    return ((changed & mask) | (old & ~mask)) ^ {16{complements(kind)}};
  endfunction

  always_ff @(posedge clk_i) begin
    action_q <= {action_q[Latency-2:1], action_i};
    phv_q    <= {phv_q[Latency-2:2], phv_i};
    acts_q   <= {acts_q[Latency-2:2], acts_i};
    for (int n = 0; n < UNIT_OPERATIONS; n++) begin
      logic [15:0] old;
      source_q[n] <= choice_of(action_i.operations[n].source);
      if (action_i.operations[n].kind == OPERATOR_COUNT_DOWN) source_q[n].row <= '0;
      step_q[n] <= action_i.operations[n].mask & (~action_i.operations[n].mask + 16'd1);

      operand_2_q[n] <= '0;
      if (32'(action_q[1].operations[n].source) >= UNIT_SOURCES) operand_2_q[n] <= action_q[1].operations[n].immediate;
      if (action_q[1].operations[n].kind == OPERATOR_COUNT_DOWN) operand_2_q[n] <= step_q[n];
      old = '0;
      for (int c = n; c < PIPELINE_CONTAINERS; c += UNIT_OPERATIONS) begin
        if (32'(action_q[1].operations[n].row) == c / UNIT_OPERATIONS) old |= phv_i.parsed.containers[c];
      end
      old_2_q[n] <= old ^ {16{complements(action_q[1].operations[n].kind)}};

      // Of a mask's bits the lowest is the step: the field is 0 or 1 if the others are 0.
      operand_q[n] <= word[n] | operand_2_q[n];
      old_q[n]     <= old_2_q[n];
      expires_q[n] <= action_q[2].operations[n].kind == OPERATOR_COUNT_DOWN
                      && (~old_2_q[n] & action_q[2].operations[n].mask & ~operand_2_q[n]) == '0;

      result_q[n] <= result_of(action_q[3].operations[n].kind, old_q[n], operand_q[n], action_q[3].operations[n].mask);
      for (int r = 0; r < OPERATION_ROWS; r++) write_q[n][r] <= acts_q[3] && 32'(action_q[3].operations[n].row) == r;
    end
    expired_q <= acts_q[3] && expires_q != '0;

    phv_o <= phv_q[4];
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
      if (write_q[c%UNIT_OPERATIONS][c/UNIT_OPERATIONS]) phv_o.parsed.containers[c] <= result_q[c%UNIT_OPERATIONS];
    end
    if (acts_q[4]) begin
      phv_o.next <= action_q[4].next;
      if (action_q[4].verdict != VERDICT_PASS) begin
        phv_o.verdict     <= action_q[4].verdict;
        phv_o.egress_mask <= action_q[4].egress_mask;
        phv_o.queue       <= action_q[4].queue;
      end
      if (action_q[4].splice != '0) phv_o.splice <= action_q[4].splice;
      if (action_q[4].again != '0) phv_o.again <= action_q[4].again;
    end
    if (expired_q) begin
      phv_o.verdict <= VERDICT_DROP;
      phv_o.next    <= 4'(UNIT_END);
      phv_o.again   <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, action_q, write_q};
endmodule
