// SPDX-License-Identifier: Apache-2.0
// The valid bits of a TCAM. One cycle sets one bit and clears another (or does either, or clears all). `valid_o` changes Delay
// cycles later, when the lookup that entered with the request needs it. Bits are toggled, so setting a set bit or clearing a clear
// bit is an error of the user (asserted).
module sl_tcam_valid #(
  parameter int unsigned Entries = 64,   // at least 1
  parameter int unsigned Delay   = 2,    // cycles from the request to valid_o, at least 2
  localparam int unsigned IndexBits = Entries > 1 ? $clog2(Entries) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 set_valid_i,
  input  logic [IndexBits-1:0] set_index_i,
  input  logic                 clear_valid_i,
  input  logic [IndexBits-1:0] clear_index_i,  // differs from set_index_i
  input  logic                 clear_all_i,    // exclusive
  output logic [Entries-1:0]   valid_o
);
  localparam int unsigned Columns = 16;
  localparam int unsigned Rows    = (Entries + Columns - 1) / Columns;
  localparam int unsigned Request = 3 + 2 * IndexBits;

  // One-hot rows and columns, one register before the bits: each port needs two signals per entry.
  logic [Request-1:0]   request;
  logic                 set, clear, clear_all;
  logic [IndexBits-1:0] set_index, clear_index;
  logic                 active_q, clear_all_q;
  logic [Rows-1:0]      set_row_q, clear_row_q;
  logic [Columns-1:0]   set_column_q, clear_column_q;

  assign request = {set_valid_i, clear_valid_i, clear_all_i, set_index_i, clear_index_i};

  if (Delay == 2) begin : gen_direct
    assign {set, clear, clear_all, set_index, clear_index} = request;
  end else begin : gen_delay
    logic [Delay-3:0][Request-1:0] delay_q;
    sl_copy #(.Width(Request)) u_request_copy (.clk_i, .enable_i(1'b1), .data_i(rst_i ? '0 : request), .data_o(delay_q[0]));
    if (Delay > 3) begin : gen_more
      always_ff @(posedge clk_i) delay_q[Delay-3:1] <= rst_i ? '0 : delay_q[Delay-4:0];
    end
    assign {set, clear, clear_all, set_index, clear_index} = delay_q[Delay-3];
  end

  always_ff @(posedge clk_i) begin
    active_q    <= set || clear;
    clear_all_q <= clear_all || rst_i;
    if (active_q || set || clear) begin
      for (int r = 0; r < Rows; r++) begin
        set_row_q[r]   <= set && 32'(set_index) / Columns == r;
        clear_row_q[r] <= clear && 32'(clear_index) / Columns == r;
      end
      for (int c = 0; c < Columns; c++) begin
        set_column_q[c]   <= set && 32'(set_index) % Columns == c;
        clear_column_q[c] <= clear && 32'(clear_index) % Columns == c;
      end
    end
    if (rst_i) begin
      active_q    <= 1'b0;
      set_row_q   <= '0;
      clear_row_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (clear_all_q) begin
      valid_o <= '0;
    end else if (active_q) begin
      for (int e = 0; e < Entries; e++) begin
        valid_o[e] <= valid_o[e] ^ ((set_row_q[e/Columns] && set_column_q[e%Columns]) ||
                                    (clear_row_q[e/Columns] && clear_column_q[e%Columns]));
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && !active_q && !clear_all_q) begin
      if (set) a_set_is_clear : assert (!valid_o[set_index]);
      if (clear) a_clear_is_set : assert (valid_o[clear_index]);
    end
  end
`endif
endmodule
