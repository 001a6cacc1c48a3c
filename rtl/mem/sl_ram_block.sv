// SPDX-License-Identifier: Apache-2.0
// Block RAM, one write port and one read port on one clock. A read returns its word `Latency` cycles after the address and holds it
// until the next read. A read of the address that is written in the same cycle returns an undefined word (the old one in
// simulation): a user that needs either word must compare addresses. Contents after power-up are undefined.
module sl_ram_block #(
  parameter int unsigned Width   = 32,   // bits per word, at least 1
  parameter int unsigned Depth   = 512,  // words, at least 2; need not be a power of two
  parameter int unsigned Latency = 1,    // 1, or 2 with a second output register (faster clock on both targets)
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   write_valid_i,
  input  logic [AddressBits-1:0] write_address_i,  // below Depth
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_valid_i,
  input  logic [AddressBits-1:0] read_address_i,   // below Depth
  output logic [Width-1:0]       read_data_o       // Latency cycles after read_valid_i
);
  (* ram_style = "block", syn_ramstyle = "block_ram", no_rw_check *)
  logic [Width-1:0] memory [Depth];
  logic [Width-1:0] read_q;

  always_ff @(posedge clk_i) begin
    if (write_valid_i) memory[write_address_i] <= write_data_i;
    if (read_valid_i) read_q <= memory[read_address_i];
  end

  if (Latency == 1) begin : gen_latency_1
    assign read_data_o = read_q;
  end else begin : gen_latency_2
    logic read_valid_q;
    always_ff @(posedge clk_i) begin
      read_valid_q <= read_valid_i;
      if (read_valid_q) read_data_o <= read_q;
    end
  end
endmodule
