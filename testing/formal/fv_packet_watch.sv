// SPDX-License-Identifier: Apache-2.0
// Formal only: the scoreboard of a part that keeps whole packets or drops them whole. For one freely chosen input packet: if it is
// kept it leaves once, after exactly the packets that were kept before it, with the same number of flits, of which one freely
// chosen flit is as expected; only kept packets leave, each from its first flit to its last.
module fv_packet_watch #(
  parameter int unsigned Width = 8  // bits compared
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             choose_i,     // watch the packet that begins now, if none is watched yet
  input  logic [2:0]       place_i,      // the flit to compare; constant
  input  logic             enter_i,
  input  logic             enter_first_i,
  input  logic             enter_last_i,
  input  logic [Width-1:0] enter_word_i,   // expected output
  input  logic             kept_i,       // the packet that ended in the previous cycle is kept
  input  logic             leave_i,
  input  logic             out_valid_i,
  input  logic             out_first_i,
  input  logic             out_last_i,
  input  logic [Width-1:0] out_word_i,
  output logic             leaves_watched_o,  // the watched flit of the watched packet leaves
  output logic [3:0]       packets_o,    // kept packets that have not left
  output logic [4:0]       flits_o       // flits of those packets
);
  logic             watching_q = 1'b0, ended_q = 1'b0, out_watched;
  logic [2:0]       enter_index_q = '0, out_index_q = '0, last_q, enter_index;
  logic [3:0]       kept_q = '0, left_q = '0, number_q;
  logic [4:0]       coming_q = '0, inside_q = '0;  // flits of the incoming or just completed packet; of kept ones
  logic             complete_q = 1'b0, judged_q = 1'b0;  // a packet, or the watched packet, ended in the previous cycle
  logic [Width-1:0] word_q;
  logic [2:0]       place_q;
  logic             started_q = 1'b0;

  assign enter_index      = enter_first_i ? '0 : enter_index_q;
  assign out_watched      = watching_q && ended_q && kept_q != left_q && left_q == number_q;
  assign leaves_watched_o = leave_i && out_watched && out_index_q == place_q;
  assign packets_o        = kept_q - left_q + 4'(kept_i);
  assign flits_o          = inside_q + (kept_i ? coming_q : '0);

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    place_q   <= place_i;
    if (started_q) m_one_place : assume (place_i == place_q);
    kept_q     <= kept_q + 4'(kept_i);
    complete_q <= enter_i && enter_last_i;
    coming_q   <= (complete_q ? '0 : coming_q) + 5'(enter_i);
    inside_q   <= flits_o - 5'(leave_i);
    if (enter_i) begin
      enter_index_q <= enter_index + 1'b1;
      if (enter_first_i && choose_i && !watching_q) begin
        watching_q <= 1'b1;
        number_q   <= kept_q + 4'(kept_i);
      end
      if (!ended_q && enter_index == place_i && (watching_q || (enter_first_i && choose_i))) word_q <= enter_word_i;
      if (!ended_q && enter_last_i && (watching_q || (enter_first_i && choose_i))) begin
        ended_q  <= 1'b1;
        judged_q <= 1'b1;
        last_q   <= enter_index;
      end
    end
    if (judged_q) begin
      judged_q <= 1'b0;
      if (!kept_i) begin
        watching_q <= 1'b0;
        ended_q    <= 1'b0;
      end
    end
    if (leave_i) begin
      out_index_q <= out_last_i ? '0 : out_index_q + 1'b1;
      if (out_last_i) left_q <= left_q + 1'b1;
    end
    if (out_valid_i && !rst_i) begin
      a_only_kept_packets_leave : assert (kept_q != left_q);
      a_packets_are_whole : assert (out_first_i == (out_index_q == '0));
      if (out_watched) a_is_as_long : assert (out_last_i == (out_index_q == last_q));
      if (out_watched && out_index_q == place_q) a_leaves_unchanged_and_in_order : assert (out_word_i == word_q);
    end
  end
endmodule
