// SPDX-License-Identifier: Apache-2.0
// Packets, bytes and last hit of every rule. Takes a hit every cycle, also of the same rule (results in flight to the RAM are
// forwarded). A populated rule starts at 0 without its own RAM write, since hits may use every write cycle: each word carries a
// mark bit, a second RAM holds a mark for each rule, and while the two differ the word counts as 0. A read takes the first cycle
// without a hit. Counters of a rule that was never populated are undefined. After reset it writes every word once, so that the copy
// of the words' marks agrees with them whatever the RAMs held.
module sl_rule_counters
  import sluice_pkg::*;
#(
  parameter int unsigned Entries = 1024,  // rules, at least 2
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,          // synchronous, active high: stops operations in flight
  output logic                 ready_o,        // the words are written; no hit and no fresh rule before
  input  logic [31:0]          tick_i,         // microseconds
  input  logic                 hit_valid_i,
  input  logic [IndexBits-1:0] hit_index_i,
  input  logic [15:0]          hit_length_i,   // bytes of the packet
  input  logic                 fresh_valid_i,  // the rule restarts at 0; no hit on it from 5 cycles before to 2 cycles after
  input  logic [IndexBits-1:0] fresh_index_i,
  input  logic                 read_valid_i,   // stable until read_done_o
  input  logic [IndexBits-1:0] read_index_i,
  output logic                 read_wait_o,    // a read is waiting for a cycle without a hit
  output logic                 read_done_o,    // pulse: read_data_o is valid
  output rule_counters_t       read_data_o,    // atomic; stable until the next read; 0 after reset
  output sl_counter_pkg::counter_event_t event_o // the update that is written
);
  typedef struct packed {
    logic           mark;
    rule_counters_t counters;
  } word_t;

  logic                 start, reading_q;
  logic [IndexBits-1:0] index, sweep_q;
  word_t                ram_word;
  logic                 ram_mark, old_mark;

  assign start       = read_valid_i && !reading_q && !hit_valid_i;
  assign read_wait_o = read_valid_i && !reading_q && hit_valid_i;
  assign index       = hit_valid_i ? hit_index_i : read_index_i;

  // Steps 1 to 3 before the sum, 4 with the sum (written in this step), 5 and 6 only for forwarding.
  logic [6:1]           valid_q;  // a hit
  logic [3:1]           read_q;   // a read
  logic [IndexBits-1:0] index_q [1:6];
  logic [15:0]          length_q [1:3];
  rule_counters_t       base_q, sum_q [4:6], base, current, sum;
  logic                 late_q, mark_q3, mark_q4;

  // The newest sum of this rule that the RAM did not have when it was read.
  always_comb begin
    base = (ram_mark == ram_word.mark) ? ram_word.counters : '0;
    for (int unsigned step = 6; step >= 4; step--) begin
      if (valid_q[step] && index_q[step] == index_q[2]) base = sum_q[step];
    end
    current      = late_q ? sum_q[4] : base_q;
    sum.packets  = current.packets + 48'd1;
    sum.bytes    = current.bytes + 48'(length_q[3]);
    sum.last_hit = tick_i;
  end

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[5:4], valid_q[3] || !ready_o, valid_q[2:1], hit_valid_i};
    read_q  <= {read_q[2:1], start};
    if (hit_valid_i || start) begin
      index_q[1]  <= index;
      length_q[1] <= hit_length_i;
    end
    if (valid_q[1] || read_q[1]) begin
      index_q[2]  <= index_q[1];
      length_q[2] <= length_q[1];
    end
    if (valid_q[2] || read_q[2]) begin
      index_q[3]  <= index_q[2];
      length_q[3] <= length_q[2];
      base_q      <= base;
      mark_q3     <= ram_mark;
      late_q      <= valid_q[3] && index_q[3] == index_q[2];
    end
    if (valid_q[3]) begin
      index_q[4] <= index_q[3];
      sum_q[4]   <= sum;
      mark_q4    <= mark_q3;
    end
    if (!ready_o) begin
      index_q[4] <= sweep_q;
      sum_q[4]   <= '0;
      mark_q4    <= 1'b0;
      sweep_q    <= sweep_q + 1'b1;
      ready_o    <= sweep_q == IndexBits'(Entries - 1);
    end
    for (int unsigned step = 4; step < 6; step++) begin
      if (valid_q[step]) begin
        index_q[step+1] <= index_q[step];
        sum_q[step+1]   <= sum_q[step];
      end
    end
    read_done_o <= read_q[3];
    if (read_q[3]) read_data_o <= current;
    if (start) reading_q <= 1'b1;
    else if (read_done_o) reading_q <= 1'b0;
    if (rst_i) begin
      valid_q     <= '0;
      read_q      <= '0;
      read_done_o <= 1'b0;
      reading_q   <= 1'b0;
      sweep_q     <= '0;
      ready_o     <= 1'b0;
      read_data_o <= '0;
    end
  end

  sl_ram_block #(.Width($bits(word_t)), .Depth(Entries), .Latency(2)) u_words (
    .clk_i, .write_valid_i(valid_q[4]), .write_address_i(index_q[4]), .write_data_i({mark_q4, sum_q[4]}),
    .read_valid_i(hit_valid_i || start), .read_address_i(index), .read_data_o(ram_word)
  );

  // A fresh rule gets the opposite of its word's mark, which is read from a copy of the words' marks.
  logic [1:0]           fresh_q;
  logic [IndexBits-1:0] fresh_index_q, fresh_index_q2;

  always_ff @(posedge clk_i) begin
    fresh_q        <= rst_i ? '0 : {fresh_q[0], fresh_valid_i};
    fresh_index_q  <= fresh_index_i;
    fresh_index_q2 <= fresh_index_q;
  end
  assign event_o = '{
    counted: valid_q[4], rule: sl_counter_pkg::COUNTED_RULE_BITS'(index_q[4]), mark: mark_q4, counters: sum_q[4],
    fresh: fresh_q[1], fresh_rule: sl_counter_pkg::COUNTED_RULE_BITS'(fresh_index_q2), fresh_mark: ~old_mark
  };

  sl_ram_block #(.Width(1), .Depth(Entries), .Latency(2)) u_word_marks (
    .clk_i, .write_valid_i(valid_q[4]), .write_address_i(index_q[4]), .write_data_i(mark_q4),
    .read_valid_i(fresh_valid_i), .read_address_i(fresh_index_i), .read_data_o(old_mark)
  );
  sl_ram_block #(.Width(1), .Depth(Entries), .Latency(2)) u_rule_marks (
    .clk_i, .write_valid_i(fresh_q[1]), .write_address_i(fresh_index_q2), .write_data_i(~old_mark),
    .read_valid_i(hit_valid_i || start), .read_address_i(index), .read_data_o(ram_mark)
  );
endmodule
