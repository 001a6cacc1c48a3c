// SPDX-License-Identifier: Apache-2.0
// Turns the flits of a packet as its job says: what is behind the place of the splice goes to the columns in which it leaves, and
// the flit of the place gets what comes. SPLICE_TURN_LATENCY cycles, never stalls. sl_splice_join makes the packet of it: flits and
// columns that go are still there.
//
// cycle 1: turn by up to 3 words; 2: by the rest; 3: the columns.
module sl_splice_turn
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,    // synchronous, active high
  input  logic         valid_i,
  input  flit_t        flit_i,
  input  splice_job_t  job_i,    // of the packet, while its flits come
  input  logic [FLIT_WORDS-1:0][15:0] image_i,  // SPLICE_IMAGE_LATENCY cycles later
  output logic         valid_o,
  output splice_flit_t out_o
);
  localparam int unsigned ColumnBits = $clog2(FLIT_WORDS);
  localparam int unsigned EmptyBits  = $clog2(DATA_BYTES);
  localparam logic [3:0]  LastIndex  = '1;  // flits from here on are behind every place

  // Where a flit is.
  typedef struct packed {
    logic whole;   // before the place
    logic first;   // has the place
    logic retain;  // the flit of the place stays, as far as it leaves
    logic head;    // the last that the flit of the place needs
    logic next;
    logic skip;
  } flit_place_t;

  function automatic flit_data_t turned(flit_data_t data, logic [ColumnBits-1:0] by);
    return rotate_up(data, by);
  endfunction

  // Cycles 1 and 2.
  logic [2:1]       valid_q;
  logic [3:0]       later_q, index;
  flit_place_t      place, place_1_q;
  /* verilator lint_off UNUSEDSIGNAL */  // columns and turn only
  splice_job_t      job_1_q;
  /* verilator lint_on UNUSEDSIGNAL */
  flit_t            flit_1, flit_1_q, flit_2_q;
  flit_data_t       turned_1_q, turned_2_q;
  logic             over_1_q, over_2_q, lags_2_q, retain_2_q, skip_2_q;
  flit_columns_t    raw_2_q, inserted_2_q, retained_2_q, joined_2_q, own_2_q, wrapped_2_q, moved_2_q;

  assign index = flit_i.sop ? '0 : later_q;
  always_comb begin
    place        = '0;
    place.whole  = !job_i.enable || index < job_i.first;
    place.first  = !place.whole && index == job_i.first;
    place.retain = !place.whole && index > job_i.first && index <= job_i.head;
    place.head   = !place.whole && index == job_i.head;
    place.next   = !place.whole && index == job_i.head + 4'd1;
    place.skip   = !place.whole && index < job_i.head;
  end

  // The ends of the flit as they will be.
  logic [EmptyBits-1:0] moved;
  assign moved = {job_i.turn, 1'b0};
  always_comb begin
    flit_1 = flit_i;
    if (flit_i.sop) flit_1.meta.length = flit_i.meta.length + {{8{job_i.grows[6]}}, job_i.grows, 1'b0};
    if (flit_i.eop && !place.whole) flit_1.empty = flit_i.empty - moved;
  end

  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[1], valid_i};
    if (valid_i) begin
      later_q    <= index == LastIndex ? index : index + 4'd1;
      place_1_q  <= place;
      flit_1_q   <= flit_1;
      turned_1_q <= turned(flit_i.data, ColumnBits'(job_i.turn[1:0]));
      over_1_q   <= flit_i.eop && !place.whole && flit_i.empty < moved;
      if (flit_i.sop) job_1_q <= job_i;
    end
    if (valid_q[1]) begin
      retain_2_q   <= place_1_q.retain;
      skip_2_q     <= place_1_q.skip;
      flit_2_q     <= flit_1_q;
      turned_2_q   <= turned(turned_1_q, {job_1_q.turn[ColumnBits-1:2], 2'b00});
      over_2_q     <= over_1_q;
      lags_2_q     <= job_1_q.lags && !place_1_q.whole;
      raw_2_q      <= place_1_q.whole ? '1 : place_1_q.first ? job_1_q.ahead : '0;
      inserted_2_q <= place_1_q.first ? job_1_q.upto & ~job_1_q.ahead : place_1_q.next && job_1_q.lags ? job_1_q.wrapped : '0;
      retained_2_q <= place_1_q.retain ? job_1_q.upto : '0;
      joined_2_q   <= job_1_q.lags || place_1_q.whole || place_1_q.head ? '0 :
                      place_1_q.next ? job_1_q.moved | job_1_q.wrapped : job_1_q.moved;
      own_2_q      <= !job_1_q.lags || place_1_q.whole ? '1 : place_1_q.head ? job_1_q.moved | job_1_q.upto :
                      place_1_q.next ? job_1_q.moved | job_1_q.wrapped : job_1_q.moved;
      moved_2_q    <= job_1_q.moved;
      wrapped_2_q  <= place_1_q.first ? job_1_q.wrapped : '0;
    end
  end

  // Cycle 3: the columns. What a flit retains is in the register from the flits before.
  always_ff @(posedge clk_i) begin
    valid_o <= valid_q[2] && !rst_i;
    if (valid_q[2]) begin
      out_o.flit.eop   <= flit_2_q.eop;
      out_o.flit.error <= flit_2_q.error;
      out_o.flit.empty <= flit_2_q.empty;
      out_o.own        <= own_2_q;
      out_o.lags       <= lags_2_q;
      out_o.skip       <= skip_2_q;
      out_o.over       <= over_2_q;
      if (!retain_2_q) begin
        out_o.flit.sop  <= flit_2_q.sop;
        out_o.flit.meta <= flit_2_q.meta;
      end
      for (int c = 0; c < FLIT_WORDS; c++) begin
        if (raw_2_q[c])           out_o.flit.data[16*c +: 16] <= flit_2_q.data[16*c +: 16];
        else if (inserted_2_q[c]) out_o.flit.data[16*c +: 16] <= swap16(image_i[c]);
        else if (!retained_2_q[c]) out_o.flit.data[16*c +: 16] <= turned_2_q[16*c +: 16];
      end
      for (int c = 0; c < SPLICE_WORDS; c++) begin
        if (joined_2_q[c]) out_o.flit.data[16*c +: 16] <= out_o.tail[c];
        out_o.tail[c] <= wrapped_2_q[c] ? swap16(image_i[c]) : moved_2_q[c] ? turned_2_q[16*c +: 16] : '0;
      end
    end
  end
endmodule
