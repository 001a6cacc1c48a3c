// SPDX-License-Identifier: Apache-2.0
// Latencies of the match tables as functions of their parameters, so that instantiating modules have them as constants.
package sl_match_pkg;
  // Cycles from key_valid_i to match_valid_o of sl_tcam: to the spine, the bank, the slice, match RAMs (1 more in block RAM), all
  // slices.
  function automatic int unsigned tcam_latency(bit BlockRam);
    return BlockRam ? 6 : 5;
  endfunction

  // Entries per bank of sl_tcam: block RAM has one bank.
  function automatic int unsigned tcam_bank(bit BlockRam, int unsigned Entries, int unsigned BankEntries);
    return BlockRam ? Entries : BankEntries;
  endfunction

  // Cycles of sl_priority_encoder: 1 for the priority RAM, then a tree over leaves of four entries.
  function automatic int unsigned priority_latency(int unsigned Entries, int unsigned LevelsPerStage);
    return 1 + ($clog2((Entries + 3) / 4) + LevelsPerStage - 1) / LevelsPerStage;
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_lpm_table with that many rules: match, priority, 2 for the rule id.
  function automatic int unsigned lpm_latency(
    int unsigned KeyBits, int unsigned Entries, bit BlockRam = 1'b0, int unsigned LevelsPerStage = 1
  );
    return KeyBits == 0 ? 0 : tcam_latency(BlockRam) + priority_latency(Entries + 1, LevelsPerStage) + 2;
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_hash_table: 3 for the hash (4 if the slots of a way are no power of two), 1 for
  // block RAM, 4 for comparison.
  function automatic int unsigned hash_latency(int unsigned KeyBits, int unsigned Entries, int unsigned Ways = 4);
    int unsigned slots = Entries / Ways;
    return KeyBits == 0 ? 0 : 8 + int'(slots != 2 ** $clog2(slots));
  endfunction

  // Cycles of sl_hash_table (Exact) or sl_lpm_table with that many rules; 0 without rules.
  function automatic int unsigned rules_latency(bit Exact, int unsigned KeyBits, int unsigned Entries, bit BlockRam = 1'b0);
    return Entries == 0 ? 0 : Exact ? hash_latency(KeyBits, Entries) : lpm_latency(KeyBits, Entries, BlockRam);
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_ip_tables.
  function automatic int unsigned ip_latency(
    bit Exact, int unsigned KeyBits4, int unsigned KeyBits6, int unsigned Entries4, int unsigned Entries6, bit BlockRam = 1'b0
  );
    int unsigned latency4 = rules_latency(Exact, KeyBits4, Entries4, BlockRam);
    int unsigned latency6 = rules_latency(Exact, KeyBits6, Entries6, BlockRam);
    return latency4 > latency6 ? latency4 : latency6;
  endfunction
endpackage
