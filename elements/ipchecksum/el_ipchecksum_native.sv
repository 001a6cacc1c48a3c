// SPDX-License-Identifier: Apache-2.0
// The native body of IPChecksum (`compiler/native.py`): six stages that move together. Locate the header; select its words; sum
// them in three steps; decide. A signal passes through the stages like a flit, so that it sees the effect of all earlier flits.
module el_ipchecksum_native #(
  parameter bit Update = 1'b0,  // write the correct checksum instead of dropping
  localparam int unsigned FlitBits = sluice_pkg::FLIT_BITS
) (
  input  logic                clk_i,
  input  logic                rst_i,            // synchronous, active high
  input  logic [FlitBits-1:0] in_data_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,
  output logic [FlitBits-1:0] out_data_o,
  output logic                out_valid_o,
  input  logic                out_ready_i,
  input  logic                signal_valid_i,
  input  logic [7:0]          signal_kind_i,    // get_checked(), get_wrong(), get_skipped()
  output logic                signal_take_o,
  output logic                result_valid_o,
  output logic [63:0]         result_o
);
  import sluice_pkg::*;

  localparam int unsigned Stages = 6;
  localparam int unsigned Words  = 25;  // largest header within one flit, without a tag
  localparam int unsigned Thirds = 9;

  flit_t [Stages-1:0]        flit_q;
  logic  [Stages-1:0]        valid_q, signal_q;
  logic  [Stages-1:1]        checks_q;
  logic                      room;
  logic  [1:0]               tags_q;
  logic                      here_q, skips_q1, skips_q2, skips_q3, skips_q4;
  logic  [Words-1:0][15:0]   words, words_q;
  logic  [Thirds-1:0][17:0]  thirds_q;
  logic  [2:0][19:0]         ninths_q;
  logic  [20:0]              sum_q;
  logic  [3:0][1:0]          place_q;     // tags in stages 1 to 4
  logic  [63:0]              checked_q, wrong_q, skipped_q;
  logic                      dropping_q;

  assign in_ready_o    = room && !signal_valid_i;
  assign signal_take_o = room && signal_valid_i;

  // Offset of the header
  flit_t       first;
  logic [15:0] outer, behind, inner;  // EtherTypes
  logic        has_tag, has_two;

  function automatic logic [15:0] network(logic [15:0] value);
    return {value[7:0], value[15:8]};
  endfunction

  assign first   = in_data_i;
  assign outer   = network(first.data[12*8+:16]);
  assign behind  = network(first.data[16*8+:16]);
  assign inner   = network(first.data[20*8+:16]);
  assign has_tag = outer == ETHERTYPE_VLAN || outer == ETHERTYPE_QINQ;
  assign has_two = has_tag && behind == ETHERTYPE_VLAN;

  // Its words; words outside of it are 0
  logic [Words*16-1:0] header;
  logic [3:0]          version, ihl;
  logic [6:0]          header_end, size;
  logic                fits;

  assign header     = (Words * 16)'(flit_q[0].data >> (9'd112 + 9'(tags_q) * 9'd32));
  assign version    = header[7:4];
  assign ihl        = header[3:0];
  assign header_end = 7'd14 + {3'd0, tags_q, 2'd0} + {1'b0, ihl, 2'd0};
  assign size       = 7'(DATA_BYTES) - (flit_q[0].eop ? 7'(flit_q[0].empty) : 7'd0);
  assign fits       = version == 4'd4 && ihl >= 4'd5 && header_end <= size;

  always_comb begin
    for (int unsigned i = 0; i < Words; i++) begin
      words[i] = i == 5 || (i >= 10 && i >= 2 * 32'(ihl)) ? '0 : header[16*i+:16];
    end
  end

  // The last stage: the decision
  logic [16:0] once;
  logic [15:0] right, given;
  logic        is_wrong, drops, last_moves;
  flit_t       changed;

  assign once       = {1'b0, sum_q[15:0]} + 17'(sum_q[20:16]);
  assign right      = ~(once[15:0] + 16'(once[16]));
  assign given      = 16'(flit_q[4].data >> (9'd192 + 9'(place_q[3]) * 9'd32));
  assign last_moves = valid_q[5] && !signal_q[5] && room;

  logic [15:0] right_q;
  logic        is_wrong_q, skips_q5;
  logic [1:0]  place_q5;
  assign is_wrong = checks_q[5] && is_wrong_q;
  assign drops    = !Update && (flit_q[5].sop ? is_wrong : dropping_q);

  always_comb begin
    changed = flit_q[5];
    if (Update && checks_q[5]) begin
      for (int unsigned tags = 0; tags < 3; tags++) begin
        if (32'(place_q5) == tags) changed.data[8*(24+4*tags)+:16] = right_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (room) begin
      valid_q  <= {valid_q[Stages-2:0], in_valid_i || signal_valid_i};
      signal_q <= {signal_q[Stages-2:0], signal_valid_i};
      flit_q   <= {flit_q[Stages-2:0], first};
      tags_q   <= has_two ? 2'd2 : has_tag ? 2'd1 : 2'd0;
      here_q   <= first.sop && (has_two ? inner : has_tag ? behind : outer) == ETHERTYPE_IPV4;
      words_q  <= words;
      checks_q <= {checks_q[Stages-2:1], here_q && fits};
      skips_q1 <= here_q && !fits;
      skips_q2 <= skips_q1;
      skips_q3 <= skips_q2;
      skips_q4 <= skips_q3;
      skips_q5 <= skips_q4;
      place_q  <= {place_q[2:0], tags_q};
      place_q5 <= place_q[3];
      for (int unsigned i = 0; i < Thirds; i++) begin
        thirds_q[i] <= 18'(words_q[3*i])
          + (3 * i + 1 < Words ? 18'(words_q[(3*i+1)%Words]) + 18'(words_q[(3*i+2)%Words]) : 18'd0);
      end
      for (int unsigned i = 0; i < 3; i++) begin
        ninths_q[i] <= 20'(thirds_q[3*i]) + 20'(thirds_q[3*i+1]) + 20'(thirds_q[3*i+2]);
      end
      sum_q      <= 21'(ninths_q[0]) + 21'(ninths_q[1]) + 21'(ninths_q[2]);
      right_q    <= right;
      is_wrong_q <= right != given;
    end
    if (last_moves) begin
      if (flit_q[5].sop) dropping_q <= is_wrong && !Update;
      if (checks_q[5]) checked_q <= checked_q + 64'd1;
      if (is_wrong) wrong_q <= wrong_q + 64'd1;
      if (skips_q5) skipped_q <= skipped_q + 64'd1;
    end
    if (rst_i) begin
      valid_q    <= '0;
      dropping_q <= 1'b0;
      checked_q  <= '0;
      wrong_q    <= '0;
      skipped_q  <= '0;
    end
  end

  logic [1:0] kind_q;
  always_ff @(posedge clk_i) if (signal_take_o) kind_q <= signal_kind_i[1:0];
  assign result_valid_o = valid_q[5] && signal_q[5] && room;
  assign result_o       = kind_q == 2'd0 ? checked_q : kind_q == 2'd1 ? wrong_q : skipped_q;

  assign room        = out_ready_i;
  assign out_data_o  = changed;
  assign out_valid_o = valid_q[5] && !signal_q[5] && !drops;

  logic unused;
  assign unused = &{1'b0, signal_kind_i};
endmodule
