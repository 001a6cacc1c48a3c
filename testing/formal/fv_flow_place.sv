// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_flow_place without its hash, for two sets of two ways under arbitrary keys and removals: every result, 12
// cycles after its key, is that of a plain table that places one key after another, where a removal comes before the keys that
// entered at most four cycles before it. Assumed: time moves by less than the timeout in six cycles; a removal is of a result, one
// cycle after it.
module fv_flow_place #(
  parameter int unsigned KeyBits = 2,     // three of four keys share a set
  parameter bit          Ages    = 1'b1   // there is a timeout
) (
  input logic               clk_i,
  input logic               key_valid_i,
  input logic [KeyBits-1:0] key_i,
  input logic               insert_i,
  input logic               remove_i,
  input logic               tick_i
);
  localparam int unsigned Latency = 12, Gap = 8;  // from key to result; from a removal to the first result that it is seen in

  typedef struct packed {
    logic               live;
    logic [KeyBits-1:0] key;
    logic [4:0]         time_at;
    logic [4:0]         count;       // times that the place was taken
    logic [2:0]         generation;  // that the part told for it
  } entry_t;
  typedef struct packed {logic valid, insert, ready; logic [KeyBits-1:0] key; logic [4:0] now;} asked_t;
  typedef struct packed {logic valid, set, way; logic [4:0] count;} removal_t;

  logic       rst_q = 1'b1;
  logic [4:0] now_q = '0;
  logic       ticked_q = 1'b0;
  logic [1:0] clear_q = '0;  // the sets that are empty
  logic [4:1] set_q;
  logic       ready, result_valid, told_found, told_new, told_evicted, told_expired, set, way;
  logic [2:0] generation;

  // The result of the cycle before, which a removal is of.
  removal_t   last_q = '0;
  logic [2:0] last_generation_q;

  sl_flow_core #(.KeyBits(KeyBits), .Sets(2), .Ways(2), .GenerationBits(3)) u_core (
    .clk_i, .rst_i(rst_q), .timeout_i(Ages ? 32'd4 : 32'd0), .now_i(Ages ? 32'(now_q) : 32'd0),
    .clear_i(!ready), .clear_set_i(clear_q[0]), .ready_i(ready),
    .evict_i(1'b1), .key_valid_i(key_valid_i && !rst_q), .key_i, .set4_i(set_q[4]), .insert_i, .result_valid_o(result_valid), .found_o(told_found),
    .new_o(told_new), .evicted_o(told_evicted), .expired_o(told_expired), .set_o(set), .way_o(way), .generation_o(generation),
    .remove_valid_i(remove_i && last_q.valid), .remove_set_i(last_q.set), .remove_way_i(last_q.way),
    .remove_generation_i(last_generation_q)
  );

  // The plain table.
  asked_t   [Latency:1] asked_q = '0;
  removal_t [Gap:1]     removal_q = '0;
  entry_t               table_q [4];  // by {set, way}
  logic                 hand_q [2];
  entry_t               seen [2];
  asked_t               asked;
  logic [1:0]           holds, old;
  logic                 expect_found, expect_new, expect_way;
  logic [4:0]           count;       // of the place that the key should have
  logic [2:0]           told_before;

  function automatic logic removed(logic [4:0] entry_count, removal_t removal, logic entry_set, logic entry_way);
    return removal.valid && removal.set == entry_set && removal.way == entry_way && removal.count == entry_count;
  endfunction

  assign ready = clear_q == 2'd2;
  assign asked = asked_q[Latency];
  always_comb begin
    for (int w = 0; w < 2; w++) begin
      seen[w] = table_q[{set, 1'(w)}];
      seen[w].live = seen[w].live && !removed(seen[w].count, removal_q[Gap], set, 1'(w));
      holds[w] = seen[w].live && seen[w].key == asked.key;
      old[w] = seen[w].live && Ages && asked.now - seen[w].time_at >= 5'd4;
    end
    expect_found = asked.ready && (holds & ~old) != '0;
    expect_new   = asked.ready && asked.insert && !expect_found;
    if (holds != '0) expect_way = holds[1];
    else if (!seen[0].live || old[0]) expect_way = 1'b0;
    else if (!seen[1].live || old[1]) expect_way = 1'b1;
    else expect_way = hand_q[set];
    count       = seen[expect_way].count;
    told_before = seen[expect_way].generation;
  end

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    ticked_q  <= tick_i;
    clear_q   <= rst_q ? '0 : clear_q + 2'(!ready);
    set_q     <= {set_q[3:1], key_i == '0};
    now_q     <= now_q + 5'(tick_i);
    asked_q   <= {asked_q[Latency-1:1], asked_t'{key_valid_i && !rst_q, insert_i, ready, key_i, now_q}};
    removal_q <= {removal_q[Gap-1:1], removal_t'{remove_i && last_q.valid, last_q.set, last_q.way, last_q.count}};
    for (int place = 0; place < 4; place++) begin
      if (removed(table_q[place].count, removal_q[Gap], 1'(place >> 1), 1'(place))) table_q[place].live <= 1'b0;
    end
    last_q <= '0;
    if (asked.valid && (expect_found || expect_new)) begin
      table_q[{set, expect_way}] <= entry_t'{1'b1, asked.key, asked.now, count + 5'(expect_new), generation};
      last_q <= removal_t'{1'b1, set, expect_way, count + 5'(expect_new)};
      last_generation_q <= generation;
      if (expect_new && hand_q[set] == expect_way) hand_q[set] <= !expect_way;
    end
    if (rst_q) begin
      for (int place = 0; place < 4; place++) table_q[place] <= '0;
      hand_q[0] <= 1'b0;
      hand_q[1] <= 1'b0;
    end

    m_time_is_slow : assume (!(tick_i && ticked_q));

    if (!rst_q) begin
      a_a_result_for_each_key : assert (result_valid == asked.valid);
      if (asked.valid) begin
        a_finds_what_is_there : assert (told_found == expect_found);
        a_inserts_what_is_not : assert (told_new == expect_new);
        if (expect_found || expect_new) a_is_in_its_way : assert (way == expect_way);
        if (expect_found) a_generation_is_that_of_its_insertion : assert (generation == told_before);
        if (expect_new) begin
          a_counts_expirations : assert (told_expired == old[expect_way]);
          a_counts_evictions : assert (told_evicted == (seen[0].live && seen[1].live && old == '0));
        end
      end
      c_finds_at_once : cover (asked.valid && expect_found && asked_q[Latency-1].valid && asked_q[Latency-1].key == asked.key);
      c_evicts : cover (told_evicted);
      c_expires : cover (told_expired && way && holds == '0);
      c_inserts_after_a_removal : cover (told_new && !seen[way].live && seen[way].count != '0);
    end
  end
endmodule
