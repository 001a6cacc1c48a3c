// SPDX-License-Identifier: Apache-2.0
// Delays words by a fixed number of cycles, to accompany a pipeline that never stalls. Longer delays use LUT RAM as a ring instead
// of a chain of flip-flops. Only the valid bits are reset; a word without its valid is never used.
module sl_delay #(
  parameter int unsigned Width  = 32,  // bits per word, at least 1
  parameter int unsigned Cycles = 4    // delay, at least 0
) (
  input  logic             clk_i,
  input  logic             rst_i,    // synchronous, active high: discards the words inside
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,  // valid_i, Cycles later
  output logic [Width-1:0] data_o    // registered; stable until the next valid word
);
  if (Cycles == 0) begin : gen_none
    logic unused;
    assign unused  = &{1'b0, clk_i, rst_i};
    assign valid_o = valid_i;
    assign data_o  = data_i;
  end else if (Cycles < 3) begin : gen_registers
    logic [Cycles:0]  valid;
    logic [Width-1:0] data [Cycles+1];

    assign valid[0] = valid_i;
    assign data[0]  = data_i;
    for (genvar n = 0; n < Cycles; n++) begin : gen_stage
      always_ff @(posedge clk_i) begin
        valid[n+1] <= valid[n] && !rst_i;
        if (valid[n]) data[n+1] <= data[n];
      end
    end
    assign valid_o = valid[Cycles];
    assign data_o  = data[Cycles];
  end else begin : gen_ring
    localparam int unsigned Places = Cycles - 1;
    localparam int unsigned AddressBits = $clog2(Places);

    logic [Cycles-1:0]      valid_q;
    logic [AddressBits-1:0] place_q;
    logic [Width-1:0]       read_data;

    // A slot is read before it is rewritten, Places cycles after its word came.
    sl_ram_lut #(.Width(Width), .Depth(Places)) u_ram (
      .clk_i, .write_valid_i(valid_i), .write_address_i(place_q), .write_data_i(data_i),
      .read_address_i(place_q), .read_data_o(read_data)
    );
    always_ff @(posedge clk_i) begin
      place_q <= (place_q == AddressBits'(Places - 1)) ? '0 : place_q + 1'b1;
      valid_q <= {valid_q[Cycles-2:0], valid_i};
      if (valid_q[Cycles-2]) data_o <= read_data;
      if (rst_i) begin
        place_q <= '0;
        valid_q <= '0;
      end
    end
    assign valid_o = valid_q[Cycles-1];
  end
endmodule
