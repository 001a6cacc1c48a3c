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

  logic [Filled:0]         valid, sop;  // bit n: in cycle n
  deparser_places_t        places;
  pipeline_containers_t    containers;
  flit_t                   flit, flit_1_q, flit_q;  // as it enters with its containers, and later
  logic                    flit_valid, flit_valid_q, beside;
  logic [8*DATA_BYTES-1:0] data;

  assign valid[0] = valid_i;
  assign sop[0]   = flit_i.sop;
  always_ff @(posedge clk_i) begin
    valid[Filled:1] <= rst_i ? '0 : valid[Filled-1:0];
    sop[Filled:1]   <= sop[Filled-1:0];
  end

  sl_deparser_places #(.Writers(Writers)) u_places (
    .clk_i, .rst_i, .write_valid_i(write_valid_q), .write_i(write_q), .valid_i(valid_i && flit_i.sop), .record_i,
    .places_o(places)
  );
  sl_delay #(.Width($bits(pipeline_containers_t)), .Cycles(Filled + 3)) u_containers (
    .clk_i, .rst_i, .valid_i(valid_i && flit_i.sop), .data_i(record_i.containers), .valid_o(beside), .data_o(containers)
  );
  sl_delay #(.Width($bits(flit_t)), .Cycles(Filled + 3)) u_flits (
    .clk_i, .rst_i, .valid_i, .data_i(flit_i), .valid_o(flit_valid), .data_o(flit)
  );
  sl_deparser_fill u_fill (
    .clk_i, .rst_i, .valid_i(valid[Filled]), .sop_i(sop[Filled]), .places_i(places), .containers_3_i(containers),
    .data_3_i(flit.data), .data_o(data)
  );

  always_ff @(posedge clk_i) begin
    flit_valid_q <= flit_valid && !rst_i;
    valid_o      <= flit_valid_q && !rst_i;
    if (flit_valid) flit_1_q <= flit;
    if (flit_valid_q) flit_q <= flit_1_q;
  end
  always_comb begin
    flit_o      = flit_q;
    flit_o.data = data;
  end

  logic unused;
  assign unused = &{1'b0, beside, flit_q.data};
endmodule
