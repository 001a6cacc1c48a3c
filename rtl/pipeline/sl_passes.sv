// SPDX-License-Identifier: Apache-2.0
// Lets packets pass a pipeline more than once. It stands around the pipeline: a packet enters, comes out with the unit at which it is
// to begin another pass, leaves (or not), and waits here as it left until it enters again. It keeps its metadata, its mark included.
//
// No deadlock and no loss: a packet enters for the first time only when there is room for all of it, grown by PASS_GROWTH, beside all
// packets inside, wherever they are. It keeps that room until its last pass ends. So whoever asks for a pass has a place, and `left`
// waits for `out` alone. Where there is room for two of the longest packets, one enters in every cycle; with less it waits a cycle
// first, so that no path goes from its length to its ready. No endless loop: a pass that began at a unit can ask only for units above
// it, so a packet has at most `Units` passes; what else it asks for is refused, as is a pass of a packet that has grown more. Waiting
// packets enter before new ones. A packet that nobody asks another pass for takes no cycle more; one with k passes takes k times the
// flits.
module sl_passes
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Units = 2,    // of the pipeline, 1 to 15
  parameter int unsigned Flits = 1024  // of the packets inside, each grown by PASS_GROWTH; more than the longest packet has
) (
  input  logic           clk_i,
  input  logic           rst_i,           // synchronous, active high; the pipeline must be reset with it
  input  flit_t          in_data_i,       // new packets, with the right length in the first flit
  input  logic           in_valid_i,
  output logic           in_ready_o,      // combinational from enter_ready_i
  output flit_t          enter_data_o,    // into the pipeline, with the pass in the metadata (`pass_of`); the mark of a new packet is 0
  output logic           enter_valid_o,
  input  logic           enter_ready_i,
  input  flit_t          left_data_i,     // out of it, in the order in which they entered
  input  pipeline_pass_t left_pass_i,     // with the first flit: with the version that the packet got
  input  logic [3:0]     left_again_i,    // with the first flit: the unit that the next pass begins at; 0: none
  input  logic           left_dropped_i,  // with the first flit: the packet does not leave
  input  logic           left_valid_i,
  output logic           left_ready_o,    // combinational from out_ready_i
  output flit_t          out_data_o,
  output logic           out_stays_o,     // this packet is inside still: it leaves once more, or is dropped
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output logic           ends_o,          // pulse: the last pass of a packet ends
  output logic           passes_o,        // pulse: a packet will enter once more
  output logic           refused_o        // pulse: a packet asked for that in vain
);
  localparam int unsigned CountBits = $clog2(Flits + 1);

  if (Flits * DATA_BYTES < MTU_BYTES + PASS_GROWTH + DATA_BYTES) begin : gen_check
    $error("%m: Flits = %0d hold no packet of %0d bytes", Flits, MTU_BYTES);
  end

  // The flits of a packet that grows by so many bytes.
  function automatic logic [CountBits-1:0] flits_of(logic [13:0] bytes, int unsigned growth);
    logic [14:0] up;
    up = 15'(bytes) + 15'(growth + DATA_BYTES - 1);
    return CountBits'(up / 15'(DATA_BYTES));
  endfunction

  // What comes out of the pipeline.
  logic           first, again, again_q, dropped, dropped_q, begins;
  flit_t          kept, kept_q, stored, waiting;  // one after the other
  logic           kept_valid_q, stored_valid, stored_ready, waiting_valid, waiting_ready, fifo_ready;
  logic [CountBits-1:0] unused_count;

  assign first        = left_data_i.sop;
  assign again        = first ? left_again_i > left_pass_i.begins && 32'(left_again_i) < Units
                                && left_data_i.meta.length <= 16'(left_pass_i.longest) : again_q;
  assign dropped      = first ? left_dropped_i : dropped_q;
  assign out_data_o   = left_data_i;
  assign out_stays_o  = again;
  assign out_valid_o  = left_valid_i && !dropped;
  assign left_ready_o = out_ready_i || dropped;
  assign begins       = left_valid_i && left_ready_o && first;
  assign ends_o       = begins && !again;
  assign passes_o     = begins && again;
  assign refused_o    = begins && !again && left_again_i != '0;

  always_comb begin
    kept = left_data_i;
    if (first) begin
      kept.meta = with_pass(left_data_i.meta, '{version: left_pass_i.version, begins: left_again_i, longest: left_pass_i.longest});
    end
  end
  sl_fifo #(.Width(FLIT_BITS), .Depth(Flits), .Style(1)) u_waiting (
    .clk_i, .rst_i, .in_data_i(kept_q), .in_valid_i(kept_valid_q), .in_ready_o(fifo_ready),
    .out_data_o(stored), .out_valid_o(stored_valid), .out_ready_i(stored_ready), .count_o(unused_count)
  );
  // So that no path goes from `enter` to all of the block RAM.
  sl_skid #(.Width(FLIT_BITS)) u_waits_first (
    .clk_i, .rst_i, .in_data_i(stored), .in_valid_i(stored_valid), .in_ready_o(stored_ready),
    .out_data_o(waiting), .out_valid_o(waiting_valid), .out_ready_i(waiting_ready)
  );

  // What enters: whole packets, those that wait first; a packet that is offered stays offered.
  localparam int unsigned Longest = (MTU_BYTES + PASS_GROWTH + DATA_BYTES - 1) / DATA_BYTES;  // flits of one

  logic                 locked_q, waiting_turn_q, waiting_turn, fits, enters;
  logic                 plenty_q, waited_q;  // there is room for any packet, also behind one that entered since; for this one, which waits
  logic [CountBits-1:0] free_q, needed;
  logic [CountBits-1:0] returned_q;          // by a packet whose last pass ended in the cycle before

  assign needed        = flits_of(in_data_i.meta.length[13:0], PASS_GROWTH);
  assign fits          = plenty_q || waited_q;
  assign waiting_turn  = locked_q ? waiting_turn_q : waiting_valid;
  assign enter_valid_o = waiting_turn ? waiting_valid : in_valid_i && (locked_q || fits);
  assign waiting_ready = waiting_turn && enter_ready_i;
  assign in_ready_o    = !waiting_turn && enter_ready_i && (locked_q || fits);
  assign enters        = in_valid_i && in_ready_o && in_data_i.sop;

  always_comb begin
    enter_data_o = waiting_turn ? waiting : in_data_i;
    if (!waiting_turn && in_data_i.sop) begin
      enter_data_o.meta = with_pass(in_data_i.meta, '{version: 1'b0, begins: '0, longest: in_data_i.meta.length[13:0] + 14'(PASS_GROWTH)});
      enter_data_o.meta.mark = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    kept_q       <= kept;
    kept_valid_q <= left_valid_i && left_ready_o && again;
    if (left_valid_i) begin
      again_q   <= again;
      dropped_q <= dropped;
    end
    if (enter_valid_o) begin
      locked_q       <= !(enter_ready_i && enter_data_o.eop);
      waiting_turn_q <= waiting_turn;
    end
    plenty_q   <= 32'(free_q) >= 2 * Longest;
    waited_q   <= in_valid_i && !in_ready_o && needed <= free_q;
    returned_q <= ends_o ? flits_of(left_pass_i.longest, 0) : '0;
    free_q     <= free_q - (enters ? needed : '0) + returned_q;
    if (rst_i) begin
      locked_q     <= 1'b0;
      kept_valid_q <= 1'b0;
      plenty_q     <= 1'b0;
      waited_q     <= 1'b0;
      returned_q   <= '0;
      free_q       <= CountBits'(Flits);
    end
  end

  sl_channel_check #(.Width(FLIT_BITS)) u_enter_check (
    .clk_i, .rst_i, .data_i(enter_data_o), .valid_i(enter_valid_o), .ready_i(enter_ready_i)
  );
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && kept_valid_q) a_room_for_every_pass : assert (fifo_ready);
  end
`else
  logic unused;
  assign unused = &{1'b0, fifo_ready, unused_count};
`endif
endmodule
