// SPDX-License-Identifier: Apache-2.0
// Latencies of the flow table's match parts as functions of their parameters; the order fence word of a flow.
package sl_flow_pkg;
  // Cycles from key_valid_i to result_valid_o of sl_mask_groups: the key, its masks, the hashed lookups, their best.
  function automatic int unsigned groups_latency(
    int unsigned KeyBits, int unsigned Groups, int unsigned GroupEntries, int unsigned Ways = 4
  );
    return 2 + sl_match_pkg::hash_latency(KeyBits, GroupEntries, Ways) + $clog2(Groups);
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_ternary_table: the key, match, priority, 2 for the rule.
  function automatic int unsigned ternary_latency(int unsigned Entries, int unsigned LevelsPerStage = 1);
    return 1 + sl_match_pkg::tcam_latency(1'b0) + sl_match_pkg::priority_latency(Entries + 1, LevelsPerStage) + 2;
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_flow_match: the slower table, plus the comparison.
  function automatic int unsigned flow_latency(
    int unsigned KeyBits, int unsigned Groups, int unsigned GroupEntries, int unsigned TernaryEntries
  );
    int unsigned hashed  = groups_latency(KeyBits, Groups, GroupEntries);
    int unsigned ternary = ternary_latency(TernaryEntries);
    return 1 + (hashed > ternary ? hashed : ternary);
  endfunction

  localparam int unsigned FENCE_LATENCY   = 3;   // of sl_flow_fence: 2 for its memory, 1 for its answer
  localparam int unsigned FENCE_FLOW_BITS = 12;  // lane, and 9 bits of hash

  // The flow is lane, Ethernet addresses and type, VLAN, IP addresses, protocol, ports. Its 64-bit words, each rotated by 11 more
  // than the previous one, are folded into 9 bits.
  function automatic logic [FENCE_FLOW_BITS-1:0] fence_flow(sluice_pkg::flow_key_t key);
    sluice_pkg::flow_key_t known;
    logic [511:0] words;
    logic [63:0]  sum;
    known             = '0;
    known.eth_dst     = '1;
    known.eth_src     = '1;
    known.eth_type    = '1;
    known.vlan_tci    = 16'h0fff;
    known.ip_src      = '1;
    known.ip_dst      = '1;
    known.ip_protocol = '1;
    known.l4_src      = '1;
    known.l4_dst      = '1;
    words = 512'(key & known);
    sum   = '0;
    for (int unsigned n = 0; n < 8; n++) begin
      sum ^= 64'({words[64*n+:64], words[64*n+:64]} >> ((64 - 11 * n % 64) % 64));
    end
    return {
      key.ingress_port[2:0],
      sum[8:0] ^ sum[17:9] ^ sum[26:18] ^ sum[35:27] ^ sum[44:36] ^ sum[53:45] ^ sum[62:54] ^ 9'(sum[63])
    };
  endfunction
endpackage
