// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_counter_push, for all runs of bounded length from any contents of its memories: for one freely chosen
// rule, no count is lost or late (memory holds the rule's counts `Bound` cycles after the last one), no record of the rule's
// previous life arrives once `hold_o` is off, and consecutive records with different counts have different editions.
module fv_counter_push
  import sluice_pkg::*;
  import sl_counter_pkg::*;
#(
  parameter int unsigned Entries   = 2,
  parameter int unsigned StampBits = 2,
  parameter int unsigned Bound     = 7    // cycles in which the DMA takes a record and no rule is held
) (
  input logic           clk_i,
  input counter_event_t free_i,        // an event; only a few bits of its counters are used
  input logic           push_ready_i,
  input logic           watched_i
);
  localparam logic [RULE_COUNTERS_BITS-1:0] Bits = 128'hf_0000_0000_0003_0000_0000_0003;  // bits that counts use here; others behave alike
  counter_event_t event_now;
  always_comb begin
    event_now          = free_i;
    event_now.counters = free_i.counters & Bits;
  end

  logic       rst_q = 1'b1;
  logic       watched_q, hold, push_valid, fresh, counted, taken;
  rule_push_t push;
  logic [31:0] sweeps;

  sl_counter_push #(.Entries(Entries), .StampBits(StampBits)) u_push (
    .clk_i, .rst_i(rst_q), .on_i(1'b1), .period_i('0), .event_i(event_now), .hold_o(hold), .sweeps_o(sweeps),
    .push_data_o(push), .push_valid_o(push_valid), .push_ready_i
  );

  // The rule's actual state, and its copy in memory.
  logic           seen_q = 1'b0, word_mark_q, rule_mark_q, first_mark;
  rule_counters_t first;
  logic [1:0]     life_q = '0;
  rule_counters_t true_q, memory_q;
  logic [15:0]    edition_q;
  logic [5:0]     age_q = '0;

  // Memory holds the rule's earlier counts, as after a sweep.
  assign first      = u_push.u_copy.memory[watched_i][RULE_COUNTERS_BITS-1:0];
  assign first_mark = u_push.u_copy.memory[watched_i][RULE_COUNTERS_BITS];

  assign fresh   = event_now.fresh && event_now.fresh_rule == 20'(watched_q);
  assign counted = event_now.counted && event_now.rule == 20'(watched_q);
  assign taken   = push_valid && push_ready_i && push.place == 32'(watched_q) && !rst_q;

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (rst_q) begin
      watched_q   <= watched_i;
      word_mark_q <= first_mark;
      rule_mark_q <= u_push.u_marks.memory[watched_i];
      true_q      <= first_mark == u_push.u_marks.memory[watched_i] ? first : '0;
      memory_q    <= first_mark == u_push.u_marks.memory[watched_i] ? first : '0;
    end else begin
      if (fresh) begin
        true_q      <= '0;
        rule_mark_q <= event_now.fresh_mark;
        life_q      <= life_q + 2'd1;
      end
      if (counted) begin
        true_q      <= event_now.counters;
        word_mark_q <= event_now.mark;
      end
      if (fresh || counted) age_q <= '0;
      else if (push_ready_i && !hold && !event_now.fresh && age_q != '1) age_q <= age_q + 6'd1;
      if (taken) begin
        seen_q    <= 1'b1;
        memory_q  <= push.counters;
        edition_q <= push.edition;
      end
    end

    // Guaranteed by sl_rule_counters and by the module that answers instructions.
    if (rst_q) m_first : assume ((first & ~Bits) == '0 && first.last_hit[1:0] == '0 && u_push.u_copy.memory[!watched_i][127:0] == '0);
    m_rules : assume (event_now.rule < 20'(Entries) && event_now.fresh_rule < 20'(Entries));
    m_one_fresh_rule_at_a_time : assume (!(event_now.fresh && hold));
    m_nothing_in_reset : assume (!(rst_q && (event_now.fresh || event_now.counted)));
    m_not_at_once : assume (!(event_now.fresh && event_now.counted && event_now.rule == event_now.fresh_rule));
    if (counted) m_mark : assume (event_now.mark == rule_mark_q);
    if (counted) m_life : assume (event_now.counters.last_hit[1:0] == life_q && event_now.counters.packets != '0);
    if (fresh) m_fresh_mark : assume (event_now.fresh_mark == !word_mark_q);

    if (!rst_q) begin
      if (age_q > 6'(Bound)) a_nothing_is_lost_or_late : assert (memory_q == true_q);
      if (taken && !hold)
        a_nothing_of_an_old_life : assert (push.counters == '0 || push.counters.last_hit[1:0] == life_q);
      if (taken && seen_q && push.counters != memory_q) a_told_apart : assert (push.edition != edition_q);
      if (u_push.send_q) a_has_room : assert (u_push.unused_ready);
      c_counts_in_a_second_life : cover (life_q == 2'd1 && taken && push.counters.packets != '0);
    end
  end

  logic unused;
  assign unused = &{1'b0, sweeps, age_q};
endmodule
