// SPDX-License-Identifier: Apache-2.0
// Store-and-forward FIFO of packets with rewind: a packet leaves only once all of it is in, with its length in the metadata of its
// first flit. A packet that is marked bad, too long, too short, or for which there is no room is discarded whole, and counted by
// cause with a one-cycle pulse; packets before and after it are unaffected. With `lossless_i` a full FIFO applies back-pressure
// instead of dropping. A new sop inside a packet ends the previous packet as bad. With `Exact` every bit of every flit leaves as it
// entered, and only packets without room are dropped.
module sl_packet_fifo #(
  parameter int unsigned Flits = 512,          // capacity, at least 8; lossless: more than a packet of the largest size
  parameter int unsigned Packets = 64,         // whole packets inside at once, at least 4
  parameter int unsigned SmallestPacket = 14,  // bytes; shorter ones are runts
  parameter int unsigned LargestPacket = sluice_pkg::MTU_BYTES,  // bytes; longer ones are oversize
  parameter bit          Exact = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_i,             // synchronous, active high
  input  logic               lossless_i,        // 1: apply back-pressure when full; 0: always ready, drop when full
  input  sluice_pkg::flit_t  in_data_i,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  output sluice_pkg::flit_t  out_data_o,        // registered
  output logic               out_valid_o,       // registered
  input  logic               out_ready_i,
  output logic               empty_o,           // nothing stored, not even part of a packet
  output logic               stored_o,          // pulse: a packet was stored
  output logic [15:0]        stored_length_o,   // its length in bytes
  output logic               drop_error_o,      // pulse: dropped, marked bad
  output logic               drop_oversize_o,   // pulse: dropped, longer than LargestPacket
  output logic               drop_runt_o,       // pulse: dropped, shorter than SmallestPacket
  output logic               drop_overflow_o    // pulse: dropped, no room
);
  import sluice_pkg::*;

  localparam int unsigned AddressBits = $clog2(Flits);
  localparam int unsigned CountBits = $clog2(Flits + 1);
  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);
  localparam logic [AddressBits-1:0] Last = AddressBits'(Flits - 1);

  typedef struct packed {
    logic                    sop;
    logic                    eop;
    logic [EmptyBits-1:0]    empty;
    logic [8*DATA_BYTES-1:0] data;
  } word_t;
  localparam int unsigned WordBits = $bits(word_t) + (Exact ? META_BITS + 1 : 0);  // beyond word_t: meta, error

  function automatic logic [AddressBits-1:0] following(logic [AddressBits-1:0] address);
    return address == Last ? '0 : address + 1'b1;
  endfunction

  // Write side. `used` counts slots that are not free: those of whole packets and of the packet that comes in.
  logic [AddressBits-1:0] write_q, start_q;
  logic [CountBits-1:0]   used_q, pending_q;
  logic [15:0]            length_q;
  logic                   inside_q, bad_q, oversize_q, overflow_q;
  meta_t                  meta_q;

  logic        move, first, stale, room, write, ends, keep;
  logic [15:0] length;
  logic        bad, oversize, overflow, runt;
  meta_t       meta;
  logic        meta_ready;
  logic        released;

  assign in_ready_o = !lossless_i || (used_q != CountBits'(Flits) && meta_ready);
  assign move   = in_valid_i && in_ready_o;
  assign first  = in_data_i.sop;
  assign stale  = move && first && inside_q;  // the previous packet never ended
  assign length = (first ? 16'd0 : length_q) + 16'(DATA_BYTES) - (in_data_i.eop ? 16'(in_data_i.empty) : 16'd0);
  assign room   = used_q - (stale ? pending_q : '0) != CountBits'(Flits) && meta_ready;
  assign oversize = !Exact && ((!first && oversize_q) || length > 16'(LargestPacket));
  assign overflow = (!first && overflow_q) || !room;
  assign bad      = (!first && bad_q) || (in_data_i.eop && in_data_i.error && !Exact) || (!first && !inside_q);
  assign runt     = !Exact && length < 16'(SmallestPacket);
  assign write = move && !oversize && !overflow && !bad;
  assign ends  = move && in_data_i.eop;
  assign keep  = ends && !oversize && !overflow && !bad && !runt;

  always_comb begin
    meta = first ? in_data_i.meta : meta_q;
    meta.length = length;
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      length_q   <= oversize ? 16'(LargestPacket + 1) : length;
      inside_q   <= !in_data_i.eop;
      bad_q      <= bad;
      oversize_q <= oversize;
      overflow_q <= overflow;
      if (first) meta_q <= in_data_i.meta;
      if (keep) start_q <= following(first ? start_q : write_q);
      if (ends) begin
        write_q <= keep ? following(first ? start_q : write_q) : start_q;
      end else begin
        write_q <= write ? following(first ? start_q : write_q) : (first ? start_q : write_q);
      end
      // Slots of the packet that is coming in.
      if (ends) pending_q <= '0;
      else pending_q <= (first ? '0 : pending_q) + CountBits'(write);
    end
    used_q <= used_q + CountBits'(write) - CountBits'(released) - (stale ? pending_q : '0)
              - (ends && !keep ? (first ? '0 : pending_q) + CountBits'(write) : '0);
    stored_o        <= keep;
    stored_length_o <= length;
    drop_oversize_o <= ends && oversize;
    drop_overflow_o <= ends && !oversize && overflow;
    drop_error_o    <= (ends && !oversize && !overflow && bad) || stale;
    drop_runt_o     <= ends && !oversize && !overflow && !bad && runt;
    if (rst_i) begin
      write_q         <= '0;
      start_q         <= '0;
      used_q          <= '0;
      pending_q       <= '0;
      inside_q        <= 1'b0;
      stored_o        <= 1'b0;
      drop_oversize_o <= 1'b0;
      drop_overflow_o <= 1'b0;
      drop_error_o    <= 1'b0;
      drop_runt_o     <= 1'b0;
    end
  end

  // Read side: whole packets only. RAM, its register, then the output register, where sop gets its metadata.
  logic [CountBits-1:0]   whole_q;  // flits of whole packets in the RAM, not yet read
  logic [AddressBits-1:0] read_q;
  logic                   read_valid_q, fetch, load, meta_valid;
  logic [WordBits-1:0]    read_bits;
  word_t                  read_word;
  meta_t                  read_meta;

  assign load     = read_valid_q && (!out_valid_o || out_ready_i) && (!read_word.sop || meta_valid);
  assign fetch    = whole_q != '0 && (!read_valid_q || load);
  assign released = fetch;

  logic [WordBits-1:0] write_bits;
  assign write_bits = WordBits'({in_data_i.error, in_data_i.meta, in_data_i.sop, in_data_i.eop, in_data_i.empty, in_data_i.data});
  assign read_word  = read_bits[$bits(word_t)-1:0];
  sl_ram_block #(.Width(WordBits), .Depth(Flits), .Latency(1)) u_ram (
    .clk_i,
    .write_valid_i(write), .write_address_i(first ? start_q : write_q), .write_data_i(write_bits),
    .read_valid_i(fetch), .read_address_i(read_q), .read_data_o(read_bits)
  );

  logic [$clog2(Packets+1)-1:0] unused_count;
  sl_fifo #(.Width(META_BITS), .Depth(Packets), .Style(0)) u_meta (
    .clk_i, .rst_i,
    .in_data_i(meta), .in_valid_i(keep), .in_ready_o(meta_ready),
    .out_data_o(read_meta), .out_valid_o(meta_valid), .out_ready_i(load && read_word.sop), .count_o(unused_count)
  );

  always_ff @(posedge clk_i) begin
    whole_q <= whole_q - CountBits'(fetch) + (keep ? (first ? CountBits'(1) : pending_q + CountBits'(1)) : '0);
    if (fetch) read_q <= following(read_q);
    if (!read_valid_q || load) read_valid_q <= fetch;
    if (load) begin
      {out_data_o.error, out_data_o.meta} <= Exact ? (META_BITS + 1)'(read_bits >> $bits(word_t))
        : {1'b0, read_word.sop ? read_meta : '0};
      out_data_o.eop   <= read_word.eop;
      out_data_o.sop   <= read_word.sop;
      out_data_o.empty <= read_word.empty;
      out_data_o.data  <= read_word.data;
    end
    if (!out_valid_o || out_ready_i) out_valid_o <= load;
    if (rst_i) begin
      whole_q      <= '0;
      read_q       <= '0;
      read_valid_q <= 1'b0;
      out_valid_o  <= 1'b0;
    end
  end

  assign empty_o = used_q == '0 && !read_valid_q && !out_valid_o && !inside_q;

  sl_channel_check #(.Width(FLIT_BITS)) u_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
