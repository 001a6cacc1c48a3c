// SPDX-License-Identifier: Apache-2.0
// Writes containers into a flit: a crossbar from every container to every word. A word that several containers go to stays as it is.
// Containers stand in rows of sixteen (sl_words_mux). DEPARSER_FILL_LATENCY cycles, never stalls.
//
// cycle 1: the containers of this flit, high and low half of their words one-hot; 2: for each word of the flit and each row, which bits
// the numbers of its containers have set, and which clear; 3: so whether there is exactly one; 4: a container of each row, and the word
// of the flit, each cleared if it is not taken; 5: the bits of all.
module sl_deparser_fill
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic                    clk_i,
  input  logic                    rst_i,         // synchronous, active high
  input  logic                    valid_i,
  input  logic                    sop_i,         // the first flit of a packet
  input  deparser_places_t        places_i,      // registered, stable from the first flit to the last
  input  pipeline_containers_t    containers_3_i,// those of the packet, three cycles later
  input  logic [8*DATA_BYTES-1:0] data_3_i,      // of the flit, three cycles later
  output logic [8*DATA_BYTES-1:0] data_o         // five cycles later
);
  localparam int unsigned FlitWords = DATA_BYTES / 2;
  localparam int unsigned FlitBits  = $clog2(FlitWords);
  localparam int unsigned Eights    = FlitWords / 8;
  localparam int unsigned IndexBits = $clog2(WINDOW_FLITS + 1);
  localparam int unsigned Columns   = 16;
  localparam int unsigned Rows      = (PIPELINE_CONTAINERS + Columns - 1) / Columns;

  logic [4:1]           valid_q;
  logic [IndexBits-1:0] index, later_q;  // number of the flit in its packet, at most WINDOW_FLITS

  assign index = sop_i ? '0 : later_q;

  logic [PIPELINE_CONTAINERS-1:0][Eights-1:0] eight_q;     // the container goes to one of eight words of the flit
  logic [PIPELINE_CONTAINERS-1:0][7:0]        in_eight_q;  // to this one of them
  logic [FlitWords-1:0][Rows-1:0][3:0]        set_q, clear_q;  // bits of the numbers, in their row, of those that go to the word
  logic [FlitWords-1:0][Rows-1:0]             takes_q;     // the word takes a container of the row
  logic [FlitWords-1:0][Rows-1:0][3:0]        column_q;    // this one
  logic [FlitWords-1:0][Rows-1:0][15:0]       chosen, row_q;
  logic [FlitWords-1:0][15:0]                 data_q;      // of the flit
  logic [Rows*Columns-1:0][15:0]              containers;

  assign containers = $bits(containers)'(containers_3_i);

  for (genvar n = 0; n < FlitWords; n++) begin : gen_word
    for (genvar r = 0; r < Rows; r++) begin : gen_row
      sl_words_mux u_container (.words_i(containers[Columns*r +: Columns]), .number_i(column_q[n][r]), .word_o(chosen[n][r]));
    end
  end

  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[3:1], valid_i};
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
        logic [Rows-1:0][3:0] set, clear;
        set   = '0;
        clear = '0;
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
          if (eight_q[c][n/8] && in_eight_q[c][n%8]) begin
            set[c/Columns]   |= 4'(c % Columns);
            clear[c/Columns] |= ~4'(c % Columns);
          end
        end
        set_q[n]   <= set;
        clear_q[n] <= clear;
      end
    end
    if (valid_q[2]) begin
      for (int n = 0; n < FlitWords; n++) begin
        logic [Rows-1:0] any;
        logic            several;
        several = 1'b0;
        for (int r = 0; r < Rows; r++) begin
          any[r]   = set_q[n][r][0] || clear_q[n][r][0];
          several |= (set_q[n][r] & clear_q[n][r]) != '0;
        end
        several     |= (any & (any - 1'b1)) != '0;
        takes_q[n]  <= several ? '0 : any;
        column_q[n] <= set_q[n];
      end
    end
    if (valid_q[3]) begin
      for (int n = 0; n < FlitWords; n++) begin
        for (int r = 0; r < Rows; r++) row_q[n][r] <= takes_q[n][r] ? chosen[n][r] : '0;
        data_q[n] <= takes_q[n] == '0 ? {data_3_i[16*n +: 8], data_3_i[16*n+8 +: 8]} : '0;
      end
    end
    if (valid_q[4]) begin
      for (int n = 0; n < FlitWords; n++) begin
        logic [15:0] bits;
        bits = data_q[n];
        for (int r = 0; r < Rows; r++) bits |= row_q[n][r];
        {data_o[16*n +: 8], data_o[16*n+8 +: 8]} <= bits;
      end
    end
  end
endmodule
