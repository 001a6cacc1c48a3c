// SPDX-License-Identifier: Apache-2.0
// Carries pulses from one clock to another: one word without data per pulse, 3 to 4 cycles of `out_clk_i` later. None is lost while
// fewer than 2^Bits wait. Resets as in sl_cdc_fifo; timing constraints: sl_cdc_fifo.tcl.
module sl_cdc_count #(
  parameter int unsigned Bits = 16  // width of the counter whose gray code crosses, at least 2
) (
  input  logic in_clk_i,
  input  logic in_rst_i,     // asynchronous, active high; deasserts synchronously to in_clk_i
  input  logic in_pulse_i,
  input  logic out_clk_i,
  input  logic out_rst_i,    // asynchronous, active high; deasserts synchronously to out_clk_i
  output logic out_valid_o,  // a pulse waits
  input  logic out_ready_i
);
  function automatic logic [Bits-1:0] gray(logic [Bits-1:0] binary);
    return binary ^ (binary >> 1);
  endfunction

  logic [Bits-1:0] count_q, count, count_gray_q, count_gray_seen, taken_q;

  assign count = count_q + Bits'(in_pulse_i);

  always_ff @(posedge in_clk_i or posedge in_rst_i) begin
    if (in_rst_i) begin
      count_q      <= '0;
      count_gray_q <= '0;
    end else begin
      count_q      <= count;
      count_gray_q <= gray(count);
    end
  end

  sl_sync #(.Width(Bits)) u_count_seen (.clk_i(out_clk_i), .async_i(count_gray_q), .sync_o(count_gray_seen));

  assign out_valid_o = gray(taken_q) != count_gray_seen;

  always_ff @(posedge out_clk_i or posedge out_rst_i) begin
    if (out_rst_i) taken_q <= '0;
    else taken_q <= taken_q + Bits'(out_valid_o && out_ready_i);
  end
endmodule
