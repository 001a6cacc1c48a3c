// SPDX-License-Identifier: Apache-2.0
// Egress queues of one port, chosen by `meta.queue` of a packet's first flit, in one block RAM with a fixed share per queue. Whole
// packets only, in order within a queue. A packet whose queue has no room is discarded and counted by a pulse; the input never
// waits. With `lossless_i` it waits for room instead, and only a packet larger than its queue is dropped. Queues from
// `strict_from_i` up are strict, the highest first; those below share the rest in proportion to their quanta (deficit round robin
// that may overdraw by a packet, so that no turn is empty).
module sl_queues
  import sluice_pkg::*;
#(
  parameter int unsigned Queues = 8,    // 2, 4, 8 or 16; the low bits of meta.queue select
  parameter int unsigned Flits  = 512,  // capacity of each queue, a power of two, more than a packet of the largest size
  localparam int unsigned QueueBits   = $clog2(Queues)
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic                    lossless_i,     // 1: a full queue applies back-pressure; 0: it drops
  input  logic [QueueBits:0]      strict_from_i,  // 0: all strict; Queues: none
  input  logic [Queues-1:0][15:0] quantum_i,      // bytes per turn; at least the largest packet, or the shares are off
  input  flit_t                   in_data_i,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,     // combinational from in_data_i; always 1 unless lossless_i
  output flit_t                   out_data_o,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic                    empty_o,        // nothing stored, not even part of a packet
  output logic [Queues-1:0]       drop_o          // pulse: a packet of this queue was dropped, no room
);
  localparam int unsigned AddressBits = $clog2(Flits);
  localparam int unsigned CreditBits  = 18;
  localparam logic signed [CreditBits-1:0] MostDebt = -18'sd65536;

  // Pointers have one bit more than addresses: equal means empty, equal but for that bit means full.
  logic [Queues-1:0][AddressBits:0] whole_q, read_q;  // after the last whole packet; next to read

  // Write side: one packet comes in at a time.
  logic [QueueBits-1:0] in_queue_q, in_queue;
  logic [AddressBits:0] write_q, write;
  logic                 inside_q, overflow_q, over, full, overflow, move, store;

  assign in_queue   = in_data_i.sop ? in_data_i.meta.queue[QueueBits-1:0] : in_queue_q;
  assign write      = in_data_i.sop ? whole_q[in_queue] : write_q;
  assign full       = write == (read_q[in_queue] ^ {1'b1, {AddressBits{1'b0}}});
  assign over       = !in_data_i.sop && overflow_q;
  // Room appears when an earlier packet leaves; without one the input does not wait.
  assign in_ready_o = !(lossless_i && full && !over && whole_q[in_queue] != read_q[in_queue]);
  assign move       = in_valid_i && in_ready_o;
  assign overflow   = over || full;
  assign store      = move && !overflow;

  always_ff @(posedge clk_i) begin
    drop_o <= '0;
    if (move) begin
      in_queue_q <= in_queue;
      overflow_q <= overflow;
      write_q    <= write + 1'b1;
      inside_q   <= !in_data_i.eop;
      if (in_data_i.eop && !overflow) whole_q[in_queue] <= write + 1'b1;
      if (in_data_i.eop && overflow) drop_o[in_queue] <= 1'b1;
    end
    if (rst_i) begin
      whole_q  <= '0;
      inside_q <= 1'b0;
      drop_o   <= '0;
    end
  end

  // The queue to send from: the one with a packet in progress; else the highest strict one with a packet; else the one whose turn
  // it is, while it has credit; else the next one after it with a packet.
  logic [Queues-1:0]                       any_of;
  logic signed [Queues-1:0][CreditBits-1:0] credit_q;
  logic [QueueBits-1:0]                    choice_q, turn_q, choice;
  logic                                    locked_q, any, strict, new_turn;

  always_comb begin
    any_of   = '0;
    choice   = choice_q;
    any      = locked_q;  // holds whole packets only
    strict   = 1'b0;
    new_turn = 1'b0;
    if (!locked_q && whole_q != read_q) begin
      for (int unsigned i = 0; i < Queues; i++) any_of[i] = whole_q[i] != read_q[i];
      choice = turn_q;
      any    = any_of[turn_q] && !credit_q[turn_q][CreditBits-1] && (QueueBits+1)'(turn_q) < strict_from_i;
      for (int unsigned i = 1; i <= Queues; i++) begin
        automatic logic [QueueBits-1:0] queue = turn_q + QueueBits'(i);
        if (!any && any_of[queue] && (QueueBits+1)'(queue) < strict_from_i) begin
          choice   = queue;
          any      = 1'b1;
          new_turn = 1'b1;
        end
      end
      for (int unsigned i = 0; i < Queues; i++) begin
        if (any_of[i] && (QueueBits+1)'(i) >= strict_from_i) begin
          choice   = QueueBits'(i);
          any      = 1'b1;
          new_turn = 1'b0;
          strict   = 1'b1;
        end
      end
    end
  end

  // Read side: the scheduler's fields of a flit come from LUT RAM in the same cycle, the flit itself one cycle later.
  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);
  logic                  fetch, read_valid_q, load, strict_q, free, eop;
  logic [EmptyBits-1:0]  empty;
  flit_t                 word;
  logic signed [CreditBits-1:0] credit;

  assign load  = read_valid_q && free;
  assign fetch = any && (!read_valid_q || load);
  assign empty_o = whole_q == read_q && !inside_q && !read_valid_q && !out_valid_o;

  always_comb begin
    credit = '0;
    if (fetch) begin
      credit = credit_q[choice];
      if (new_turn) credit = (credit[CreditBits-1] ? credit : '0) + CreditBits'(quantum_i[choice]);
      if (credit > MostDebt) credit = credit - CreditBits'(DATA_BYTES) + CreditBits'(empty);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!read_valid_q || load) read_valid_q <= fetch;
    if (fetch) begin
      read_q[choice] <= read_q[choice] + 1'b1;
      locked_q       <= !eop;
      choice_q       <= choice;
      if (!locked_q) strict_q <= strict;
      if (locked_q ? !strict_q : !strict) begin
        turn_q           <= choice;
        credit_q[choice] <= credit;
      end
    end
    if (rst_i) begin
      read_valid_q <= 1'b0;
      read_q       <= '0;
      locked_q     <= 1'b0;
      turn_q       <= '0;
      credit_q     <= '0;
    end
  end

  sl_ram_block #(.Width(FLIT_BITS), .Depth(Queues * Flits), .Latency(1)) u_store (
    .clk_i, .write_valid_i(store), .write_address_i({in_queue, write[AddressBits-1:0]}),
    .write_data_i(in_data_i), .read_valid_i(fetch), .read_address_i({choice, read_q[choice][AddressBits-1:0]}),
    .read_data_o(word)
  );
  sl_ram_lut #(.Width(EmptyBits + 1), .Depth(Queues * Flits)) u_ends (
    .clk_i, .write_valid_i(store), .write_address_i({in_queue, write[AddressBits-1:0]}),
    .write_data_i({in_data_i.eop, in_data_i.eop ? in_data_i.empty : '0}),
    .read_address_i({choice, read_q[choice][AddressBits-1:0]}), .read_data_o({eop, empty})
  );
  sl_skid #(.Width(FLIT_BITS)) u_out (
    .clk_i, .rst_i, .in_data_i(word), .in_valid_i(read_valid_q), .in_ready_o(free), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
