// SPDX-License-Identifier: Apache-2.0
// Block RAM with a write port on one clock and a read port on another. A read returns its word one cycle of its clock later and
// holds it until the next read. A word may be read only after its write has completed, which the user's pointers ensure; reading it
// while it is written returns an undefined word.
module sl_ram_block_cdc #(
  parameter int unsigned Width = 32,   // bits per word, at least 1
  parameter int unsigned Depth = 512,  // words, at least 2
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   write_clk_i,
  input  logic                   write_valid_i,
  input  logic [AddressBits-1:0] write_address_i,  // below Depth
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_clk_i,
  input  logic                   read_valid_i,
  input  logic [AddressBits-1:0] read_address_i,   // below Depth
  output logic [Width-1:0]       read_data_o       // one read clock after read_valid_i
);
  (* ram_style = "block", syn_ramstyle = "block_ram", no_rw_check *)
  logic [Width-1:0] memory [Depth];

  always_ff @(posedge write_clk_i) begin
    if (write_valid_i) memory[write_address_i] <= write_data_i;
  end

  always_ff @(posedge read_clk_i) begin
    if (read_valid_i) read_data_o <= memory[read_address_i];
  end
endmodule
