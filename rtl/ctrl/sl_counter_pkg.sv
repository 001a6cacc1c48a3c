// SPDX-License-Identifier: Apache-2.0
// The updates that sl_rule_counters reports as they happen, for a module that keeps a copy of the counters (sl_counter_push).
package sl_counter_pkg;
  localparam int unsigned COUNTED_RULE_BITS = 20;

  // A word counts if its mark equals its rule's; otherwise the rule counts as 0.
  typedef struct packed {
    logic                         counted;     // a sum is written to the memory
    logic [COUNTED_RULE_BITS-1:0] rule;        // its rule
    logic                         mark;        // mark of the word
    sluice_pkg::rule_counters_t   counters;
    logic                         fresh;       // a rule restarts at 0; never in the cycle of a sum of the same rule
    logic [COUNTED_RULE_BITS-1:0] fresh_rule;
    logic                         fresh_mark;  // new mark of the rule
  } counter_event_t;
endpackage
