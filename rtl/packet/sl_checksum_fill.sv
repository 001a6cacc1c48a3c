// SPDX-License-Identifier: Apache-2.0
// Fills in the checksums that the host requests (transmit_checksum_t in the low bits of `mark`) in packets with VERDICT_FORWARD and
// clears their mark; other packets leave unchanged. One flit per cycle. A checksum precedes the bytes that it covers, so a packet
// that requests one waits here until all of it is in; one whose request is impossible leaves unchanged, with a pulse.
module sl_checksum_fill
  import sluice_pkg::*;
#(
  // Flits that can wait: more than a packet of the largest size.
  parameter int unsigned Flits = 1 << $clog2(sluice_pkg::EGRESS_BYTES / sluice_pkg::DATA_BYTES + 2)
) (
  input  logic  clk_i,
  input  logic  rst_i,        // synchronous, active high
  input  flit_t in_data_i,    // whole packets, meta.length known
  input  logic  in_valid_i,
  output logic  in_ready_o,   // registered
  output flit_t out_data_o,   // registered
  output logic  out_valid_o,  // registered
  input  logic  out_ready_i,
  output logic  unfilled_o,   // pulse: a packet's request is impossible
  output logic  idle_o        // empty
);
  localparam int unsigned Latency  = 6;  // latency of the sums
  localparam int unsigned Words    = DATA_BYTES / 2;
  localparam int unsigned WordBits = $clog2(Words);
  localparam int unsigned IpField = 10, TcpField = 16, UdpField = 6;  // bytes from the header to its checksum
  localparam int unsigned IpLeast = 20;  // bytes of an IPv4 header

  // The words to write into a packet: each checksum, and the index of its 16-bit word in the packet.
  typedef struct packed {
    logic        ipv4;
    logic        l4;
    logic        is_udp;
    logic [9:0]  ipv4_word;
    logic [9:0]  l4_word;
  } places_t;

  // Input: is the request possible, and which bytes do the sums cover?
  transmit_checksum_t asked;
  logic [15:0] l3, l4, length, l4_field, sum_l3_q, sum_l4_q, sum_length_q;
  logic        push, asks, ipv4_good, l4_good, fills, fills_q;
  flit_t       kept;
  places_t     places;

  assign asked     = in_data_i.meta.mark[TRANSMIT_CHECKSUM_BITS-1:0];
  assign l3        = 16'(asked.l3_offset);
  assign l4        = 16'(asked.l4_offset);
  assign length    = in_data_i.meta.length;
  assign l4_field  = l4 + (asked.l4 == TRANSMIT_L4_UDP ? 16'(UdpField) : 16'(TcpField));
  assign asks      = in_data_i.sop && in_data_i.meta.verdict == VERDICT_FORWARD && (asked.ipv4 || asked.l4 != TRANSMIT_L4_NONE);
  assign ipv4_good = !asked.ipv4 || (!l3[0] && !l4[0] && l4 >= l3 + 16'(IpLeast) && l4 <= length);
  assign l4_good   = asked.l4 == TRANSMIT_L4_NONE ||
                     ((asked.l4 == TRANSMIT_L4_TCP || asked.l4 == TRANSMIT_L4_UDP) && !l4[0] && l4_field + 16'd2 <= length);
  assign fills     = in_data_i.sop ? asks && ipv4_good && l4_good : fills_q;
  assign push      = in_valid_i && in_ready_o;

  assign places.ipv4      = asked.ipv4;
  assign places.l4        = asked.l4 != TRANSMIT_L4_NONE;
  assign places.is_udp    = asked.l4 == TRANSMIT_L4_UDP;
  assign places.ipv4_word = 10'((l3 + 16'(IpField)) >> 1);
  assign places.l4_word   = 10'(l4_field >> 1);

  always_comb begin
    kept = in_data_i;
    if (in_data_i.sop && in_data_i.meta.verdict == VERDICT_FORWARD) kept.meta.mark = '0;
  end

  always_ff @(posedge clk_i) begin
    unfilled_o <= push && asks && !fills && !rst_i;
    if (push && in_data_i.sop) begin
      fills_q      <= fills;
      sum_l3_q     <= l3;
      sum_l4_q     <= l4;
      sum_length_q <= length;
    end
  end

  // The sums; for a packet to fill in, they are its result.
  logic [15:0]        ipv4_sum, l4_sum, result_ipv4, result_l4;
  logic [Latency-1:0] done_q;
  logic               result_valid, result_take, unused_ready;
  logic [$clog2(Flits+1)-1:0] unused_results;

  always_ff @(posedge clk_i) begin
    done_q <= rst_i ? '0 : {done_q[Latency-2:0], push && in_data_i.eop && fills};
  end

  sl_flit_sum u_ipv4_sum (
    .clk_i, .valid_i(push), .first_i(in_data_i.sop), .data_i(in_data_i.data),
    .from_i(in_data_i.sop ? l3 : sum_l3_q), .to_i(in_data_i.sop ? l4 : sum_l4_q), .sum_o(ipv4_sum)
  );

  sl_flit_sum u_l4_sum (
    .clk_i, .valid_i(push), .first_i(in_data_i.sop), .data_i(in_data_i.data),
    .from_i(in_data_i.sop ? l4 : sum_l4_q), .to_i(in_data_i.sop ? length : sum_length_q), .sum_o(l4_sum)
  );

  // At most one result per flit: the FIFO never overflows.
  sl_fifo #(.Width(32), .Depth(Flits)) u_results (
    .clk_i, .rst_i, .in_data_i({ipv4_sum, l4_sum}), .in_valid_i(done_q[Latency-1]), .in_ready_o(unused_ready),
    .out_data_o({result_ipv4, result_l4}), .out_valid_o(result_valid), .out_ready_i(result_take), .count_o(unused_results)
  );

  // The packets.
  flit_t      head, filled;
  places_t    head_places, now, now_q;
  logic       head_fills, head_valid, head_take, waits, filled_valid, filled_ready;
  logic [9-WordBits:0] number, number_q;  // of the flit; saturates after the last flit that can be written
  logic [$clog2(Flits+1)-1:0] count;

  sl_fifo #(.Width($bits(places_t) + 1 + FLIT_BITS), .Depth(Flits), .Style(1)) u_packets (
    .clk_i, .rst_i, .in_data_i({places, fills, kept}), .in_valid_i, .in_ready_o,
    .out_data_o({head_places, head_fills, head}), .out_valid_o(head_valid), .out_ready_i(head_take), .count_o(count)
  );

  assign now          = head.sop ? head_places : now_q;
  assign number       = head.sop ? '0 : number_q;
  assign waits        = head_fills && !result_valid;
  assign filled_valid = head_valid && !waits;
  assign head_take    = filled_ready && !waits;
  assign result_take  = head_valid && head_take && head_fills && head.eop;

  function automatic logic [15:0] bytes_of(logic [15:0] sum);  // the checksum as stored in a flit: high byte first
    return {~sum[7:0], ~sum[15:8]};
  endfunction

  always_comb begin
    filled = head;
    for (int unsigned i = 0; i < Words; i++) begin
      if (head_fills && now.ipv4 && now.ipv4_word == {number, WordBits'(i)}) filled.data[16*i +: 16] = bytes_of(result_ipv4);
      if (head_fills && now.l4 && now.l4_word == {number, WordBits'(i)}) begin
        filled.data[16*i +: 16] = now.is_udp && result_l4 == '1 ? '1 : bytes_of(result_l4);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (head_valid && head_take) begin
      now_q    <= now;
      number_q <= &number ? number : number + 1'b1;
    end
  end

  sl_skid #(.Width(FLIT_BITS)) u_out (
    .clk_i, .rst_i, .in_data_i(filled), .in_valid_i(filled_valid), .in_ready_o(filled_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );

  assign idle_o = count == '0 && !out_valid_o;

  logic unused;
  assign unused = &{1'b0, unused_ready, unused_results};
endmodule
