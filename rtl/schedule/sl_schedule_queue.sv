// SPDX-License-Identifier: Apache-2.0
// The issue queue of the stateful paper (3.2.1): selects, in each cycle, the oldest record that no earlier record of its tag holds
// back. Entries are kept in the order of age and hold the place of their record in a second memory, so that only places move when a
// selected entry leaves a gap.
//
// Of a tag, one record at a time is ready or selected. The others wait; the wake-up of the tag, once for each selected record, makes
// the oldest of them ready. The scoreboard has a flip-flop a tag, set while a record of it is inside or not yet woken after.
// A full queue takes a record when one is selected.
module sl_schedule_queue #(
  parameter int unsigned Width   = 64,  // bits of a record
  parameter int unsigned TagBits = 8,
  parameter int unsigned Depth   = 8    // records, at least 1; with 1 the first record that waits holds up all others
) (
  input  logic               clk_i,
  input  logic               rst_i,           // synchronous, active high
  input  logic [Width-1:0]   in_data_i,
  input  logic [TagBits-1:0] in_tag_i,
  input  logic               in_free_i,       // waits for none, and none waits for it: no wake-up follows
  input  logic               in_valid_i,
  output logic               in_ready_o,      // depends on select_ready_i
  output logic [Width-1:0]   select_data_o,
  output logic               select_valid_o,  // already includes select_ready_i
  input  logic               select_ready_i,
  input  logic               wake_valid_i,    // the next record of this tag may be selected in the next cycle
  input  logic [TagBits-1:0] wake_tag_i
);
  localparam int unsigned PlaceBits = Depth > 1 ? $clog2(Depth) : 1;

  typedef struct packed {
    logic                 valid;
    logic                 ready;
    logic [TagBits-1:0]   tag;
    logic [PlaceBits-1:0] place;
  } entry_t;

  entry_t [Depth:0]       entries;  // the oldest first; then one that is never valid
  entry_t [Depth-1:0]     entries_q, entries_d;
  logic   [2**TagBits-1:0] busy_q;
  logic   [Depth-1:0]     taken_q;  // places with a record
  logic   [Depth:0]       older;    // an older entry is selected
  logic                   enter, wake_hit, full, placed, positioned;
  logic   [PlaceBits-1:0] select_place, place;
  entry_t                 arriving;

  assign full       = &taken_q;
  assign in_ready_o = !full || select_valid_o;
  assign enter      = in_valid_i && in_ready_o;

  // Selection of the oldest that is ready, and wake-up of the oldest that waits for the tag.
  always_comb begin
    older        = '0;
    select_place = '0;
    for (int unsigned i = 0; i < Depth; i++) begin
      if (!older[i] && entries_q[i].valid && entries_q[i].ready) select_place = entries_q[i].place;
      older[i+1] = older[i] || (entries_q[i].valid && entries_q[i].ready);
    end
  end
  assign select_valid_o = older[Depth] && select_ready_i;

  always_comb begin
    wake_hit = 1'b0;
    entries  = {entry_t'('0), entries_q};
    for (int unsigned i = 0; i < Depth; i++) begin
      if (wake_valid_i && !wake_hit && entries_q[i].valid && !entries_q[i].ready && entries_q[i].tag == wake_tag_i) begin
        wake_hit         = 1'b1;
        entries[i].ready = 1'b1;
      end
    end
  end

  // The lowest free place; of a full queue that of the selected record, which is read in this cycle.
  always_comb begin
    place  = select_place;
    placed = full;
    for (int unsigned i = 0; i < Depth; i++) begin
      if (!placed && !taken_q[i]) begin
        place  = PlaceBits'(i);
        placed = 1'b1;
      end
    end
    arriving.valid = 1'b1;
    arriving.ready = in_free_i || !busy_q[in_tag_i] || (wake_valid_i && wake_tag_i == in_tag_i && !wake_hit);
    arriving.tag   = in_tag_i;
    arriving.place = place;
  end

  always_comb begin
    positioned = !enter;
    for (int unsigned i = 0; i < Depth; i++) begin
      entries_d[i] = select_valid_o && older[i+1] ? entries[i+1] : entries[i];
      if (!positioned && !entries_d[i].valid) begin
        entries_d[i] = arriving;
        positioned   = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    entries_q <= entries_d;
    if (select_valid_o) taken_q[select_place] <= 1'b0;
    if (enter) taken_q[place] <= 1'b1;
    if (wake_valid_i && !wake_hit) busy_q[wake_tag_i] <= 1'b0;
    if (enter && !in_free_i) busy_q[in_tag_i] <= 1'b1;
    if (rst_i) begin
      for (int unsigned i = 0; i < Depth; i++) entries_q[i].valid <= 1'b0;
      taken_q <= '0;
      busy_q  <= '0;
    end
  end

  if (Depth > 1) begin : gen_records
    sl_ram_lut #(.Width(Width), .Depth(Depth)) u_records (
      .clk_i, .write_valid_i(enter), .write_address_i(place), .write_data_i(in_data_i),
      .read_address_i(select_place), .read_data_o(select_data_o)
    );
  end else begin : gen_record
    always_ff @(posedge clk_i) if (enter) select_data_o <= in_data_i;
  end
endmodule
