// SPDX-License-Identifier: Apache-2.0
// LUT RAM: one write port, one asynchronous read port, which returns its word in the same cycle. For small memories, or wide and
// shallow ones. A read of the address that is written in the same cycle returns the old word. Contents after power-up are
// undefined.
module sl_ram_lut #(
  parameter int unsigned Width = 32,  // bits per word, at least 1
  parameter int unsigned Depth = 32,  // words, at least 2; costs one RAM column for each 32 or 64 (xcup), 16 (ECP5)
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   write_valid_i,
  input  logic [AddressBits-1:0] write_address_i,  // below Depth
  input  logic [Width-1:0]       write_data_i,
  input  logic [AddressBits-1:0] read_address_i,   // below Depth
  output logic [Width-1:0]       read_data_o       // combinational from read_address_i
);
  (* ram_style = "distributed", syn_ramstyle = "distributed" *)
  logic [Width-1:0] memory [Depth];

  assign read_data_o = memory[read_address_i];

  always_ff @(posedge clk_i) begin
    if (write_valid_i) memory[write_address_i] <= write_data_i;
  end
endmodule
