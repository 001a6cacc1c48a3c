// SPDX-License-Identifier: Apache-2.0
// Sizes and latency of the parts of sl_lookup_table, as functions of its parameters.
package sl_lookup_pkg;
  localparam int unsigned EXACT   = 0;
  localparam int unsigned LPM     = 1;
  localparam int unsigned TERNARY = 2;

  // Key bits of the match table, which has a minimum width.
  function automatic int unsigned part_key_bits(int unsigned KeyBits);
    return KeyBits < 4 ? 4 : KeyBits;
  endfunction

  // Rules of the match table inside. A hash table gets twice the slots, in ways of a power of two, so that every set of keys fits
  // except keys that collide in all ways at once.
  function automatic int unsigned part_entries(int unsigned Kind, int unsigned Entries);
    if (Kind == EXACT) return Entries < 32 ? 64 : 4 * 2 ** $clog2((Entries + 1) / 2);
    return Entries < 4 ? 4 : (Entries + 3) / 4 * 4;
  endfunction

  // Cycles from the key to the rule id.
  function automatic int unsigned part_latency(int unsigned Kind, int unsigned KeyBits, int unsigned Entries);
    return Kind == EXACT ? sl_match_pkg::hash_latency(part_key_bits(KeyBits), part_entries(Kind, Entries))
                         : sl_match_pkg::lpm_latency(part_key_bits(KeyBits), part_entries(Kind, Entries));
  endfunction

  // Cycles from key_valid_i to result_valid_o of sl_lookup_table: the match, 2 for the value.
  function automatic int unsigned lookup_latency(int unsigned Kind, int unsigned KeyBits, int unsigned Entries);
    return part_latency(Kind, KeyBits, Entries) + 2;
  endfunction
endpackage
