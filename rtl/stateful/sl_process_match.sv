// SPDX-License-Identifier: Apache-2.0
// The table of entries of the process block: finds the first that takes label and conditions, the last one if no other does.
// The label comes a cycle before the conditions. Match words are written as they are (PROCESS_MEMORY_MATCH), for each version.
module sl_process_match
  import sluice_pkg::*;
#(
  parameter int unsigned Conditions = PROCESS_CONDITIONS,  // 4 or 8
  parameter int unsigned Entries    = PROCESS_ENTRIES,     // 2 to 64, a power of two
  localparam int unsigned EntryBits = $clog2(Entries)
) (
  input  logic                  clk_i,
  input  logic                  write_valid_i,
  input  process_write_t        write_i,
  input  logic                  valid_i,
  input  logic                  version_i,
  input  logic [7:0]            label_i,
  input  logic [Conditions-1:0] conditions_i,  // a cycle after valid_i
  output logic [EntryBits-1:0]  entry_o,       // combinational from conditions_i
  output logic [Entries-1:0]    held_o         // likewise: entries whose conditions hold, whatever the label
);
  localparam int unsigned Nibbles   = Conditions / 4;
  localparam int unsigned GroupSize = Entries < 16 ? Entries : 16;

  logic [1:0][Entries-1:0]              labelled_q;  // of each version: whether the entry takes the label of this packet
  logic [1:0][Nibbles-1:0][Entries-1:0] takes;       // of each version: whether it takes the nibble of the conditions
  logic [Entries-1:0]                   label_takes [2], hits;
  logic                                 version_q;

  for (genvar g = 0; g < Entries / GroupSize; g++) begin : gen_group
    logic write;
    assign write = write_valid_i && write_i.memory == PROCESS_MEMORY_MATCH && write_i.address[9:4] == g;

    for (genvar n = 0; n < 2; n++) begin : gen_label
      sl_ram_lut #(.Width(GroupSize), .Depth(32)) u_label (
        .clk_i, .write_valid_i(write), .write_address_i({write_i.address[10], write_i.address[3:0]}),
        .write_data_i(write_i.data[16*(2+n) +: GroupSize]),
        .read_address_i({version_i, label_i[4*n +: 4]}), .read_data_o(label_takes[n][GroupSize*g +: GroupSize])
      );
    end
    // One RAM a version, not one of twice the depth: the ECP5 reads 16 words without a multiplexer behind them.
    for (genvar v = 0; v < 2; v++) begin : gen_version
      for (genvar n = 0; n < Nibbles; n++) begin : gen_condition
        sl_ram_lut #(.Width(GroupSize), .Depth(16)) u_condition (
          .clk_i, .write_valid_i(write && write_i.address[10] == v), .write_address_i(write_i.address[3:0]),
          .write_data_i(write_i.data[16*n +: GroupSize]),
          .read_address_i(conditions_i[4*n +: 4]), .read_data_o(takes[v][n][GroupSize*g +: GroupSize])
        );
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) version_q <= version_i;
    if (valid_i) for (int v = 0; v < 2; v++) labelled_q[v] <= {Entries{1'(v) == version_i}} & label_takes[0] & label_takes[1];
  end

  always_comb begin
    hits   = '0;
    held_o = '0;
    for (int v = 0; v < 2; v++) begin
      logic [Entries-1:0] version_takes;
      version_takes = '1;
      for (int n = 0; n < Nibbles; n++) version_takes &= takes[v][n];
      hits   |= version_takes & labelled_q[v];
      held_o |= version_takes & {Entries{1'(v) == version_q}};
    end
    entry_o = '1;
    for (int e = Entries - 2; e >= 0; e--) if (hits[e]) entry_o = EntryBits'(e);
  end

  logic unused;
  assign unused = &{1'b0, write_i};
endmodule
