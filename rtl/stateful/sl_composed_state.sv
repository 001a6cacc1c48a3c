// SPDX-License-Identifier: Apache-2.0
// A part of the states of all flows, a word or the label, in block RAM; and the loop by which an update in each cycle finds what the
// update before left: the new part of a packet is the part that the next one finds, a cycle later. Its bits outside of `lanes` stay.
// Beside that the part can be read and written for packets that wait for each other, but not while others are inside.
//
// cycle 0: address; 2: the RAM's word; 3: the part as the update finds it; 4: the part as it leaves it, which is written.
module sl_composed_state #(
  parameter int unsigned AddressBits = 12,
  parameter int unsigned Width       = 32
) (
  input  logic                   clk_i,
  input  logic                   rst_i,          // synchronous, active high
  output logic                   ready_o,        // the RAM is cleared; until then nothing may come
  input  logic [Width-1:0]       lanes_i,        // bits that updates change; constant while packets are inside
  input  logic                   valid_i,        // cycle 0: a packet of a flow
  input  logic [AddressBits-1:0] address_i,
  input  logic                   keeps_i,        // its new part is kept
  input  logic                   fresh_i,        // the part that it finds is 0
  output logic [3:0]             valid_o,        // bit n: a packet is in cycle n
  output logic [Width-1:0]       part_o,         // cycle 3, combinational from new_i: 0 outside of the lanes
  input  logic [Width-1:0]       new_i,          // cycle 4: 0 outside of the lanes
  output logic [Width-1:0]       before_o,       // cycle 4: the whole part as the update found it
  input  logic                   read_valid_i,   // two cycles before word_o
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       word_o,
  input  logic                   write_valid_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i
);
  logic [4:0]                  valid, keeps, fresh;
  logic [4:0][AddressBits-1:0] address;
  logic                        follows_q;  // cycle 3: of the flow of the packet in cycle 4
  logic [Width-1:0]            own_q, rest_q, rest, new_rest_q, written, found;
  logic [AddressBits-1:0]      unused_reset_address;

  assign valid[0]   = valid_i;
  assign keeps[0]   = keeps_i;
  assign fresh[0]   = fresh_i;
  assign address[0] = address_i;
  assign valid_o    = valid[3:0];

  sl_forward_ram #(.Width(Width), .Entries(2 ** AddressBits)) u_states (
    .clk_i, .rst_i, .ready_o, .reset_address_o(unused_reset_address), .reset_data_i('0),
    .read_valid_i(valid[0] || read_valid_i), .read_index_i(valid[0] ? address[0] : read_address_i), .read_data_o(word_o),
    .write_valid_i((valid[4] && keeps[4]) || write_valid_i), .write_index_i(valid[4] ? address[4] : write_address_i),
    .write_data_i(valid[4] ? written : write_data_i)
  );

  // The RAM's word lacks the two packets ahead of it: the first is written in this cycle, the second follows.
  assign found   = fresh[2] ? '0 : valid[4] && keeps[4] && address[4] == address[2] ? written : word_o;
  assign written = new_i | new_rest_q;
  assign part_o  = follows_q ? new_i : own_q;
  assign rest    = follows_q ? new_rest_q : rest_q;

  always_ff @(posedge clk_i) begin
    valid[4:1]   <= rst_i ? '0 : valid[3:0];
    keeps[4:1]   <= keeps[3:0];
    fresh[4:1]   <= fresh[3:0];
    address[4:1] <= address[3:0];
    follows_q    <= valid[3] && keeps[3] && address[3] == address[2] && !fresh[2];
    own_q        <= found & lanes_i;
    rest_q       <= found & ~lanes_i;
    new_rest_q   <= rest;
    before_o     <= part_o | rest;
  end

  logic unused;
  assign unused = &{1'b0, fresh[4], unused_reset_address};
endmodule
