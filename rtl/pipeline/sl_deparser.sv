// SPDX-License-Identifier: Apache-2.0
// The deparser that is loaded at run time: writes containers back into the headers that the parser found. Flits in, flits out,
// DEPARSER_LATENCY cycles later; never stalls. The record of a packet, with its checksums repaired (sl_deparser_checksums), comes
// with its first flit. A packet with a fault passes unchanged.
//
// A container goes to one word of the packet at most (sl_deparser_places); each flit takes those that go to its words
// (sl_deparser_fill).
//
// All memories must be written once before the first packet; afterwards those of the version that no packet has may be written at
// any time.
module sl_deparser
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Writers = DEPARSER_WRITERS  // headers of a packet that can be rewritten, at least 1
) (
  input  logic                  clk_i,
  input  logic                  rst_i,          // synchronous, active high
  input  logic                  write_valid_i,
  input  pipeline_write_t       write_i,        // effective for packets that enter two cycles later
  input  logic                  valid_i,
  input  flit_t                 flit_i,
  input  parsed_t               record_i,       // with the first flit
  output logic                  valid_o,
  output flit_t                 flit_o
);
  localparam int unsigned Filled = DEPARSER_PLACES_LATENCY;  // cycle in which a flit enters sl_deparser_fill

  logic            write_valid_q;
  pipeline_write_t write_q;

  always_ff @(posedge clk_i) begin
    write_valid_q <= write_valid_i && !rst_i;
    if (write_valid_i) write_q <= write_i;
  end

  logic [DEPARSER_LATENCY:0] valid, sop;  // bit n: in cycle n
  flit_index_t [Filled:1]    index_q;
  deparser_places_t          places;
  pipeline_containers_t      containers, containers_q;  // of the flit in cycle Filled + 5; of the packet, a cycle later
  flit_t                     flit, flit_q;              // before it is filled, and when it is
  logic [8*DATA_BYTES-1:0]   data;
  logic [1:0]                always_valid;

  assign valid[0] = valid_i;
  assign sop[0]   = flit_i.sop;
  always_ff @(posedge clk_i) begin
    valid[DEPARSER_LATENCY:1] <= rst_i ? '0 : valid[DEPARSER_LATENCY-1:0];
    sop[DEPARSER_LATENCY:1]   <= sop[DEPARSER_LATENCY-1:0];
    index_q[Filled:2]         <= index_q[Filled-1:1];
    if (valid_i && flit_i.sop) index_q[1] <= '0;
    else if (valid_i && index_q[1] != flit_index_t'(WINDOW_FLITS)) index_q[1] <= index_q[1] + 1'b1;
    if (valid[Filled+5] && sop[Filled+5]) containers_q <= containers;
    flit_q <= flit;
  end

  sl_deparser_places #(.Writers(Writers)) u_places (
    .clk_i, .rst_i, .write_valid_i(write_valid_q), .write_i(write_q), .valid_i(valid_i && flit_i.sop), .record_i,
    .places_o(places)
  );
  // Each cycle is written, with a flit or without: an enable would be one net to all of the LUT RAM.
  sl_delay #(.Width($bits(pipeline_containers_t)), .Cycles(Filled + 5)) u_containers (
    .clk_i, .rst_i, .valid_i(1'b1), .data_i(record_i.containers), .valid_o(always_valid[0]), .data_o(containers)
  );
  sl_delay #(.Width($bits(flit_t)), .Cycles(Filled + 7)) u_flits (
    .clk_i, .rst_i, .valid_i(1'b1), .data_i(flit_i), .valid_o(always_valid[1]), .data_o(flit)
  );
  sl_deparser_fill u_fill (
    .clk_i, .index_i(index_q[Filled]), .places_i(places), .containers_6_i(containers_q), .data_7_i(flit.data), .data_o(data)
  );

  assign valid_o = valid[DEPARSER_LATENCY];
  always_comb begin
    flit_o      = flit_q;
    flit_o.data = data;
  end

  logic unused;
  assign unused = &{1'b0, always_valid, flit_q.data};
endmodule
