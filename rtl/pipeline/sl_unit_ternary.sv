// SPDX-License-Identifier: Apache-2.0
// The ternary table of a unit: banks of 64 entries, the lowest matching entry wins. The version is bit 128 of the key, so an entry is
// of one version of the program or of both. Takes a key a cycle, answers UNIT_TERNARY_LATENCY cycles later, never stalls. It is
// written as sl_program_match is.
module sl_unit_ternary
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Entries = 256,  // multiple of 64
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                        clk_i,
  input  logic                        rst_i,           // synchronous, active high
  input  logic                        write_valid_i,
  input  logic [11:0]                 write_group_i,   // of four entries; beyond the table: ignored
  input  logic [3:0]                  write_nibble_i,
  input  logic [UNIT_TERNARY_BITS-1:0] write_data_i,
  input  logic                        key_valid_i,
  input  logic [127:0]                key_i,
  input  logic                        version_i,
  output logic                        hit_o,           // UNIT_TERNARY_LATENCY cycles after key_valid_i, stable until the next
  output logic [IndexBits-1:0]        entry_o          // undefined without a hit
);
  localparam int unsigned Banks = Entries / 64;

  logic                             valid;
  logic [Banks-1:0]                 write_valid_q;   // decoded before the register, whose loads are spread over all LUT RAMs
  logic [15:0]                      write_group_q;   // of the bank, one-hot
  logic [3:0]                       write_nibble_q;
  logic [UNIT_TERNARY_BITS-1:0]     write_data_q;
  logic [Banks-1:0]                 hit;
  logic [Banks-1:0][5:0]            entry;
  logic [UNIT_TERNARY_LATENCY-1:1]  valid_q;

  assign valid = valid_q[UNIT_TERNARY_LATENCY-1];

  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    sl_program_match #(.KeyBits(UNIT_TERNARY_BITS), .Entries(64)) u_match (
      .clk_i, .rst_i, .key_valid_i, .key_i(UNIT_TERNARY_BITS'({version_i, key_i})),
      .write_valid_i(write_valid_q[b]), .write_group_i(write_group_q),
      .write_nibble_i(write_nibble_q), .write_data_i(write_data_q), .hit_o(hit[b]), .index_o(entry[b])
    );
  end

  always_ff @(posedge clk_i) begin
    for (int b = 0; b < Banks; b++) write_valid_q[b] <= write_valid_i && 32'(write_group_i[11:4]) == b && !rst_i;
    if (write_valid_i) {write_group_q, write_nibble_q, write_data_q} <= {16'd1 << write_group_i[3:0], write_nibble_i, write_data_i};
    valid_q <= rst_i ? '0 : {valid_q[UNIT_TERNARY_LATENCY-2:1], key_valid_i};
    if (valid) begin
      hit_o <= hit != '0;
      for (int b = Banks - 1; b >= 0; b--) if (hit[b]) entry_o <= IndexBits'(b << 6) | IndexBits'(entry[b]);
    end
  end
endmodule
