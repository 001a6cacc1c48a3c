// SPDX-License-Identifier: Apache-2.0
// Results of a process block that never stalls, until they leave: each needs a place, taken before, so none is lost. With Reorder
// it is a reorder buffer: results leave in the order in which their places were taken. Else they leave in the order in which they came.
module sl_schedule_results #(
  parameter int unsigned Width   = 64,    // bits of a result
  parameter int unsigned Window  = 32,    // places, a power of two, at least 2
  parameter bit          Reorder = 1'b1,
  localparam int unsigned IdBits = $clog2(Window)
) (
  input  logic              clk_i,
  input  logic              rst_i,         // synchronous, active high
  input  logic              take_i,        // takes a place; only with room_o
  output logic              room_o,        // registered
  output logic              empty_o,       // no place is taken
  output logic [IdBits-1:0] id_o,          // of the place that take_i takes
  input  logic              done_valid_i,
  input  logic [IdBits-1:0] done_id_i,     // unused without Reorder
  input  logic [Width-1:0]  done_data_i,
  output logic [Width-1:0]  out_data_o,    // registered
  output logic              out_valid_o,
  input  logic              out_ready_i
);
  logic [IdBits:0] count_q;  // places taken
  logic            leave;

  assign room_o  = !count_q[IdBits];
  assign empty_o = count_q == '0;
  assign leave   = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (take_i != leave) count_q <= take_i ? count_q + 1'b1 : count_q - 1'b1;
    if (take_i) id_o <= id_o + 1'b1;
    if (rst_i) begin
      count_q <= '0;
      id_o    <= '0;
    end
  end

  if (Reorder) begin : gen_reorder
    logic [Window-1:0] done_q;
    logic [IdBits-1:0] oldest_q;
    logic [Width-1:0]  oldest;
    logic              fetch;

    sl_ram_lut #(.Width(Width), .Depth(Window)) u_results (
      .clk_i, .write_valid_i(done_valid_i), .write_address_i(done_id_i), .write_data_i(done_data_i),
      .read_address_i(oldest_q), .read_data_o(oldest)
    );
    assign fetch = done_q[oldest_q] && (!out_valid_o || out_ready_i);

    always_ff @(posedge clk_i) begin
      if (out_ready_i) out_valid_o <= 1'b0;
      if (fetch) begin
        out_data_o       <= oldest;
        out_valid_o      <= 1'b1;
        oldest_q         <= oldest_q + 1'b1;
        done_q[oldest_q] <= 1'b0;
      end
      if (done_valid_i) done_q[done_id_i] <= 1'b1;
      if (rst_i) begin
        out_valid_o <= 1'b0;
        oldest_q    <= '0;
        done_q      <= '0;
      end
    end
  end else begin : gen_fifo
    logic            unused_ready, unused_id;
    logic [IdBits:0] unused_count;
    assign unused_id = &{1'b0, done_id_i};

    sl_fifo #(.Width(Width), .Depth(Window)) u_results (
      .clk_i, .rst_i, .in_data_i(done_data_i), .in_valid_i(done_valid_i), .in_ready_o(unused_ready),
      .out_data_o, .out_valid_o, .out_ready_i, .count_o(unused_count)
    );
  end
endmodule
