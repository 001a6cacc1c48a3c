// SPDX-License-Identifier: Apache-2.0
// Converts a header record into the deparser's job for its packet: the decision, the image of the bytes to write and the new
// checksums (RFC 1624). Latency DECIDE_LATENCY, never stalls. Every record yields a job.
module sl_deparse_decide
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,     // synchronous, active high
  input  logic         valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // fields that are not written back into a packet
  input  phv_record_t  record_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic         valid_o,   // DECIDE_LATENCY cycles after valid_i
  output deparse_job_t job_o
);
  logic         valid_q1, valid_q2;
  deparse_job_t job_q1, job_q2;
  logic [16:0]  ip_sum_q1, l4_sum_q1;  // ~old + delta, end-around carry not yet added
  logic [15:0]  ip_checksum_q2;
  logic         ip_write_q1, ip_write_q2;
  logic         apply_q1, apply_q2;
  /* verilator lint_off UNUSEDSIGNAL */
  phv_record_t  record_q1, record_q2;
  /* verilator lint_on UNUSEDSIGNAL */

  // The parser opened a tunnel and no action strips the outer headers: the packet cannot be edited.
  function automatic logic is_wrapped(
    /* verilator lint_off UNUSEDSIGNAL */
    phv_record_t r
    /* verilator lint_on UNUSEDSIGNAL */
  );
    return r.info.outer_length != '0 && !r.edits.strip_outer;
  endfunction

  // CRC-16 (polynomial 0x1021, initial value 0) of the 5-tuple as sent, most significant bit first: bit n is the parity of the key
  // under mask n.
  localparam int unsigned FlowBits = FIVE_TUPLE6_BITS;
  typedef logic [15:0][FlowBits-1:0] masks_t;

  function automatic masks_t crc_masks();
    masks_t      masks;
    logic [15:0] crc;
    masks = '0;
    crc   = 16'h1021;  // of bit 0 alone
    for (int unsigned i = 0; i < FlowBits; i++) begin
      for (int unsigned n = 0; n < 16; n++) masks[n][i] = crc[n];
      crc = {crc[14:0], 1'b0} ^ (crc[15] ? 16'h1021 : 16'h0000);
    end
    return masks;
  endfunction

  localparam masks_t CrcMasks = crc_masks();

  // A UDP source port in 49152 to 65535 that is the same for all packets of a flow (RFC 7348 section 5).
  function automatic logic [15:0] entropy(
    /* verilator lint_off UNUSEDSIGNAL */
    phv_t phv
    /* verilator lint_on UNUSEDSIGNAL */
  );
    five_tuple6_t key;
    logic [15:0]  port;
    key = '{ip_src: phv.ip_src, ip_dst: phv.ip_dst, ip_protocol: phv.ip_protocol, l4_src: phv.l4_src, l4_dst: phv.l4_dst};
    port = 16'hc000;
    for (int unsigned n = 0; n < 14; n++) port[n] = ^(key & CrcMasks[n]);
    return port;
  endfunction

  // The verdict and the offset of the transport header, without the image.
  function automatic deparse_job_t decide(
    /* verilator lint_off UNUSEDSIGNAL */
    phv_record_t r
    /* verilator lint_on UNUSEDSIGNAL */
  );
    deparse_job_t j;
    j              = '0;
    j.fault        = r.fault;
    j.egress_queue = r.queue;
    j.mark         = r.mark;
    j.verdict      = VERDICT_TO_HOST;
    j.egress_mask  = 8'd1 << HOST_PORT;
    if (r.fault != FAULT_NONE)   j.happened.fault        = 1'b1;
    else if (!r.eligible)        j.happened.not_eligible = 1'b1;
    else if (r.hits == '0 || (r.required & ~r.hits) != '0) j.happened.miss = 1'b1;
    j.keep = j.happened.fault || j.happened.not_eligible || j.happened.miss;
    if (!j.keep) begin
      unique case (r.verdict)
        VERDICT_DROP: begin
          j.drop                  = 1'b1;
          j.happened.drop_ttl     = r.drop_cause == DROP_TTL;
          j.happened.drop_no_port = r.drop_cause == DROP_NO_PORT;
          j.happened.drop_rule    = !j.happened.drop_ttl && !j.happened.drop_no_port;
        end
        VERDICT_FORWARD: begin
          j.verdict               = VERDICT_FORWARD;
          j.egress_mask           = r.egress_mask;
          j.drop                  = r.egress_mask == '0;
          j.happened.drop_no_port = j.drop;
          j.happened.not_stripped = !j.drop && is_wrapped(r);
          j.happened.forwarded    = !j.drop && !is_wrapped(r);
          if (j.happened.not_stripped) begin
            j.verdict     = VERDICT_TO_HOST;
            j.egress_mask = 8'd1 << HOST_PORT;
            j.keep        = 1'b1;
          end
        end
        VERDICT_TO_CONTROLLER: j.verdict = VERDICT_TO_CONTROLLER;
        default: ;
      endcase
    end
    j.happened.to_host = !j.drop && !j.happened.forwarded;
    return j;
  endfunction

  function automatic deparse_edit_t place_transport(
    /* verilator lint_off UNUSEDSIGNAL */
    phv_record_t r,
    /* verilator lint_on UNUSEDSIGNAL */
    logic signed [2:0] shift
  );
    deparse_edit_t e;
    logic [6:0]    half;
    logic          ports;
    e          = '0;
    half       = r.info.l4_offset[7:1] + {{3{shift[2]}}, shift, 1'b0};
    ports      = r.info.l4_kind == L4_TCP || r.info.l4_kind == L4_UDP;
    e.src      = r.phv.l4_src;
    e.dst      = r.phv.l4_dst;
    e.src_half = half;
    e.dst_half = half + 7'd1;
    unique case (r.info.l4_kind)
      L4_TCP:  e.sum_half = half + 7'd8;
      L4_UDP:  e.sum_half = half + 7'd3;
      default: e.sum_half = half + 7'd1;
    endcase
    e.src_write = ports && r.edits.dirty[FIELD_L4_SRC];
    e.dst_write = ports && r.edits.dirty[FIELD_L4_DST];
    e.sum_write = (ports || r.info.l4_kind == L4_ICMPV6) && r.edits.checksums && r.edits.l4_delta != '0 &&
                  !(r.info.l4_kind == L4_UDP && r.info.l4_checksum == '0);
    return e;
  endfunction

  // The 40 bytes of an IP header and their mask, byte 0 highest.
  function automatic logic [399:0] network_image(
    /* verilator lint_off UNUSEDSIGNAL */
    phv_record_t r,
    /* verilator lint_on UNUSEDSIGNAL */
    logic [15:0] checksum, logic checksum_write
  );
    logic tos, ttl, src, dst;
    tos = r.edits.dirty[FIELD_IP_TOS];
    ttl = r.edits.dirty[FIELD_IP_TTL];
    src = r.edits.dirty[FIELD_IP_SRC];
    dst = r.edits.dirty[FIELD_IP_DST];
    unique case (r.info.l3_kind)
      L3_IPV4: return {
        8'd0, r.phv.ip_tos, 48'd0, r.phv.ip_ttl, 8'd0, checksum, r.phv.ip_src[31:0], r.phv.ip_dst[31:0], 160'd0,
        2'd0, {2{tos}}, 12'd0, {2{ttl}}, 2'd0, {4{checksum_write}}, {8{src}}, {8{dst}}, 40'd0
      };
      L3_IPV6: return {
        4'd0, r.phv.ip_tos, 44'd0, r.phv.ip_ttl, r.phv.ip_src, r.phv.ip_dst,
        1'd0, {2{tos}}, 11'd0, {2{ttl}}, {32{src}}, {32{dst}}
      };
      default: return '0;
    endcase
  endfunction

  function automatic deparse_edit_t build(
    deparse_edit_t edit,
    /* verilator lint_off UNUSEDSIGNAL */
    phv_record_t r,
    /* verilator lint_on UNUSEDSIGNAL */
    logic [15:0] checksum, logic checksum_write
  );
    deparse_edit_t            e;
    logic [319:0]             network;
    logic [79:0]              network_mask;
    logic [8*HEAD_BYTES-1:0]  image;  // byte 0 highest
    logic [2*HEAD_BYTES-1:0]  mask;
    logic [15:0]              tci;
    logic                     moved, dirty;
    e     = edit;
    image = '0;
    mask  = '0;
    moved = r.edits.pushed != '0 || r.edits.popped != '0;
    image[8*HEAD_BYTES-1 -: 96] = {r.phv.eth_dst, r.phv.eth_src};
    mask[2*HEAD_BYTES-1 -: 24]  = {{12{r.edits.dirty[FIELD_ETH_DST] || moved}}, {12{r.edits.dirty[FIELD_ETH_SRC] || moved}}};
    for (int unsigned i = 0; i < MAX_TAGS; i++) begin
      tci   = i == 0 ? r.phv.vlan0_tci : r.phv.vlan1_tci;
      dirty = i == 0 ? r.edits.dirty[FIELD_VLAN0_TCI] : r.edits.dirty[FIELD_VLAN1_TCI];
      image[8*(HEAD_BYTES-12-4*i)-1 -: 32] = {r.edits.service_tag[i] ? ETHERTYPE_QINQ : ETHERTYPE_VLAN, tci};
      if (2'(i) < r.edits.pushed)  mask[2*(HEAD_BYTES-12-4*i)-1 -: 8] = '1;
      else if (2'(i) < r.edits.tags && dirty) mask[2*(HEAD_BYTES-14-4*i)-1 -: 4] = '1;
    end
    {network, network_mask} = network_image(r, checksum, checksum_write);
    for (int unsigned i = 0; i <= MAX_TAGS; i++) begin
      if (r.edits.tags == 2'(i)) begin
        image[8*(HEAD_BYTES-12-4*i)-1 -: 16]  = r.phv.eth_type;
        mask[2*(HEAD_BYTES-12-4*i)-1 -: 4]    = {4{r.edits.dirty[FIELD_ETH_TYPE]}};
        image[8*(HEAD_BYTES-14-4*i)-1 -: 320] = network;
        mask[2*(HEAD_BYTES-14-4*i)-1 -: 80]   = network_mask;
      end
    end
    for (int unsigned i = 0; i < HEAD_BYTES; i++) begin
      e.image[8*i +: 8] = image[8*(HEAD_BYTES-1-i) +: 8];
      e.mask[2*i +: 2]  = mask[2*(HEAD_BYTES-1-i) +: 2];
    end
    return e;
  endfunction

  function automatic logic [15:0] finish(logic [16:0] sum);
    return ~(sum[15:0] + 16'(sum[16]));
  endfunction

  always_ff @(posedge clk_i) begin
    valid_q1 <= valid_i && !rst_i;
    valid_q2 <= valid_q1 && !rst_i;
    valid_o  <= valid_q2 && !rst_i;
    if (valid_i) begin
      job_q1      <= decide(record_i);
      apply_q1    <= record_i.fault == FAULT_NONE && record_i.eligible && record_i.hits != '0 &&
                     (record_i.required & ~record_i.hits) == '0 && !is_wrapped(record_i);
      record_q1   <= record_i;
      ip_sum_q1   <= {1'b0, ~record_i.info.ip_checksum} + 17'(record_i.edits.ip_delta);
      l4_sum_q1   <= {1'b0, ~record_i.info.l4_checksum} + 17'(record_i.edits.l4_delta);
      ip_write_q1 <= record_i.edits.checksums && record_i.edits.ip_delta != '0;
    end
    if (valid_q1) begin
      job_q2         <= job_q1;
      record_q2      <= record_q1;
      apply_q2       <= apply_q1;
      ip_checksum_q2 <= finish(ip_sum_q1);
      ip_write_q2    <= ip_write_q1;
      if (apply_q1) begin
        job_q2.shift    <= 8'($signed({1'b0, record_q1.edits.pushed}) - $signed({1'b0, record_q1.edits.popped})) * 8'sd2
                           - (record_q1.edits.strip_outer ? 8'(record_q1.info.outer_length[7:1]) : 8'sd0);
        job_q2.edit     <= place_transport(record_q1, 3'(record_q1.edits.pushed) - 3'(record_q1.edits.popped));
        if (record_q1.edits.encapsulate) begin
          job_q2.front <= '{insert: 1'b1, write_id: record_q1.edits.write_tunnel_id, index: record_q1.edits.template_index,
                            tunnel_id: record_q1.phv.tunnel_id, udp_src: entropy(record_q1.phv)};
        end
        job_q2.edit.sum <= finish(l4_sum_q1) == '0 && record_q1.info.l4_kind == L4_UDP ? 16'hffff : finish(l4_sum_q1);
      end
    end
    if (valid_q2) begin
      job_o <= job_q2;
      if (apply_q2) job_o.edit <= build(job_q2.edit, record_q2, ip_checksum_q2, ip_write_q2);
    end
  end
endmodule
