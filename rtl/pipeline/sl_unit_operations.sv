// SPDX-License-Identifier: Apache-2.0
// Executes the action of a unit on a packet (`unit_action_t`): all operations at once, each on a container of its own, then the
// verdict and the next unit. Latency UNIT_OPERATIONS_LATENCY, never stalls.
//
// cycles 1 and 2: operands; 3: old values, lowest bits of the masks; 4: results; 5: into the containers.
module sl_unit_operations
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_i,    // synchronous, active high
  input  logic          valid_i,
  input  logic          acts_i,   // else the packet passes unchanged
  input  pipeline_phv_t phv_i,
  /* verilator lint_off UNUSEDSIGNAL */  // `reserved`
  input  unit_action_t  action_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic          valid_o,
  output pipeline_phv_t phv_o
);
  localparam int unsigned Latency = UNIT_OPERATIONS_LATENCY;

  logic [Latency:0]                      valid;
  logic                                  acts;
  pipeline_phv_t                         phv_3, phv_q, phv_4_q;
  unit_action_t                          action, action_q, action_4_q;
  pipeline_sources_t                     sources;
  logic [UNIT_OPERATIONS-1:0][5:0]       source;
  logic [UNIT_OPERATIONS-1:0][15:0]      word, operand_q, old_q, step_q, result_q;
  logic [UNIT_OPERATIONS-1:0]            expires_q;
  logic                                  acts_q, acts_4_q;
  logic [1:0]                            beside;

  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  always_ff @(posedge clk_i) valid[Latency:1] <= rst_i ? '0 : valid[Latency-1:0];

  assign sources = sources_of(phv_i.parsed.containers, phv_i.parsed.bases, phv_i.parsed.ingress_port, phv_i.parsed.length);
  always_comb for (int n = 0; n < UNIT_OPERATIONS; n++) source[n] = action_i.operations[n].source;
  sl_source_select #(.Words(UNIT_OPERATIONS)) u_operands (
    .clk_i, .valid_i(valid[1:0]), .sources_i(sources), .number_i(source), .word_o(word)
  );
  sl_delay #(.Width($bits(pipeline_phv_t)), .Cycles(2)) u_phv (
    .clk_i, .rst_i, .valid_i, .data_i(phv_i), .valid_o(beside[0]), .data_o(phv_3)
  );
  sl_delay #(.Width($bits(unit_action_t) + 1), .Cycles(2)) u_action (
    .clk_i, .rst_i, .valid_i, .data_i({acts_i, action_i}), .valid_o(beside[1]), .data_o({acts, action})
  );

  function automatic logic [15:0] result_of(unit_operator_t kind, logic [15:0] old, logic [15:0] operand, logic [15:0] step);
    unique case (kind)
      OPERATOR_SET:        return operand;
      OPERATOR_ADD:        return old + operand;
      OPERATOR_SUBTRACT:   return old - operand;
      OPERATOR_AND:        return old & operand;
      OPERATOR_OR:         return old | operand;
      OPERATOR_XOR:        return old ^ operand;
      OPERATOR_COUNT_DOWN: return old - step;
      default:             return old;
    endcase
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid[2]) begin
      phv_q    <= phv_3;
      action_q <= action;
      acts_q   <= acts;
      for (int n = 0; n < UNIT_OPERATIONS; n++) begin
        operand_q[n] <= 32'(action.operations[n].source) < UNIT_SOURCES ? word[n] : action.operations[n].immediate;
        step_q[n]    <= action.operations[n].mask & (~action.operations[n].mask + 16'd1);
        old_q[n]     <= '0;
        for (int c = n; c < PIPELINE_CONTAINERS; c += UNIT_OPERATIONS) begin
          if (32'(action.operations[n].row) == c / UNIT_OPERATIONS) old_q[n] <= phv_3.parsed.containers[c];
        end
      end
    end
    if (valid[3]) begin
      phv_4_q    <= phv_q;
      action_4_q <= action_q;
      acts_4_q   <= acts_q;
      for (int n = 0; n < UNIT_OPERATIONS; n++) begin
        result_q[n]  <= (old_q[n] & ~action_q.operations[n].mask)
                        | (result_of(action_q.operations[n].kind, old_q[n], operand_q[n], step_q[n]) & action_q.operations[n].mask);
        expires_q[n] <= action_q.operations[n].kind == OPERATOR_COUNT_DOWN
                        && (old_q[n] & action_q.operations[n].mask) <= step_q[n];
      end
    end
    if (valid[4]) begin
      phv_o <= phv_4_q;
      if (acts_4_q) begin
        phv_o.next <= action_4_q.next;
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
          if (32'(action_4_q.operations[c%UNIT_OPERATIONS].row) == c / UNIT_OPERATIONS) begin
            phv_o.parsed.containers[c] <= result_q[c%UNIT_OPERATIONS];
          end
        end
        if (action_4_q.verdict != VERDICT_PASS) begin
          phv_o.verdict     <= action_4_q.verdict;
          phv_o.egress_mask <= action_4_q.egress_mask;
          phv_o.queue       <= action_4_q.queue;
        end
        if (action_4_q.splice != '0) phv_o.splice <= action_4_q.splice;
        if (action_4_q.again != '0) phv_o.again <= action_4_q.again;
        if (expires_q != '0) begin
          phv_o.verdict <= VERDICT_DROP;
          phv_o.next    <= 4'(UNIT_END);
          phv_o.again   <= '0;
        end
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, action_4_q};
endmodule
