// SPDX-License-Identifier: Apache-2.0
// Writes containers into a flit: a crossbar from every container to every word. Containers that go to one word give the bits of all.
// DEPARSER_FILL_LATENCY cycles, never stalls.
//
// cycle 1: the containers of this flit, high and low half of their words one-hot; 2: for each word of the flit its containers;
// 3: the bits of the containers, in parts; 4: of all, or those of the flit.
module sl_deparser_fill
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Parts = 4  // of the containers: more take less logic in cycle 3, and more registers
) (
  input  logic                    clk_i,
  input  logic                    rst_i,         // synchronous, active high
  input  logic                    valid_i,
  input  logic                    sop_i,         // the first flit of a packet
  input  deparser_places_t        places_i,      // registered, stable from the first flit to the last
  input  pipeline_containers_t    containers_2_i,// those of the packet, two cycles later
  input  logic [8*DATA_BYTES-1:0] data_3_i,      // of the flit, three cycles later
  output logic [8*DATA_BYTES-1:0] data_o         // four cycles later
);
  localparam int unsigned FlitWords = DATA_BYTES / 2;
  localparam int unsigned FlitBits  = $clog2(FlitWords);
  localparam int unsigned Eights    = FlitWords / 8;
  localparam int unsigned IndexBits = $clog2(WINDOW_FLITS + 1);
  localparam int unsigned Part      = (PIPELINE_CONTAINERS + Parts - 1) / Parts;

  logic [3:1]           valid_q;
  logic [IndexBits-1:0] index, later_q;  // number of the flit in its packet, at most WINDOW_FLITS

  assign index = sop_i ? '0 : later_q;

  logic [PIPELINE_CONTAINERS-1:0][Eights-1:0]    eight_q;     // the container goes to one of eight words of the flit
  logic [PIPELINE_CONTAINERS-1:0][7:0]           in_eight_q;  // to this one of them
  logic [FlitWords-1:0][PIPELINE_CONTAINERS-1:0] takes_q;     // the word takes the container
  logic [FlitWords-1:0]                          taken_q;     // it takes one
  logic [Parts-1:0][FlitWords-1:0][15:0]         part_q;

  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[2:1], valid_i};
    if (valid_i) begin
      later_q <= index == IndexBits'(WINDOW_FLITS) ? index : index + 1'b1;
      for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
        logic here;
        here = places_i.valid[c] && index != IndexBits'(WINDOW_FLITS) && 32'(places_i.word[c][6:FlitBits]) == 32'(index);
        for (int e = 0; e < Eights; e++) eight_q[c][e] <= here && 32'(places_i.word[c][FlitBits-1:3]) == e;
        for (int n = 0; n < 8; n++) in_eight_q[c][n] <= 32'(places_i.word[c][2:0]) == n;
      end
    end
    if (valid_q[1]) begin
      for (int n = 0; n < FlitWords; n++) begin
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) takes_q[n][c] <= eight_q[c][n/8] && in_eight_q[c][n%8];
      end
    end
    if (valid_q[2]) begin
      for (int n = 0; n < FlitWords; n++) begin
        taken_q[n] <= takes_q[n] != '0;
        for (int p = 0; p < Parts; p++) begin
          logic [15:0] bits;
          bits = '0;
          for (int c = p * Part; c < (p + 1) * Part && c < PIPELINE_CONTAINERS; c++) bits |= containers_2_i[c] & {16{takes_q[n][c]}};
          part_q[p][n] <= bits;
        end
      end
    end
    if (valid_q[3]) begin
      for (int n = 0; n < FlitWords; n++) begin
        logic [15:0] bits;
        bits = {data_3_i[16*n +: 8], data_3_i[16*n+8 +: 8]} & {16{!taken_q[n]}};
        for (int p = 0; p < Parts; p++) bits |= part_q[p][n];
        {data_o[16*n +: 8], data_o[16*n+8 +: 8]} <= bits;
      end
    end
  end
endmodule
