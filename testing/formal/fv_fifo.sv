// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_fifo in LUT RAM, for all inputs and all lengths of runs (induction): one word, chosen freely among
// those that enter, leaves once, unchanged, and behind exactly the words that entered before it; the FIFO takes exactly
// `Depth` words; a waiting word holds still.
module fv_fifo #(
  parameter int unsigned Width = 2,  // bits of a word
  parameter int unsigned Depth = 5   // words
) (
  input logic             clk_i,
  input logic [Width-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i,
  input logic             choose_i  // watch the word that enters now, if none is watched yet
);
  localparam int unsigned CountBits = $clog2(Depth + 1);

  logic                 rst_q = 1'b1;
  logic                 in_ready, out_valid;
  logic [Width-1:0]     out_data;
  logic [CountBits-1:0] count;

  sl_fifo #(.Width(Width), .Depth(Depth)) u_fifo (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i, .count_o(count)
  );

  logic                 watching_q = 1'b0, done_q = 1'b0;
  logic [Width-1:0]     word_q;
  logic [CountBits-1:0] inside_q = '0, ahead_q = '0;  // words inside; words inside before the watched one
  logic                 enter, leave;
  int unsigned          read, stored;
  logic [$clog2(Depth)-1:0] place;

  assign enter  = in_valid_i && in_ready && !rst_q;
  assign leave  = out_valid && out_ready_i && !rst_q;
  assign read   = 32'(u_fifo.read_address_q);
  assign stored = 32'(inside_q) - 32'(out_valid);
  assign place  = ($clog2(Depth))'((read + 32'(ahead_q) - 32'(out_valid)) % Depth);

  always_ff @(posedge clk_i) begin
    rst_q    <= 1'b0;
    inside_q <= inside_q + CountBits'(enter) - CountBits'(leave);
    if (enter && choose_i && !watching_q && !done_q) begin
      watching_q <= 1'b1;
      word_q     <= in_data_i;
      ahead_q    <= inside_q - CountBits'(leave);
    end else if (watching_q && leave) begin
      ahead_q <= ahead_q - 1'b1;
      if (ahead_q == '0) begin
        watching_q <= 1'b0;
        done_q     <= 1'b1;
      end
    end

    if (!rst_q) begin
      a_count_is_what_is_inside : assert (count == inside_q && 32'(inside_q) <= Depth);
      a_takes_words_until_full : assert (in_ready == (32'(inside_q) != Depth));
      if (watching_q) a_is_still_inside : assert (ahead_q < inside_q);
      if (watching_q && out_valid && ahead_q == '0) a_leaves_unchanged_and_in_order : assert (out_data == word_q);
      // The state behind the ports, for the induction.
      a_stored : assert (32'(u_fifo.stored_q) == stored && u_fifo.stored_any_q == (stored != 0));
      a_addresses : assert (read < Depth && 32'(u_fifo.write_address_q) == (read + stored) % Depth);
      if (watching_q && (!out_valid || ahead_q != '0))
        a_waits_in_its_place : assert (u_fifo.gen_lut.u_ram.memory[place] == word_q);
      c_last_of_a_full_one_leaves : cover (watching_q && leave && 32'(ahead_q) == Depth - 2);
    end
  end

  sl_channel_check #(.Width(Width)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
