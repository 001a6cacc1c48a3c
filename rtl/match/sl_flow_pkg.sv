// SPDX-License-Identifier: Apache-2.0
// Latencies of the flow table's match parts as functions of their parameters.
package sl_flow_pkg;
  // Cycles from key_valid_i to result_valid_o of sl_mask_groups: the key, its masks, the hashed lookups, the best of them.
  function automatic int unsigned groups_latency(
    int unsigned KeyBits, int unsigned Groups, int unsigned GroupEntries, int unsigned Ways = 4
  );
    return 2 + sl_match_pkg::hash_latency(KeyBits, GroupEntries, Ways) + $clog2(Groups);
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_ternary_table: the key, match, priority, 2 of the rule.
  function automatic int unsigned ternary_latency(int unsigned Entries, int unsigned LevelsPerStage = 1);
    return 1 + sl_match_pkg::tcam_latency(1'b0) + sl_match_pkg::priority_latency(Entries + 1, LevelsPerStage) + 2;
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_flow_match: the slower of both, and the better of both.
  function automatic int unsigned flow_latency(
    int unsigned KeyBits, int unsigned Groups, int unsigned GroupEntries, int unsigned TernaryEntries
  );
    int unsigned hashed  = groups_latency(KeyBits, Groups, GroupEntries);
    int unsigned ternary = ternary_latency(TernaryEntries);
    return 1 + (hashed > ternary ? hashed : ternary);
  endfunction
endpackage
