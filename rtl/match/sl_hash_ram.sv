// SPDX-License-Identifier: Apache-2.0
// One way of a hashed table: true dual-port block RAM on one clock. Port A only reads, in every cycle in which it is enabled; port
// B reads or writes. A port A read of the address that port B writes in the same cycle is undefined in hardware; the simulation
// returns the old or the new word, by the parity of the new, so that code which relies on either fails. Contents after power-up are
// undefined.
module sl_hash_ram #(
  parameter int unsigned Width = 117,   // bits per word, at least 1
  parameter int unsigned Depth = 1024,  // words, at least 2
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   a_valid_i,
  input  logic [AddressBits-1:0] a_address_i,  // below Depth
  output logic [Width-1:0]       a_data_o,     // one cycle after a_valid_i, stable until the next read
  input  logic                   b_write_i,    // port B writes in this cycle; else it reads
  input  logic [AddressBits-1:0] b_address_i,  // below Depth
  input  logic [Width-1:0]       b_data_i,
  output logic [Width-1:0]       b_data_o      // one cycle after b_address_i; not valid after a write
);
  (* ram_style = "block", syn_ramstyle = "block_ram", no_rw_check *)
  logic [Width-1:0] memory [Depth];

  always_ff @(posedge clk_i) begin
`ifdef SYNTHESIS
    if (a_valid_i) a_data_o <= memory[a_address_i];
`else
    if (a_valid_i) a_data_o <= b_write_i && a_address_i == b_address_i && ^b_data_i ? b_data_i : memory[a_address_i];
`endif
  end

  always_ff @(posedge clk_i) begin
    if (b_write_i) memory[b_address_i] <= b_data_i;
    else b_data_o <= memory[b_address_i];
  end
endmodule
