// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_flow_place and sl_flow_sets without a hash, for two sets of two ways under arbitrary keys and removals: every
// result, 12 cycles after its key, is that of a plain table that places one key after another, where a removal comes before the keys
// that entered at most four cycles before it. Time is any of eight ticks with each key. With TimeJumps=0, which is sl_flow_place, it is
// assumed to move by less than the timeout in six cycles. Assumed: a removal is of a result, one cycle after it.
module fv_flow_place #(
  parameter int unsigned KeyBits   = 2,     // three of four keys share a set
  parameter bit          TimeJumps = 1'b1,
  localparam int unsigned TimeBits = TimeJumps ? 3 : 5  // 5 do not wrap in a proof
) (
  input logic                clk_i,
  input logic                key_valid_i,
  input logic [KeyBits-1:0]  key_i,
  input logic                insert_i,
  input logic                forget_i,
  input logic                remove_i,
  input logic [TimeBits-1:0] now_i
);
  localparam int unsigned GenerationBits = 5;  // a way is taken 16 times: never between a key and the removal of its flow
  localparam int unsigned Latency = 12, Gap = 8;  // from key to result; from a removal to the first result that it is seen in

  typedef struct packed {
    logic                      live;
    logic [KeyBits-1:0]        key;
    logic [TimeBits-1:0]       time_at;
    logic [4:0]                count;       // times that the place was taken
    logic [GenerationBits-1:0] generation;  // that the part told for it
  } entry_t;
  typedef struct packed {logic valid, insert, forget, ready; logic [KeyBits-1:0] key; logic [TimeBits-1:0] now;} asked_t;
  typedef struct packed {logic valid, set, way; logic [4:0] count;} removal_t;

  logic       rst_q = 1'b1;
  logic [1:0] clear_q = '0;  // the sets that are empty
  logic [4:1] set_q;
  logic       ready, result_valid, told_found, told_new, told_evicted, told_expired, set, way;

  // The result of the cycle before, which a removal is of.
  removal_t                  last_q = '0;
  logic [GenerationBits-1:0] generation, last_generation_q, told_before;
  logic                      forgot_q = 1'b0;  // the result of the cycle before: a key of set 0 forgot its flow

  sl_flow_core #(.KeyBits(KeyBits), .Sets(2), .Ways(2), .GenerationBits(GenerationBits), .TimeJumps(TimeJumps)) u_core (
    .clk_i, .rst_i(rst_q), .timeout_i(32'd4), .now_i(32'(now_i)),
    .clear_i(!ready), .clear_set_i(clear_q[0]), .ready_i(ready),
    .evict_i(1'b1), .key_valid_i(key_valid_i && !rst_q), .key_i, .set4_i(set_q[4]), .insert_i, .forget_i, .result_valid_o(result_valid), .found_o(told_found),
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

  function automatic logic removed(logic [4:0] entry_count, removal_t removal, logic entry_set, logic entry_way);
    return removal.valid && removal.set == entry_set && removal.way == entry_way && removal.count == entry_count;
  endfunction

  // The age modulo 2^32: what seems to be from the future is old.
  function automatic logic expired(logic [TimeBits-1:0] now, logic [TimeBits-1:0] time_at);
    return now < time_at || now - time_at >= TimeBits'(4);
  endfunction

  assign ready = clear_q == 2'd2;
  assign asked = asked_q[Latency];
  always_comb begin
    for (int w = 0; w < 2; w++) begin
      seen[w] = table_q[{set, 1'(w)}];
      seen[w].live = seen[w].live && !removed(seen[w].count, removal_q[Gap], set, 1'(w));
      holds[w] = seen[w].live && seen[w].key == asked.key;
      old[w] = seen[w].live && expired(asked.now, seen[w].time_at);
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

  if (!TimeJumps) begin : gen_slow
    logic [TimeBits-1:0] now_q = '0;
    logic                ticked_q = 1'b0;
    always_ff @(posedge clk_i) begin
      now_q    <= now_i;
      ticked_q <= now_i != now_q;
      m_time_is_slow : assume (now_i == now_q || (now_i == now_q + 1'b1 && !ticked_q));
    end
  end

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    clear_q   <= rst_q ? '0 : clear_q + 2'(!ready);
    set_q     <= {set_q[3:1], key_i == '0};
    asked_q   <= {asked_q[Latency-1:1], asked_t'{key_valid_i && !rst_q, insert_i, forget_i && !insert_i, ready, key_i, now_i}};
    removal_q <= {removal_q[Gap-1:1], removal_t'{remove_i && last_q.valid, last_q.set, last_q.way, last_q.count}};
    for (int place = 0; place < 4; place++) begin
      if (removed(table_q[place].count, removal_q[Gap], 1'(place >> 1), 1'(place))) table_q[place].live <= 1'b0;
    end
    last_q   <= '0;
    forgot_q <= asked.valid && expect_found && asked.forget && !set;
    if (asked.valid && (expect_found || expect_new)) begin
      table_q[{set, expect_way}] <= entry_t'{!asked.forget, asked.key, asked.now, count + 5'(expect_new), generation};
      last_q <= removal_t'{1'b1, set, expect_way, count + 5'(expect_new)};
      last_generation_q <= generation;
      if (expect_new && hand_q[set] == expect_way) hand_q[set] <= !expect_way;
    end
    if (rst_q) begin
      for (int place = 0; place < 4; place++) table_q[place] <= '0;
      hand_q[0] <= 1'b0;
      hand_q[1] <= 1'b0;
    end

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
      if (!asked.valid) a_tells_nothing_without_a_key : assert (!told_found && !told_new && !told_evicted && !told_expired);
      c_evicts : cover (told_evicted);
      c_expires : cover (told_expired && way && holds == '0);
      c_forgets_and_inserts_at_once : cover (told_new && !set && forgot_q && !told_expired && !told_evicted && way);
      c_inserts_after_a_removal : cover (told_new && !seen[way].live && seen[way].count != '0);
    end
  end
endmodule
