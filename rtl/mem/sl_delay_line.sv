// SPDX-License-Identifier: Apache-2.0
// Delays a word of every cycle by a fixed number of cycles, in rings of LUT RAM instead of a chain of flip-flops. For pipelines that
// know by themselves which words are valid; `sl_delay` brings a valid bit along.
module sl_delay_line #(
  parameter int unsigned Width  = 32,  // bits per word, at least 1
  parameter int unsigned Cycles = 4    // delay, at least 3
) (
  input  logic             clk_i,
  input  logic             rst_i,   // synchronous, active high: data_o is undefined for Cycles cycles behind it
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o   // registered: data_i, Cycles earlier
);
  localparam int unsigned Places      = Cycles - 1;
  localparam int unsigned AddressBits = $clog2(Places);
  localparam int unsigned RingBits    = 128;  // of a ring with an address of its own, whose nets would be long otherwise

  for (genvar low = 0; low < Width; low += RingBits) begin : gen_ring
    localparam int unsigned Bits = Width - low < RingBits ? Width - low : RingBits;

    logic [AddressBits-1:0] place_q;
    logic [Bits-1:0]        read_data;

    // A place is read before it is written again, Places cycles after its word came.
    sl_ram_lut #(.Width(Bits), .Depth(Places)) u_ram (
      .clk_i, .write_valid_i(1'b1), .write_address_i(place_q), .write_data_i(data_i[low+:Bits]),
      .read_address_i(place_q), .read_data_o(read_data)
    );
    always_ff @(posedge clk_i) begin
      place_q <= (rst_i || place_q == AddressBits'(Places - 1)) ? '0 : place_q + 1'b1;
      data_o[low+:Bits] <= read_data;
    end
  end
endmodule
