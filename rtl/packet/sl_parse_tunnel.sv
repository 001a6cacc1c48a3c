// SPDX-License-Identifier: Apache-2.0
// Between the two rows of the parser: finds the VXLAN, Geneve or GRE header after the outer stack of a packet that was sent to the
// device itself, and shifts the window so that the inner Ethernet header is at byte 0. Latency TUNNEL_LATENCY, never stalls: select
// the header's words, check them, shift by 8 words, shift by words. An invalid tunnel header is not opened: there is no
// output.
module sl_parse_tunnel
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,     // synchronous, active high
  input  logic         valid_i,
  input  window_t      window_i,  // valid if state_i.own
  /* verilator lint_off UNUSEDSIGNAL */  // the outer record takes another path
  input  parse_state_t state_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic         valid_o,   // TUNNEL_LATENCY cycles after valid_i: opened
  output window_t      window_o,
  output pointer_t     words_o,   // of the window
  output logic [15:0]  length_o,  // bytes from the inner Ethernet header to the end of its carrier
  output tunnel_t      tunnel_o
);
  localparam int unsigned OpenBytes = WINDOW_BYTES - MIN_OUTER;  // of a window after an outer stack
  localparam int unsigned SkipBits  = $clog2(LAST_OPEN - FIRST_OPEN + 1);

  typedef logic [8*OpenBytes-1:0] open_t;

  // The result of the tunnel header at `pointer`.
  typedef struct packed {
    logic        is_open;
    logic [15:0] length;
    tunnel_t     tunnel;
  } found_t;

  logic         may_open;
  tunnel_kind_t may_be;  // TUNNEL_GRE: with or without a key
  pointer_t     at;      // of the tunnel header

  assign may_open = state_i.own && state_i.record.fault == FAULT_NONE && !state_i.record.info.is_fragment;
  assign at       = state_i.pointer + (may_be == TUNNEL_GRE ? pointer_t'(0) : pointer_t'(2));

  always_comb begin
    may_be = TUNNEL_NONE;
    if (state_i.record.info.l4_kind == L4_UDP) begin
      if (state_i.record.phv.l4_dst == 16'(VXLAN_PORT))  may_be = TUNNEL_VXLAN;
      if (state_i.record.phv.l4_dst == 16'(GENEVE_PORT)) may_be = TUNNEL_GENEVE;
    end else if (state_i.record.phv.ip_protocol == IP_PROTOCOL_GRE) begin
      may_be = TUNNEL_GRE;
    end
  end

  // Bytes after the UDP header, by the UDP length field, which the previous row has checked.
  function automatic logic [15:0] udp_payload(window_t window, pointer_t udp);
    return 16'(window_word(window, udp + pointer_t'(1)) >> 16) - 16'd8;
  endfunction

  tunnel_kind_t kind_q;
  pointer_t     at_q;
  logic [31:0]  word_q [3];   // of the header
  logic [15:0]  remaining_q;  // bytes from the header to the end of its carrier

  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the headers are read
  function automatic found_t find(
    tunnel_kind_t kind, pointer_t start, logic [15:0] remaining, logic [31:0] first, logic [31:0] second,
    logic [31:0] third
  );
    found_t      f;
    geneve_t     geneve;
    gre_t        gre;
    logic        sound;
    logic [6:0]  words;
    logic [7:0]  behind;  // first word after the header
    f           = '0;
    geneve      = geneve_t'({first, second});
    gre         = gre_t'(first);
    f.tunnel.kind = kind;
    f.tunnel.id   = second[31:8];
    case (kind)
      TUNNEL_VXLAN: begin
        sound = first[27];
        words = 7'd2;
      end
      TUNNEL_GENEVE: begin
        sound = geneve.version == '0 && !geneve.control && !geneve.critical && geneve.protocol == ETHERTYPE_TEB;
        words = 7'd2 + 7'(geneve.options_size);
      end
      default: begin  // GRE; bits that only RFC 1701 defines must be 0, RFC 2784 section 2.3
        sound = !gre.reserved && gre.reserved_2[8:7] == '0 && gre.version == '0 && gre.protocol == ETHERTYPE_TEB;
        words = 7'd1 + 7'(gre.checksum_present) + 7'(gre.key_present) + 7'(gre.sequence_present);
        if (gre.key_present) begin
          f.tunnel.kind = TUNNEL_NVGRE;
          if (gre.checksum_present) f.tunnel.id = third[31:8];
        end else begin
          f.tunnel.id = '0;
        end
      end
    endcase
    behind    = 8'(start) + 8'(words);
    f.length  = remaining - {7'd0, words, 2'd0};
    f.tunnel.outer_length = {behind[5:0], 2'b10};
    f.is_open = sound && {7'd0, words, 2'd0} <= remaining && behind <= 8'(LAST_OPEN);
    return f;
  endfunction

  // Words `skip` and up.
  function automatic open_t coarse(open_t window, logic [SkipBits-1:3] skip);
    case (skip)
      2'd0:    return window;
      2'd1:    return window >> 256;
      default: return window >> 512;
    endcase
  endfunction

  function automatic open_t fine(open_t window, logic [2:0] skip);
    open_t shifted [8];
    for (int unsigned n = 0; n < 8; n++) shifted[n] = window >> (32 * n);
    return shifted[skip];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic                may_open_q;
  logic                open_q2, open_q3;
  open_t               window_q, window_q2, window_q3;  // from the first possible offset of an inner Ethernet header on
  found_t              found;
  tunnel_t             tunnel_q2, tunnel_q3;
  logic [15:0]         length_q2, length_q3;
  logic [SkipBits-1:0] skip_q2;
  logic [2:0]          skip_q3;
  pointer_t            words_q3;

  assign found = find(kind_q, at_q, remaining_q, word_q[0], word_q[1], word_q[2]);

  // One block per cycle: if one block reads and writes a register, a simulator copies the whole register every cycle.
  always_ff @(posedge clk_i) begin
    may_open_q <= valid_i && may_open && may_be != TUNNEL_NONE && !rst_i;
    if (valid_i && state_i.own) begin
      window_q    <= window_i[WINDOW_BITS-1 -: 8*OpenBytes];
      kind_q      <= may_be;
      at_q        <= at;
      remaining_q <= may_be == TUNNEL_GRE ? state_i.limit - {8'd0, 8'({state_i.pointer, 2'b10})}
                                          : udp_payload(window_i, state_i.pointer);
      for (int unsigned i = 0; i < 3; i++) word_q[i] <= window_word(window_i, at + pointer_t'(i));
    end
  end

  always_ff @(posedge clk_i) begin
    open_q2 <= may_open_q && found.is_open && !rst_i;
    if (may_open_q) begin
      window_q2 <= window_q;
      tunnel_q2 <= found.tunnel;
      length_q2 <= found.length;
      skip_q2   <= SkipBits'(found.tunnel.outer_length[7:2] - 6'(FIRST_OPEN));
    end
  end

  always_ff @(posedge clk_i) begin
    open_q3 <= open_q2 && !rst_i;
    if (open_q2) begin
      window_q3 <= coarse(window_q2, skip_q2[SkipBits-1:3]);
      skip_q3   <= skip_q2[2:0];
      words_q3  <= pointer_t'(WINDOW_WORDS) - pointer_t'(tunnel_q2.outer_length[7:2]);
      tunnel_q3 <= tunnel_q2;
      length_q3 <= length_q2;
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o <= open_q3 && !rst_i;
    if (open_q3) begin
      window_o <= WINDOW_BITS'(fine(window_q3, skip_q3));
      words_o  <= words_q3;
      length_o <= length_q3;
      tunnel_o <= tunnel_q3;
    end
  end
endmodule
