// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_fifo, in LUT RAM and in block RAM, for all inputs and runs of any length (induction): words leave once,
// unchanged and in order (fv_watch); the FIFO holds exactly `Depth` words; a waiting word is stable; the first word is offered 2
// cycles after it entered (block RAM: 3), later words follow without a gap, so that with a ready receiver a word leaves after that
// many cycles plus one for each word before it.
module fv_fifo #(
  parameter int unsigned Width = 2,  // bits per word
  parameter int unsigned Depth = 5,  // words
  parameter int unsigned Style = 0,
  parameter bit          Steady = 1'b0
) (
  input logic             clk_i,
  input logic [Width-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i,
  input logic             choose_i
);
  localparam int unsigned CountBits = $clog2(Depth + 1);
  localparam int unsigned Latency = Style == 0 ? 2 : 3;

  logic                 rst_q = 1'b1;
  logic                 in_ready, out_valid, watching, enter, leave;
  logic [Width-1:0]     out_data, word, memory_word;
  logic [CountBits-1:0] count, held, ahead;
  logic [$clog2(Depth)-1:0] place;
  logic                     read_valid;  // the RAM's output register holds a word
  logic [Width-1:0]         read_data;
  int unsigned              read, stored, fetched;
  logic [1:0]               age_q = '0;  // cycles since the watched word entered

  sl_fifo #(.Width(Width), .Depth(Depth), .Style(Style), .Steady(Steady)) u_fifo (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i, .count_o(count)
  );

  if (Style == 0) begin : gen_lut
    assign read_valid  = 1'b0;
    assign read_data   = '0;
    assign memory_word = u_fifo.gen_lut.u_ram.memory[place];
  end else begin : gen_block
    assign read_valid  = u_fifo.read_valid_q;
    assign read_data   = u_fifo.gen_block.read_data;
    assign memory_word = u_fifo.gen_block.u_ram.memory[place];
  end

  assign enter = in_valid_i && in_ready && !rst_q;
  assign leave = out_valid && out_ready_i && !rst_q;

  fv_watch #(.Width(Width), .Most(Depth)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(in_data_i), .leave_i(leave),
    .out_valid_i(out_valid), .out_data_i(out_data), .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  assign read    = 32'(u_fifo.read_address_q);
  assign fetched = 32'(out_valid) + 32'(read_valid);
  assign stored  = 32'(held) - fetched;
  assign place   = ($clog2(Depth))'((read + 32'(ahead) - fetched) % Depth);

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (!watching) age_q <= 2'(enter);
    else if (age_q != '1) age_q <= age_q + 1'b1;

    if (!rst_q) begin
      a_counts_what_is_inside : assert (count == held);
      a_takes_words_until_full : assert (in_ready == (32'(held) != Depth));
      if (watching && 32'(age_q) >= Latency) a_is_on_its_way_out_in_time : assert (out_valid);
      // Internal state, for the induction.
      i_stored : assert (fetched <= 32'(held) && 32'(u_fifo.stored_q) == stored && u_fifo.stored_any_q == (stored != 0));
      i_addresses : assert (read < Depth && 32'(u_fifo.write_address_q) == (read + stored) % Depth);
      if (watching) i_age : assert (age_q != '0);
      if (watching && Style == 1 && age_q == 2'd2) i_is_at_the_registers : assert (out_valid || read_valid);
      if (watching && read_valid && 32'(ahead) == 32'(out_valid)) i_waits_in_the_register : assert (read_data == word);
      if (watching && 32'(ahead) >= fetched) i_waits_in_its_place : assert (memory_word == word);
      c_last_of_a_full_one_leaves : cover (watching && leave && 32'(ahead) == Depth - 2);
    end
  end

  sl_channel_check #(.Width(Width)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
