// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_cdc_fifo, for two clocks whose edges come in any order, all inputs and runs of any length from the state
// after reset (induction): one freely chosen input word leaves once, unchanged and after exactly the words that entered before it;
// a waiting word is stable (its own sl_channel_check); the first word is offered 3 edges of the output's clock after it entered
// (block RAM: 4), later words follow without a gap; free space is signalled 3 edges of the input's clock after a word left the
// memory; roomy is never signalled while the FIFO is more than half full. Only one bit that crosses changes at a time: a bit
// sampled early or late is then an edge that comes earlier or later.
module fv_cdc_fifo #(
  parameter int unsigned Width = 2,
  parameter int unsigned Style = 0
) (
  input logic             in_clk_i,
  input logic             out_clk_i,
  input logic [Width-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i,
  input logic             choose_i
);
  localparam int unsigned Depth = 4, Latency = Style == 0 ? 3 : 4;
  typedef logic [2:0] pointer_t;

  logic             in_ready, in_roomy, out_valid;
  logic [Width-1:0] out_data;

  sl_cdc_fifo #(.Width(Width), .Depth(Depth), .Style(Style)) u_fifo (
    .in_clk_i, .in_rst_i(1'b0), .in_data_i, .in_valid_i, .in_ready_o(in_ready), .in_roomy_o(in_roomy),
    .out_clk_i, .out_rst_i(1'b0), .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  // The watched word: its number, counting words that enter and leave.
  pointer_t         entered_q = '0, left_q = '0, number_q;
  logic             watching_q = 1'b0, done_q = 1'b0, enter, leave, waits;
  logic [Width-1:0] word_q;
  logic [2:0]       age_q = '0;   // edges of the output's clock since it entered
  logic [1:0]       room_q = '0;  // edges of the input's clock for which free space was not signalled
  pointer_t         write_gray_q = '0, read_gray_q = '0;

  pointer_t         write, read, in_memory, ahead, fetched;
  pointer_t         write_0, write_1, read_0, read_1;  // in the synchroniser chains
  logic             read_valid;
  logic [Width-1:0] read_data, memory_word;

  assign enter = in_valid_i && in_ready;
  assign leave = out_valid && out_ready_i;
  assign waits = watching_q && !done_q;

  always_ff @(posedge in_clk_i) begin
    entered_q    <= entered_q + pointer_t'(enter);
    write_gray_q <= u_fifo.write_gray_q;
    if (enter && choose_i && !watching_q) begin
      watching_q <= 1'b1;
      word_q     <= in_data_i;
      number_q   <= entered_q;
    end
    room_q <= in_ready || in_memory == pointer_t'(Depth) ? '0 : room_q == '1 ? room_q : room_q + 1'b1;
    a_room_is_told_in_time : assert (room_q < 2'd3 || in_ready);
    if (in_roomy) a_roomy_is_half_free : assert (in_memory <= pointer_t'(Depth / 2));
    a_one_bit_at_a_time_forward : assert ($countones(u_fifo.write_gray_q ^ write_gray_q) <= 1);
  end

  always_ff @(posedge out_clk_i) begin
    left_q      <= left_q + pointer_t'(leave);
    read_gray_q <= u_fifo.read_gray_q;
    if (waits && age_q != '1) age_q <= age_q + 1'b1;
    if (waits && leave && left_q == number_q) done_q <= 1'b1;
    if (out_valid) a_nothing_leaves_that_did_not_enter : assert (left_q != entered_q);
    if (waits && out_valid && left_q == number_q) a_leaves_unchanged_and_in_order : assert (out_data == word_q);
    if (waits && 32'(age_q) >= Latency) a_is_offered_in_time : assert (out_valid);
    a_one_bit_at_a_time_back : assert ($countones(u_fifo.read_gray_q ^ read_gray_q) <= 1);
    c_last_of_a_full_one_leaves : cover (waits && leave && left_q == number_q && number_q == 3'd4);
  end

  // For the induction: the pointers and their synchronised copies, in time order.
  function automatic pointer_t binary(pointer_t gray);
    return {gray[2], gray[2] ^ gray[1], ^gray};
  endfunction

  assign write     = u_fifo.write_q;
  assign read      = u_fifo.read_q;
  assign in_memory = write - read;
  assign write_0   = binary(u_fifo.u_write_seen.chain_q[0]);
  assign write_1   = binary(u_fifo.u_write_seen.chain_q[1]);
  assign read_0    = binary(u_fifo.u_read_seen.chain_q[0]);
  assign read_1    = binary(u_fifo.u_read_seen.chain_q[1]);
  assign fetched   = pointer_t'(out_valid) + pointer_t'(read_valid);
  assign ahead     = number_q - left_q;

  if (Style == 0) begin : gen_lut
    assign read_valid  = 1'b0;
    assign read_data   = '0;
    assign memory_word = u_fifo.gen_lut.memory[number_q[1:0]];
  end else begin : gen_block
    assign read_valid  = u_fifo.gen_block.read_valid_q;
    assign read_data   = u_fifo.gen_block.read_data;
    assign memory_word = u_fifo.gen_block.u_ram.memory[number_q[1:0]];
  end

  always_comb begin
    i_pointers : assert (entered_q == write && left_q + fetched == read);
    i_gray : assert (binary(u_fifo.write_gray_q) == write && binary(u_fifo.read_gray_q) == read);
    i_one_bit : assert ($countones(u_fifo.write_gray_q ^ write_gray_q) <= 1 && $countones(u_fifo.read_gray_q ^ read_gray_q) <= 1);
    if (u_fifo.u_check.waiting_q) i_waits_unchanged : assert (out_valid && u_fifo.u_check.data_q == out_data);
    i_fits : assert (in_memory <= pointer_t'(Depth));
    i_write_seen : assert (write_1 - read <= write_0 - read && write_0 - read <= in_memory);
    i_read_seen : assert (in_memory <= write - read_0 && write - read_0 <= write - read_1 && write - read_1 <= pointer_t'(Depth));
    i_roomy_seen : assert (write - read_1 <= write - u_fifo.read_seen_q && write - u_fifo.read_seen_q <= pointer_t'(Depth));
    i_roomy : assert (!in_roomy || write - u_fifo.read_seen_q <= pointer_t'(Depth / 2));
    i_ready : assert (!in_ready || write - read_1 < pointer_t'(Depth));
    if (watching_q) i_entered : assert (entered_q != left_q || done_q);
    if (waits) i_is_inside : assert (ahead < entered_q - left_q);
    if (waits && ahead >= fetched) i_in_memory : assert (memory_word == word_q);
    if (waits && read_valid && ahead == pointer_t'(out_valid)) i_in_register : assert (read_data == word_q);
    if (waits && out_valid && ahead == '0) i_in_output : assert (out_data == word_q);
    i_waits : assert (age_q == '0 || watching_q);
    if (waits && age_q >= 3'd1) i_first_edge : assert (number_q - left_q < write_0 - left_q);
    if (waits && age_q >= 3'd2) i_second_edge : assert (number_q - left_q < write_1 - left_q);
    if (waits && age_q >= 3'd3) i_third_edge : assert (read_valid || (out_valid && (Style == 0 || ahead == '0)));
    if (waits && 32'(age_q) >= Latency) i_last_edge : assert (out_valid);
    if (!in_ready && room_q >= 2'd1) i_room_0 : assert (write - read_0 < pointer_t'(Depth));
    if (!in_ready && room_q >= 2'd2) i_room_1 : assert (write - read_1 < pointer_t'(Depth));
    if (room_q == 2'd3) i_room : assert (in_ready);
  end
endmodule
