// SPDX-License-Identifier: Apache-2.0
// Types and small functions of the parser and the deparser. The formats are in sluice_pkg.
/* verilator lint_off UNUSEDPARAM */  // no part uses all of a package
package sl_packet_pkg;
  import sluice_pkg::*;

  localparam int unsigned WINDOW_FLITS = WINDOW_BYTES / DATA_BYTES;
  localparam int unsigned WINDOW_BITS  = 8 * WINDOW_BYTES;
  // Every header after the tags starts at 2 modulo 4, so those headers are read as 32-bit words from byte 2 on.
  localparam int unsigned WINDOW_WORDS = (WINDOW_BYTES - 2) / 4;
  localparam int unsigned FIRST_WORD   = (14 + 20 - 2) / 4;  // the first word that can follow an IP header
  localparam int unsigned POINTER_BITS = $clog2(WINDOW_WORDS + 1);

  // A tunnel is opened only if its inner Ethernet header starts between bytes MIN_OUTER and MAX_OUTER: after the shortest
  // headers, and early enough that tags and an IP header still fit into the window.
  localparam int unsigned MIN_OUTER  = 14 + 20 + 4;
  localparam int unsigned MAX_OUTER  = 126;
  localparam int unsigned FIRST_OPEN = (MIN_OUTER - 2) / 4;  // in words
  localparam int unsigned LAST_OPEN  = (MAX_OUTER - 2) / 4;

  // Cycles of each part of the parser, of a row that reads one stack of headers, and of the whole parser.
  localparam int unsigned ETHERNET_LATENCY  = 1;
  localparam int unsigned NETWORK_LATENCY   = 2;
  localparam int unsigned EXTENSION_LATENCY = 2;
  localparam int unsigned TRANSPORT_LATENCY = 2;
  localparam int unsigned STACK_LATENCY =
    ETHERNET_LATENCY + NETWORK_LATENCY + MAX_EXTENSIONS * EXTENSION_LATENCY + TRANSPORT_LATENCY;
  localparam int unsigned TUNNEL_LATENCY    = 4;
  localparam int unsigned PARSE_LATENCY     = STACK_LATENCY + TUNNEL_LATENCY + STACK_LATENCY;

  typedef logic [WINDOW_BITS-1:0]  window_t;  // byte 0 of the packet in bits 7:0
  typedef logic [POINTER_BITS-1:0] pointer_t; // word n: bytes 4n + 2 to 4n + 5

  // The device's own addresses; tunnels to them are opened.
  typedef struct packed {
    logic [ADMIT_REGISTERS_LANE_MAC_COUNT/2-1:0][47:0] lane_mac;
    logic [127:0] ipv6;
    logic [31:0]  ipv4;
    logic         open_ipv6;
    logic         open_ipv4;
  } own_addresses_t;

  // The tunnel that was opened.
  typedef struct packed {
    tunnel_kind_t kind;
    logic [23:0]  id;
    logic [7:0]   outer_length;
  } tunnel_t;

  // State passed between parts of the parser. `record.fault` other than 0, or `done`: nothing more is read.
  typedef struct packed {
    phv_record_t record;
    logic        done;
    logic        chain;    // IPv6: extension headers may follow
    logic        own;      // sent to the device's own MAC address and to an address of its tunnels
    pointer_t    words;    // of the window
    pointer_t    pointer;  // next header to read
    logic [15:0] limit;    // bytes: where the IP packet ends
  } parse_state_t;

  // One-cycle pulses for `graph_counters_t`, once per packet.
  typedef struct packed {
    logic forwarded;
    logic to_host;       // with its cause: fault, not_eligible, miss, not_stripped, or none (a rule's action)
    logic drop_rule;
    logic drop_ttl;
    logic drop_no_port;
    logic fault;
    logic not_eligible;
    logic miss;
    logic not_stripped;
  } deparse_event_t;

  // The fields that the deparser writes into the aligned packet.
  localparam int unsigned HEAD_BYTES      = 64;   // Ethernet, tags and the IP header without options end before this
  localparam int unsigned EDIT_FLITS      = 256 / DATA_BYTES;      // flits that can be edited
  localparam int unsigned EDIT_INDEX_BITS = $clog2(EDIT_FLITS) + 1; // index of a flit, EDIT_FLITS for all later ones

  typedef struct packed {
    logic [8*HEAD_BYTES-1:0] image;      // byte 0 of the packet in bits 7:0
    logic [2*HEAD_BYTES-1:0] mask;       // bit n: the packet's bits 4n + 3 to 4n come from the image
    logic                    src_write;  // the 16 bits at src_half are replaced; likewise dst and sum
    logic                    dst_write;
    logic                    sum_write;
    logic [15:0]             src;
    logic [15:0]             dst;
    logic [15:0]             sum;
    logic [6:0]              src_half;   // offset in 2-byte units from the start of the aligned packet
    logic [6:0]              dst_half;
    logic [6:0]              sum_half;
  } deparse_edit_t;

  // The header template to prepend to a packet, and its per-packet fields.
  typedef struct packed {
    logic        insert;
    logic        write_id;
    logic [7:0]  index;
    logic [23:0] tunnel_id;
    logic [15:0] udp_src;
  } deparse_front_t;

  // The deparser's job for one packet.
  typedef struct packed {
    logic              drop;
    logic              keep;        // mark and queue of the metadata stay unchanged
    verdict_t          verdict;
    fault_t            fault;
    logic [7:0]        egress_mask;
    logic [3:0]        egress_queue;
    logic [31:0]       mark;
    logic signed [7:0] shift;       // growth at the packet's start in 2-byte units, -67 to 4
    deparse_event_t    happened;
    deparse_edit_t     edit;
    deparse_front_t    front;
  } deparse_job_t;

  // A flit after the realigner, with its edits.
  typedef struct packed {
    flit_t                      flit;
    deparse_edit_t              edit;
    deparse_front_t             front;
    logic [EDIT_INDEX_BITS-1:0] index;
  } aligned_t;

  // A flit from the deparser, before headers are prepended.
  typedef struct packed {
    logic  insert;  // a header template is prepended to the flit's packet
    flit_t flit;
  } written_t;

  // A header template as stored, and as prepended to a packet. Byte 0 in bits 7:0.
  typedef struct packed {
    template_info_t              info;
    logic [8*TEMPLATE_BYTES-1:0] bytes;
  } template_t;

  typedef struct packed {
    logic                        missing;  // no such template: the packet is marked bad
    logic [7:0]                  size;     // bytes, even; 0 if missing
    logic [8*TEMPLATE_BYTES-1:0] bytes;
  } front_header_t;

  localparam logic [15:0] FIRST_ETHERTYPE = 16'h0600;  // smaller values are a length
  localparam logic [47:0] LLC_SNAP        = 48'haaaa_0300_0000;

  localparam int unsigned DECIDE_LATENCY   = 3;
  localparam int unsigned WRITE_LATENCY    = 3;
  localparam int unsigned TEMPLATE_LATENCY = 5;

  localparam int unsigned FLIT_DATA_BITS = 8 * DATA_BYTES;
  localparam int unsigned FLIT_HALF_BITS = $clog2(DATA_BYTES / 2);

  typedef logic [FLIT_DATA_BITS-1:0] flit_data_t;
  typedef logic [FLIT_HALF_BITS-1:0] flit_half_t;  // an offset in a flit, in 2-byte units

  // Rotates the bytes of a flit up by `halves` times 2 bytes.
  function automatic flit_data_t rotate_up(flit_data_t data, flit_half_t halves);
    flit_data_t x;
    x = data;
    for (int unsigned i = 0; i < FLIT_HALF_BITS; i++) begin
      if (halves[i]) x = x << (16 * 2**i) | x >> (FLIT_DATA_BITS - 16 * 2**i);
    end
    return x;
  endfunction

  // The first `halves` times 2 bytes from `older`, the rest from `newer`.
  function automatic flit_data_t join_at(flit_data_t older, flit_data_t newer, flit_half_t halves);
    flit_data_t mask;
    mask = ~(flit_data_t'('1) << {halves, 4'd0});
    return (older & mask) | (newer & ~mask);
  endfunction

  function automatic logic [15:0] swap16(logic [15:0] x);
    return {x[7:0], x[15:8]};
  endfunction

  function automatic logic [31:0] swap32(logic [31:0] x);
    return {x[7:0], x[15:8], x[23:16], x[31:24]};
  endfunction

  // Big-endian value of a header of at most 40 bytes in memory order.
  function automatic logic [319:0] swap320(logic [319:0] x);
    logic [319:0] y;
    for (int unsigned i = 0; i < 40; i++) y[8*i +: 8] = x[8*(39-i) +: 8];
    return y;
  endfunction

  // Word `pointer` of the window as a big-endian value. A pointer out of range returns an undefined word.
  /* verilator lint_off UNUSEDSIGNAL */  // only where a word can start
  function automatic logic [31:0] window_word(window_t window, pointer_t pointer);
    logic [WINDOW_WORDS-1:FIRST_WORD][31:0] words;
    words = window[16 + 32 * FIRST_WORD +: 32 * (WINDOW_WORDS - FIRST_WORD)];
    return swap32(words[pointer]);
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic logic is_tag(logic [15:0] ethertype);
    return ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_QINQ || ethertype == ETHERTYPE_VLAN_OLD;
  endfunction

  // The fields of the packet's first flit and metadata that the header record lacks.
  /* verilator lint_off UNUSEDSIGNAL */  // only the link layer, and of the metadata the timestamp
  function automatic link_info_t link_info(flit_data_t data, meta_t meta);
    logic        has_tag;
    logic [15:0] length, snap_type;
    logic [47:0] llc;
    link_info.first_type  = swap16(data[8*12+:16]);
    link_info.second_type = swap16(data[8*16+:16]);
    has_tag   = is_tag(link_info.first_type);
    length    = has_tag ? link_info.second_type : link_info.first_type;
    llc       = has_tag ? {swap16(data[8*18+:16]), swap16(data[8*20+:16]), swap16(data[8*22+:16])}
                        : {swap16(data[8*14+:16]), swap16(data[8*16+:16]), swap16(data[8*18+:16])};
    snap_type = swap16(has_tag ? data[8*24+:16] : data[8*20+:16]);
    link_info.is_snap  = length < FIRST_ETHERTYPE && llc == LLC_SNAP && snap_type >= FIRST_ETHERTYPE;
    link_info.received = meta.timestamp;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic logic is_extension(logic [7:0] next_header);
    return next_header == IP_PROTOCOL_HOP_BY_HOP || next_header == IP_PROTOCOL_ROUTING ||
           next_header == IP_PROTOCOL_FRAGMENT || next_header == IP_PROTOCOL_AH ||
           next_header == IP_PROTOCOL_DESTINATION || next_header == IP_PROTOCOL_MOBILITY;
  endfunction

  // Fault of a header of `words` words that starts at word `pointer` of a window of `window_words`, with `remaining` bytes of the
  // packet left.
  function automatic fault_t header_fault(
    logic [15:0] remaining, pointer_t window_words, pointer_t pointer, logic [9:0] words
  );
    if ({4'd0, words, 2'd0} > remaining) return FAULT_TRUNCATED;
    if (11'(pointer) + 11'(words) > 11'(window_words)) return FAULT_WINDOW;
    return FAULT_NONE;
  endfunction
endpackage
/* verilator lint_on UNUSEDPARAM */
