// SPDX-License-Identifier: Apache-2.0
// Pushes rule counters into host memory: keeps a copy of what sl_rule_counters writes, sweeps over all rules, one per cycle, and
// sends those whose counters changed since they were last sent. Lookups are not slowed down: the copy has its own read port.
//
// Each word of the copy holds the number of the sweep in which it was written, so nothing needs to be marked as sent: words written
// in this sweep or the previous one are sent. So each change is sent in the current sweep or, if its rule was already visited, in
// the next; a change before its rule's turn is sent once more in the next sweep. Numbers have `StampBits`: a word that no longer
// changes looks new in two of every 2**StampBits sweeps, so no two consecutive records of a rule have the same edition.
//
// A fresh rule is sent as 0 at once: `hold_o` is on until that record and all earlier ones were taken. If the instruction is
// answered only then, the host never sees counts of the previous rule with this number.
//
// It does not depend on the memories' contents at power-up: after reset, every rule's word must be written once before it is
// switched on.
module sl_counter_push
  import sluice_pkg::*;
  import sl_counter_pkg::*;
#(
  parameter int unsigned Entries   = 1024,  // rules, at least 2
  parameter int unsigned StampBits = 7      // 2 to 14
) (
  input  logic           clk_i,
  input  logic           rst_i,         // synchronous, active high
  input  logic           on_i,          // 0: nothing is sent
  input  logic [31:0]    period_i,      // minimum cycles from the start of a sweep to the start of the next
  input  counter_event_t event_i,       // rules below Entries
  output logic           hold_o,        // a fresh rule is not taken yet, from the cycle after its event; no other may come
  output logic [31:0]    sweeps_o,      // completed sweeps; wraps
  output rule_push_t     push_data_o,   // channel to the DMA
  output logic           push_valid_o,
  input  logic           push_ready_i
);
  localparam int unsigned IndexBits = $clog2(Entries);
  localparam int unsigned Depth     = 8;                          // words of the FIFO
  localparam int unsigned Room      = Depth - 5;                  // leaves room for a word, words in flight and a fresh rule
  localparam int unsigned CopyBits  = StampBits + 1 + RULE_COUNTERS_BITS;
  localparam logic [IndexBits-1:0] Last = IndexBits'(Entries - 1);

  typedef struct packed {
    logic [StampBits-1:0] stamp;
    logic                 mark;
    rule_counters_t       counters;
  } copy_t;

  // Steps: 0 the rule's turn, 2 its word is read, 3 into the FIFO.
  logic                 turn, begins, fits, met, recent, fresh_q, drain_q;
  logic [2:1]           valid_q, met_q;
  logic [2:1][31:0]     rule_q;
  logic [2:1][14:0]     sweep_q;
  copy_t                written, ram_copy, copy;
  copy_t [2:1]          met_copy_q;
  logic                 mark, send_q;
  logic [IndexBits-1:0] next_q, fresh_rule_q;
  logic [31:0]          wait_q;
  logic [3:0]           queued;
  rule_push_t           record_q;
  logic                 unused_ready;

  assign begins  = next_q == '0;
  assign fits    = queued <= 4'(Room);
  assign turn    = on_i && fits && !hold_o && !event_i.fresh && !(begins && wait_q != '0);
  assign hold_o  = fresh_q || drain_q;
  assign written = '{stamp: sweeps_o[StampBits-1:0], mark: event_i.mark, counters: event_i.counters};

  // A word that is written while it is read: the memory returns neither the old nor the new.
  assign met    = event_i.counted && event_i.rule == COUNTED_RULE_BITS'(next_q);
  assign copy   = met_q[2] ? met_copy_q[2] : ram_copy;
  assign recent = StampBits'(sweep_q[2]) - copy.stamp <= StampBits'(1);

  always_ff @(posedge clk_i) begin
    if (wait_q != '0) wait_q <= wait_q - 32'd1;
    if (turn) begin
      next_q <= next_q == Last ? '0 : next_q + 1'b1;
      if (begins) wait_q <= period_i == '0 ? '0 : period_i - 32'd1;
      if (next_q == Last) sweeps_o <= sweeps_o + 32'd1;
    end
    valid_q       <= {valid_q[1], turn};
    met_q         <= {met_q[1], met};
    met_copy_q    <= {met_copy_q[1], written};
    rule_q        <= {rule_q[1], 32'(next_q)};
    sweep_q       <= {sweep_q[1], sweeps_o[14:0]};
    send_q        <= valid_q[2] && copy.mark == mark && recent;
    record_q      <= '{place: rule_q[2], edition: {sweep_q[2], 1'b0}, counters: copy.counters};
    // A fresh rule, once all earlier reads are in the FIFO.
    if (event_i.fresh) begin
      fresh_q      <= on_i;
      fresh_rule_q <= event_i.fresh_rule[IndexBits-1:0];
    end else if (fresh_q && valid_q == '0) begin
      fresh_q  <= 1'b0;
      drain_q  <= 1'b1;
      send_q   <= 1'b1;
      record_q <= '{place: 32'(fresh_rule_q), edition: {sweeps_o[14:0], 1'b1}, counters: '0};
    end
    if (drain_q && !send_q && queued == '0) drain_q <= 1'b0;
    if (rst_i) begin
      next_q   <= '0;
      wait_q   <= '0;
      sweeps_o <= '0;
      valid_q  <= '0;
      send_q   <= 1'b0;
      fresh_q  <= 1'b0;
      drain_q  <= 1'b0;
    end
  end

  sl_ram_block #(.Width(CopyBits), .Depth(Entries), .Latency(2)) u_copy (
    .clk_i, .write_valid_i(event_i.counted), .write_address_i(event_i.rule[IndexBits-1:0]), .write_data_i(written),
    .read_valid_i(turn), .read_address_i(next_q), .read_data_o(ram_copy)
  );
  sl_ram_block #(.Width(1), .Depth(Entries), .Latency(2)) u_marks (
    .clk_i, .write_valid_i(event_i.fresh), .write_address_i(event_i.fresh_rule[IndexBits-1:0]), .write_data_i(event_i.fresh_mark),
    .read_valid_i(turn), .read_address_i(next_q), .read_data_o(mark)
  );

  sl_fifo #(.Width(RULE_PUSH_BITS), .Depth(Depth)) u_fifo (
    .clk_i, .rst_i, .in_data_i(record_q), .in_valid_i(send_q), .in_ready_o(unused_ready),
    .out_data_o(push_data_o), .out_valid_o(push_valid_o), .out_ready_i(push_ready_i), .count_o(queued)
  );

  logic unused;
  assign unused = &{1'b0, unused_ready, event_i.fresh_rule};
endmodule
