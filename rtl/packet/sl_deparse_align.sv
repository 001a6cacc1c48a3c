// SPDX-License-Identifier: Apache-2.0
// Realigns each packet by its job's shift, removes dropped packets and writes the new metadata into the first flit. A shift inserts
// or removes VLAN tags and removes the headers of a tunnel; flits that are removed whole are discarded. One flit per cycle in and
// out: the bytes of each flit are rotated on input, and an output flit is joined from the previous, the held and the next flit. A
// packet that grows by a flit stalls the input for one cycle; one that shrinks by its last flit leaves one output cycle empty. A
// packet waits for its job, a job for its packet. `error` at the end is kept.
module sl_deparse_align
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,        // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // sop is regenerated, events are counted where the job is taken
  input  flit_t        in_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic         in_valid_i,
  output logic         in_ready_o,   // combinational from job_valid_i and out_ready_i
  input  deparse_job_t job_data_i,
  input  logic         job_valid_i,
  output logic         job_ready_o,  // combinational from in_valid_i and out_ready_i: taken with the first flit
  output aligned_t     out_data_o,
  output logic         out_valid_o,  // combinational from in_valid_i
  input  logic         out_ready_i
);
  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);
  localparam int unsigned TailBits  = 64;  // the most that a packet can grow

  /* verilator lint_off UNUSEDSIGNAL */
  flit_t                      hold_q;        // its bytes rotated; metadata of the packet's first flit
  deparse_job_t               job_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic                       hold_valid_q;
  logic                       spill_q;       // the held flit was sent; its remainder is in tail_q
  logic                       first_q;       // the next flit in is the first of a packet
  logic                       drop_q;        // the incoming packet is being dropped
  logic [3:0]                 skip_q;        // whole flits still to be removed
  logic [TailBits-1:0]        tail_q;        // the part of the flit before the held one that belongs to the next
  logic [EDIT_INDEX_BITS-1:0] index_q;

  logic                 shrinks, merge, spills, fire, free, take, dropping, skipping;
  logic [3:0]           skip;
  flit_half_t           turn;    // rotation of the incoming bytes
  flit_data_t           turned;
  flit_half_t           place;   // where an output flit is joined
  logic [EmptyBits-1:0] moved;   // the same in bytes: the shift, modulo DATA_BYTES

  assign place    = flit_half_t'(job_q.shift);
  assign moved    = {place, 1'b0};
  assign shrinks  = job_q.shift < 0 && place != '0;
  assign merge    = shrinks && !hold_q.eop && in_data_i.eop && in_data_i.empty >= moved;
  assign spills   = !shrinks && !spill_q && hold_q.eop && hold_q.empty < moved;
  assign fire     = out_valid_o && out_ready_i;
  assign free     = !hold_valid_q || (fire && !spills);
  assign take     = in_valid_i && in_ready_o;
  assign dropping = first_q ? job_data_i.drop : drop_q;
  assign turn     = flit_half_t'(first_q ? job_data_i.shift : job_q.shift);
  assign skip     = first_q ? whole_flits(job_data_i.shift) : skip_q;
  assign skipping = skip != '0 && !in_data_i.eop;

  assign in_ready_o  = free && (!first_q || job_valid_i);
  assign job_ready_o = free && first_q && in_valid_i;
  assign out_valid_o = hold_valid_q && (!shrinks || hold_q.eop || in_valid_i);

  // Number of whole flits that a shift removes.
  function automatic logic [3:0] whole_flits(logic signed [7:0] by);
    return by < 0 ? 4'(8'(-by) >> FLIT_HALF_BITS) : '0;
  endfunction

  always_comb begin
    turned = in_data_i.data;
    if (turn != '0) turned = rotate_up(in_data_i.data, turn);
  end

  /* verilator lint_off UNUSEDSIGNAL */  // the edits are not for the metadata
  function automatic meta_t new_meta(meta_t meta, deparse_job_t job);
  /* verilator lint_on UNUSEDSIGNAL */
    meta_t m;
    m             = meta;
    m.verdict     = job.verdict;
    m.fault       = job.fault;
    m.egress_mask = job.egress_mask;
    m.length      = meta.length + {{7{job.shift[7]}}, job.shift, 1'b0};
    if (!job.keep) begin
      m.mark  = job.mark;
      m.queue = job.egress_queue;
    end
    return m;
  endfunction

  always_comb begin
    out_data_o = '0;
    if (out_valid_o) begin
      out_data_o.edit       = job_q.edit;
      out_data_o.front      = job_q.front;
      out_data_o.index      = index_q;
      out_data_o.flit.sop   = index_q == '0;
      out_data_o.flit.eop   = (hold_q.eop && !spills) || merge;
      out_data_o.flit.empty = out_data_o.flit.eop ? (merge ? in_data_i.empty : hold_q.empty) - moved : '0;
      out_data_o.flit.error = out_data_o.flit.eop && (merge ? in_data_i.error : hold_q.error);
      out_data_o.flit.data  = hold_q.data;
      if (shrinks) out_data_o.flit.data = join_at(hold_q.data, hold_q.eop ? '0 : turned, place);
      else if (place != '0) out_data_o.flit.data = join_at(flit_data_t'(tail_q), hold_q.data, place);
      if (index_q == '0) out_data_o.flit.meta = new_meta(hold_q.meta, job_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (free) hold_valid_q <= take && !dropping && !skipping && !(hold_valid_q && merge);
    if (take) begin
      hold_q.eop   <= in_data_i.eop;
      hold_q.empty <= in_data_i.empty;
      hold_q.error <= in_data_i.error;
      hold_q.data  <= turned;
      first_q      <= in_data_i.eop;
      drop_q       <= dropping;
      skip_q       <= skip - 4'(skipping);
    end
    if (fire) begin
      tail_q  <= hold_q.data[TailBits-1:0];
      spill_q <= spills;
      if (spills) hold_q.data <= '0;
      if (index_q != EDIT_INDEX_BITS'(EDIT_FLITS)) index_q <= index_q + 1'b1;
    end
    if (take && first_q) begin
      hold_q.meta <= in_data_i.meta;
      job_q       <= job_data_i;
      index_q     <= '0;
    end
    if (rst_i) begin
      hold_valid_q <= 1'b0;
      spill_q      <= 1'b0;
      first_q      <= 1'b1;
    end
  end
endmodule
