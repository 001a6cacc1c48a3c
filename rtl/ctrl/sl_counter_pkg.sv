// SPDX-License-Identifier: Apache-2.0
// What sl_rule_counters tells of its rules as it happens: for who keeps a copy of them (sl_counter_push).
package sl_counter_pkg;
  localparam int unsigned COUNTED_RULE_BITS = 20;

  // A word counts where its mark is the one of its rule; else the rule counts as 0.
  typedef struct packed {
    logic                         counted;     // a sum goes into the memory
    logic [COUNTED_RULE_BITS-1:0] rule;        // of this rule
    logic                         mark;        // of the word
    sluice_pkg::rule_counters_t   counters;
    logic                         fresh;       // a rule starts at 0; never in the cycle of a sum of the same rule
    logic [COUNTED_RULE_BITS-1:0] fresh_rule;
    logic                         fresh_mark;  // of the rule, from now on
  } counter_event_t;
endpackage
