// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_checksum_fill with 2 slots of 16 bytes and its real FIFOs and sums, for all packets, offsets, stalls and
// runs of any length (induction): every flit leaves once and in order (fv_watch). A freely chosen flit leaves as it entered, except
// for the mark of a packet to forward, which is cleared, and the checksums that its packet requests and can have: these are the
// complement of the result of sl_flit_sum (fv_flit_sum) 6 cycles after the packet's end (for UDP, ffff instead of 0). Only the
// lowest bit of each byte and some bits of the metadata are compared; the other bits take the same path. Each sum receives every
// flit and, for a packet to fill in, the range of its checksum. A packet with an impossible request is reported in the cycle after
// its first flit. A flit is offered within 4 cycles after it entered and its predecessor left; a flit of a packet to fill in never
// sooner than 9 cycles after the packet's end, and by then if that is later. If the packet is too long for the slots (here 32
// bytes), its end cannot enter and it stays. An offered flit is stable until taken. A slot is free while fewer than 2 flits are
// inside, and idle_o is on while none is. Assumed: packets are whole, from a first flit to a last.
module fv_checksum_fill
  import sluice_pkg::*;
#(
  parameter int unsigned Flits = 2
) (
  input logic  clk_i,
  input flit_t in_data_i,
  input logic  in_valid_i,
  input logic  out_ready_i,
  input logic  choose_i
);
  localparam int unsigned Words = DATA_BYTES / 2, NumberBits = 10 - $clog2(Words), Inside = Flits + 2, Latency = 6, Patience = 9;

  localparam logic [NumberBits-1:0] NumberMost = '1;

  // State of a packet so far.
  typedef struct packed {
    logic        fill_ipv4;
    logic        fill_l4;
    logic        is_udp;
    logic [6:0]  l3;      // 16-bit words before its header, and before the header's payload
    logic [8:0]  l4;
    logic [15:0] length;  // bytes
    logic [NumberBits-1:0] flits;  // before this one; saturates beyond the offsets
  } packet_t;

  // The stored fields of each flit.
  typedef struct packed {
    logic       ipv4;
    logic       l4;
    logic       is_udp;
    logic [9:0] ipv4_word;
    logic [9:0] l4_word;
  } places_t;

  typedef struct packed {
    places_t places;
    logic    fills;
    flit_t   flit;
  } stored_t;

  logic                        rst_q = 1'b1, inside_q = 1'b0, refused_q = 1'b0, waiting_q = 1'b0, earlier_q, behind_q;
  logic                        in_ready, out_valid, unfilled, idle, enter, leave, watching, possible, chosen, ends, unused_word;
  logic                        head, filled;  // the watched flit is the next to leave; its packet is filled in
  logic [$clog2(Inside+1)-1:0] held, ahead;
  logic [3:0]                  waits_q;       // cycles in which the watched flit was next
  logic [3:0]                  since_q;       // cycles since the end of its packet entered
  logic                        ended_q;       // its packet ended
  logic [15:0]                 ipv4_sum_q, l4_sum_q;
  flit_t                       out_data, kept_q, kept, expected;
  packet_t                     now, packet_q, watched_q;
  transmit_checksum_t          asked;

  sl_checksum_fill #(.Flits(Flits)) u_fill (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready), .out_data_o(out_data), .out_valid_o(out_valid),
    .out_ready_i, .unfilled_o(unfilled), .idle_o(idle)
  );

  assign enter = in_valid_i && in_ready && !rst_q;
  assign leave = out_valid && out_ready_i && !rst_q;
  assign asked = in_data_i.meta.mark[TRANSMIT_CHECKSUM_BITS-1:0];

  always_comb begin
    now      = packet_q;
    possible = 1'b1;
    if (in_data_i.sop) begin
      now.l3        = asked.l3_offset[7:1];
      now.l4        = asked.l4_offset[9:1];
      now.length    = in_data_i.meta.length;
      now.flits     = '0;
      now.is_udp    = asked.l4 == TRANSMIT_L4_UDP;
      now.fill_ipv4 = asked.ipv4 && in_data_i.meta.verdict == VERDICT_FORWARD;
      now.fill_l4   = asked.l4 != TRANSMIT_L4_NONE && in_data_i.meta.verdict == VERDICT_FORWARD;
      if (now.fill_ipv4) begin
        possible = !asked.l3_offset[0] && !asked.l4_offset[0] && 32'(asked.l4_offset) >= 32'(asked.l3_offset) + 20
                   && 16'(asked.l4_offset) <= now.length;
      end
      if (now.fill_l4) begin
        possible = possible && !asked.l4_offset[0] && (asked.l4 == TRANSMIT_L4_TCP || asked.l4 == TRANSMIT_L4_UDP)
                   && 16'(asked.l4_offset) + (now.is_udp ? 16'd8 : 16'd18) <= now.length;
      end
      now.fill_ipv4 = now.fill_ipv4 && possible;
      now.fill_l4   = now.fill_l4 && possible;
    end
  end

  // The expected output of the watched flit.
  function automatic logic [15:0] checksum(logic [15:0] sum);  // as stored in a flit
    return {~sum[7:0], ~sum[15:8]};
  endfunction

  // The compared bits.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic [DATA_BYTES+8:0] sample(flit_t flit);
    for (int unsigned i = 0; i < DATA_BYTES; i++) sample[i] = flit.data[8*i];
    sample[DATA_BYTES+:9] = {flit.sop, flit.eop, flit.error, flit.empty[0], flit.meta.mark[31], flit.meta.mark[0], flit.meta.length[0],
                             flit.meta.verdict == VERDICT_FORWARD, flit.meta.egress_mask[0]};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  always_comb begin
    kept = kept_q;
    if (kept_q.sop && kept_q.meta.verdict == VERDICT_FORWARD) kept.meta.mark = '0;
    expected = kept;
    for (int unsigned i = 0; i < Words; i++) begin
      automatic int unsigned at = 32'(watched_q.flits) * Words + i;
      if (watched_q.fill_ipv4 && at == 32'(watched_q.l3) + 5) expected.data[16*i +: 16] = checksum(ipv4_sum_q);
      if (watched_q.fill_l4 && at == 32'(watched_q.l4) + (watched_q.is_udp ? 3 : 8)) begin
        expected.data[16*i +: 16] = watched_q.is_udp && l4_sum_q == '1 ? '1 : checksum(l4_sum_q);
      end
    end
  end

  fv_watch #(.Width(1), .Most(Inside)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(1'b0), .leave_i(leave), .out_valid_i(out_valid),
    .out_data_i(1'b0), .watching_o(watching), .word_o(unused_word), .ahead_o(ahead), .held_o(held)
  );

  assign head   = watching && ahead == '0;
  assign filled = watched_q.fill_ipv4 || watched_q.fill_l4;
  assign chosen = enter && choose_i && !watching;
  assign ends   = enter && in_data_i.eop && (chosen || (watching && !ended_q));

  // Internal state, for the induction: the flits and the results that wait, in order.
  int unsigned skid, fetched, count, place, results, results_stored, on_the_way, results_ahead, ends_inside;
  stored_t     stored [Flits];
  logic [31:0] result [Flits];
  /* verilator lint_off UNUSEDSIGNAL */
  stored_t     watched;        // the watched flit
  /* verilator lint_on UNUSEDSIGNAL */
  logic        is_stored, end_is_stored, result_is_ours;

  assign skid      = 32'(out_valid) + 32'(u_fill.u_out.spare_valid_q);
  assign fetched   = 32'(u_fill.head_valid) + 32'(u_fill.u_packets.read_valid_q);
  assign count     = 32'(u_fill.count);
  assign results   = 32'(u_fill.u_results.count_o);
  assign results_stored = results - 32'(u_fill.result_valid);
  assign is_stored = watching && 32'(ahead) >= skid;
  assign place     = 32'(ahead) - skid;

  for (genvar i = 0; i < Flits; i++) begin : gen_view
    logic [$clog2(Flits)-1:0] at, result_at;
    assign at        = ($clog2(Flits))'(32'(u_fill.u_packets.read_address_q) + i - fetched);
    assign result_at = ($clog2(Flits))'(32'(u_fill.u_results.read_address_q) + i - 32'(u_fill.result_valid));
    assign stored[i] = i == 0 && u_fill.head_valid ? stored_t'(u_fill.u_packets.out_data_o) :
                       i < fetched ? stored_t'(u_fill.u_packets.gen_block.read_data) :
                       stored_t'(u_fill.u_packets.gen_block.u_ram.memory[at]);
    assign result[i] = i == 0 && u_fill.result_valid ? u_fill.u_results.out_data_o : u_fill.u_results.gen_lut.u_ram.memory[result_at];
  end

  always_comb begin
    watched       = stored[0];
    results_ahead = 0;
    ends_inside   = 0;
    end_is_stored = 1'b0;
    for (int unsigned i = 0; i < Flits; i++) begin
      if (i == place) watched = stored[i];
      if (i < count && stored[i].fills && stored[i].flit.eop) begin
        ends_inside = ends_inside + 1;
        if (i < place) results_ahead = results_ahead + 1;
      end
      if (i < count && i >= place && stored[i].flit.eop) end_is_stored = 1'b1;
    end
    on_the_way     = 0;
    result_is_ours = 1'b0;
    for (int unsigned i = Latency; i > 0; i--) begin
      if (32'(since_q) == i) result_is_ours = u_fill.done_q[i-1] && results + on_the_way == results_ahead;
      on_the_way = on_the_way + 32'(u_fill.done_q[i-1]);
    end
    for (int unsigned i = 0; i < Flits; i++) begin
      if (32'(since_q) > Latency && i == results_ahead) result_is_ours = i < results && result[i] == {ipv4_sum_q, l4_sum_q};
    end
  end

  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic places_are(places_t of, packet_t packet);
    return of.ipv4 == packet.fill_ipv4 && of.l4 == packet.fill_l4 && of.is_udp == packet.is_udp
           && (!packet.fill_ipv4 || 32'(of.ipv4_word) == 32'(packet.l3) + 5)
           && (!packet.fill_l4 || 32'(of.l4_word) == 32'(packet.l4) + (packet.is_udp ? 3 : 8));
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // Whether the flit of this packet in this slot, or the next to enter, can obtain its number and its packet's checksum positions:
  // from the packet's first flit if it still waits, otherwise from the kept copy.
  function automatic logic knows_its_packet(packet_t packet, int unsigned at);
    automatic int unsigned number = 32'(u_fill.number_q) + at;
    knows_its_packet = 32'(packet.flits) <= at
                       || (places_are(places_t'(u_fill.now_q), packet)
                           && packet.flits == (number > 32'(NumberMost) ? NumberMost : NumberBits'(number)));
    for (int unsigned i = 0; i < Flits; i++) begin
      if (i <= at && i < count && i + 32'(packet.flits) >= at) begin
        if (stored[i].flit.sop != (i + 32'(packet.flits) == at)) knows_its_packet = 1'b0;
        if (stored[i].flit.sop && !places_are(stored[i].places, packet)) knows_its_packet = 1'b0;
      end
    end
  endfunction

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    waiting_q <= out_valid && !out_ready_i && !rst_q;
    if (in_valid_i && !rst_q) m_packets : assume (in_data_i.sop == !inside_q);
    refused_q <= enter && !possible;
    waits_q   <= !head || out_valid ? '0 : waits_q == '1 ? waits_q : waits_q + 1'b1;
    since_q   <= since_q == '1 ? since_q : since_q + 1'b1;
    if (chosen) begin
      ended_q   <= 1'b0;
      kept_q    <= in_data_i;
      watched_q <= now;
      behind_q  <= earlier_q && held != '0;
    end
    if (ends) begin
      ended_q <= 1'b1;
      since_q <= 4'd1;
    end
    if (32'(since_q) == Latency) {ipv4_sum_q, l4_sum_q} <= {u_fill.ipv4_sum, u_fill.l4_sum};
    if (enter) begin
      inside_q       <= !in_data_i.eop;
      packet_q       <= now;
      packet_q.flits <= now.flits == '1 ? now.flits : now.flits + 1'b1;
      if (in_data_i.eop) earlier_q <= now.fill_ipv4 || now.fill_l4;
    end
    if (rst_q) inside_q <= 1'b0;

    if (!rst_q) begin
      if (head && out_valid) a_fills_in_the_checksums_alone : assert (sample(out_data) == sample(expected));
      if (head && out_valid && filled) a_waits_for_the_sums : assert (ended_q && 32'(since_q) >= Patience);
      if (waiting_q) a_valid_holds : assert (out_valid);
      if (head && !filled && !out_valid) a_others_do_not_wait : assert (32'(waits_q) < 3);
      if (head && filled && ended_q && !out_valid) a_is_offered_in_time : assert (32'(waits_q) < 3 || 32'(since_q) < Patience);
      a_reports_what_cannot_be : assert (unfilled == refused_q);
      if (32'(held) < Flits) a_takes_flits_until_full : assert (in_ready);
      a_idle : assert (idle == (held == '0));
      a_sums_are_told_every_flit : assert (u_fill.u_ipv4_sum.valid_i == enter && u_fill.u_l4_sum.valid_i == enter);
      if (enter) a_sums_are_of_the_flit : assert (
        u_fill.u_ipv4_sum.first_i == in_data_i.sop && u_fill.u_ipv4_sum.data_i == in_data_i.data
        && u_fill.u_l4_sum.first_i == in_data_i.sop && u_fill.u_l4_sum.data_i == in_data_i.data);
      if (enter && now.fill_ipv4) a_ipv4_sum_is_of_its_range : assert (
        u_fill.u_ipv4_sum.from_i == 16'({now.l3, 1'b0}) && u_fill.u_ipv4_sum.to_i == 16'({now.l4, 1'b0}));
      if (enter && now.fill_l4) a_l4_sum_is_of_its_range : assert (
        u_fill.u_l4_sum.from_i == 16'({now.l4, 1'b0}) && u_fill.u_l4_sum.to_i == now.length);

      i_inside : assert (32'(held) == skid + count && (out_valid || !u_fill.u_out.spare_valid_q));
      i_packets : assert (
        fetched <= count && count <= Flits && in_ready == (count != Flits) && 32'(u_fill.u_packets.stored_q) == count - fetched
        && u_fill.u_packets.stored_any_q == (fetched != count)
        && u_fill.u_packets.write_address_q == ($clog2(Flits))'(32'(u_fill.u_packets.read_address_q) + count - fetched));
      i_results : assert (
        32'(u_fill.result_valid) <= results && u_fill.unused_ready == (results != Flits)
        && 32'(u_fill.u_results.stored_q) == results_stored && u_fill.u_results.stored_any_q == (results_stored != 0)
        && u_fill.u_results.write_address_q == ($clog2(Flits))'(32'(u_fill.u_results.read_address_q) + results_stored));
      i_a_result_for_each_end : assert (results + on_the_way == ends_inside);
      if (inside_q) i_fills : assert (u_fill.fills_q == (packet_q.fill_ipv4 || packet_q.fill_l4));
      if (inside_q && u_fill.fills_q) begin
        i_places : assert (packet_q.flits != '0 && knows_its_packet(packet_q, count));
        i_range : assert (
        (!packet_q.fill_ipv4 || u_fill.sum_l3_q == 16'({packet_q.l3, 1'b0}))
          && u_fill.sum_l4_q == 16'({packet_q.l4, 1'b0}) && u_fill.sum_length_q == packet_q.length);
      end
      if (is_stored) i_waits_in_its_place : assert (sample(watched.flit) == sample(kept) && watched.fills == filled);
      if (is_stored && filled) i_goes_with_its_places : assert (
        knows_its_packet(watched_q, place));
      if (is_stored && !ended_q) i_packet_goes_on : assert (
        inside_q && !end_is_stored && {packet_q.fill_ipv4, packet_q.fill_l4} == {watched_q.fill_ipv4, watched_q.fill_l4});
      if (is_stored && filled && ended_q) i_result_comes_in_its_turn : assert (
        since_q != '0 && result_is_ours);
      if (is_stored && filled && ended_q && results_ahead == 0) i_result_is_there : assert (
        u_fill.result_valid == (32'(since_q) > Patience - 2));
      if (watching && !is_stored && ahead == 1) i_waits_behind : assert (
        sample(u_fill.u_out.spare_q) == sample(expected) && (!filled || (ended_q && 32'(since_q) >= Patience)));
      if (head && !out_valid) i_moves_on : assert (
        32'(waits_q) <= (u_fill.head_valid ? 2 : 32'(u_fill.u_packets.read_valid_q))
        || (u_fill.head_valid && filled && (!ended_q || 32'(since_q) < Patience)));
      c_both : cover (head && out_valid && watched_q.fill_ipv4 && watched_q.fill_l4 && kept_q.eop);
      c_behind_another : cover (head && out_valid && filled && behind_q);
      c_ffff : cover (head && out_valid && watched_q.is_udp && watched_q.fill_l4 && l4_sum_q == '1);
      c_refused : cover (unfilled);
    end
  end
endmodule
