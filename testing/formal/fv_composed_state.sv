// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_composed_state, for all packets of two flows (bounded), a packet a cycle or less: of one freely chosen flow
// each packet finds the part that all packets before it left, in any mix with the other flow, with packets that keep nothing and
// with new flows; so do packets that wait for each other, which read and write while no other is inside. Bits outside of the lanes
// stay. The update is one that does not commute.
module fv_composed_state #(
  parameter int unsigned Width = 3
) (
  input logic             clk_i,
  input logic             watched_i,  // constant, as the next
  input logic [Width-1:0] lanes_i,
  input logic             valid_i,
  input logic             address_i,
  input logic             keeps_i,
  input logic             fresh_i,
  input logic [Width-1:0] add_i,
  input logic             read_valid_i,
  input logic             write_valid_i,
  input logic [Width-1:0] write_data_i
);
  function automatic logic [Width-1:0] changed(logic [Width-1:0] part, logic [Width-1:0] add, logic [Width-1:0] lanes);
    return ({part[Width-2:0], part[Width-1]} + add) & lanes;
  endfunction

  logic                   rst_q = 1'b1, started_q = 1'b0, watched_q, ready, occupied, of_flow;
  logic [Width-1:0]       lanes_q, part, new_q, found, word, next_q, expected;
  logic [3:0]             valid;
  logic [4:1]             valid_q, of_flow_q;
  logic [3:1][Width-1:0]  add_q;
  logic [4:1][Width-1:0]  expected_q;
  logic [2:1]             read_q;
  logic [2:1][Width-1:0]  read_expected_q;
  logic [1:0]             follow_q;  // packets of the flow without a gap

  sl_composed_state #(.AddressBits(1), .Width(Width)) u_state (
    .clk_i, .rst_i(rst_q), .ready_o(ready), .lanes_i, .valid_i, .address_i, .keeps_i, .fresh_i, .valid_o(valid), .part_o(part),
    .new_i(new_q), .before_o(found), .read_valid_i, .read_address_i(watched_q), .word_o(word), .write_valid_i,
    .write_address_i(watched_q), .write_data_i
  );

  assign occupied = |valid[3:1] || valid_q[4];
  assign of_flow  = valid_i && address_i == watched_q;
  assign expected = fresh_i ? '0 : next_q;

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    watched_q <= watched_i;
    lanes_q   <= lanes_i;
    if (started_q) m_one_flow_and_lanes : assume (watched_i == watched_q && lanes_i == lanes_q);
    m_waits_for_ready : assume ((!rst_q && ready) || !(valid_i || read_valid_i || write_valid_i));
    m_not_beside_each_other : assume (!(read_valid_i || write_valid_i) || !(valid_i || occupied));

    valid_q         <= rst_q ? '0 : {valid_q[3:1], valid_i};
    of_flow_q       <= rst_q ? '0 : {of_flow_q[3:1], of_flow};
    add_q           <= {add_q[2:1], add_i};
    expected_q      <= {expected_q[3:1], expected};
    read_q          <= rst_q ? '0 : {read_q[1], read_valid_i};
    read_expected_q <= {write_valid_i ? write_data_i : read_expected_q[1], write_valid_i ? write_data_i : next_q};
    if (valid[3]) new_q <= changed(part, add_q[3], lanes_i);
    if (rst_q) next_q <= '0;
    else if (of_flow && keeps_i) next_q <= (expected & ~lanes_i) | changed(expected & lanes_i, add_i, lanes_i);
    else if (write_valid_i) next_q <= write_data_i;
    follow_q <= rst_q || !of_flow || !keeps_i ? '0 : follow_q == '1 ? follow_q : follow_q + 1'b1;

    if (!rst_q) begin
      a_says_where_packets_are : assert (valid == {valid_q[3:1], valid_i});
      if (of_flow_q[4]) a_finds_what_the_one_before_left : assert (found == expected_q[4]);
      if (read_q[2]) a_waiting_reads_what_was_left : assert (word == read_expected_q[2]);
      c_four_of_a_flow_in_a_row : cover (follow_q == '1 && of_flow_q[4] && expected_q[4] != '0);
      c_reads_what_a_packet_left : cover (read_q[2] && word != '0 && valid_q == '0);
      c_finds_what_was_written : cover (of_flow_q[4] && expected_q[4] == '1 && !fresh_i);
    end
  end
endmodule
