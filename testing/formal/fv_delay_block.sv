// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_delay_block, under arbitrary words and resets: a word leaves as it entered, Cycles later, unless a reset
// came; nothing else leaves, and what left stays until the next word.
module fv_delay_block #(
  parameter int unsigned Width  = 2,
  parameter int unsigned Cycles = 5
) (
  input logic             clk_i,
  input logic             reset_i,
  input logic             valid_i,
  input logic [Width-1:0] data_i
);
  logic                         rst_q = 1'b1, started_q = 1'b0, left_q = 1'b0, again_q = 1'b0;
  logic                         rst, valid;
  logic [Width-1:0]             data, last_q;
  logic [Cycles-1:0]            valid_q = '0;
  logic [Cycles-1:0][Width-1:0] data_q;

  assign rst = rst_q || reset_i;
  sl_delay_block #(.Width(Width), .Cycles(Cycles)) u_delay (
    .clk_i, .rst_i(rst), .valid_i, .data_i, .valid_o(valid), .data_o(data)
  );

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    again_q   <= again_q || (started_q && rst);
    valid_q   <= rst ? '0 : {valid_q[Cycles-2:0], valid_i};
    data_q    <= {data_q[Cycles-2:0], data_i};
    left_q    <= !rst && (left_q || valid);
    last_q    <= data;
    if (started_q) begin
      a_leaves_in_time : assert (valid == valid_q[Cycles-1]);
      if (valid) a_leaves_as_it_entered : assert (data == data_q[Cycles-1]);
      if (left_q && !valid && valid_q == '0) a_stays : assert (data == last_q);
      c_full : cover (valid_q == '1 && data != last_q);
      c_after_a_reset : cover (valid && again_q && data == '1);
    end
  end
endmodule
