// SPDX-License-Identifier: Apache-2.0
// The memory of a state array in a pipeline: block RAM whose reads see every earlier write, including writes in flight, so that a
// read-modify-write of the same word can follow in every cycle (ClickNP 4.2.1, "delayed write", over all stages in flight).
//
// An iteration requests its read two stages before the data is needed; it writes in the stage of the data, or n stages later. The
// data includes the writes of all earlier iterations except the n directly ahead, and not its own write. Addresses of Entries or
// more read 0 and write nothing. After reset the memory fills itself with `reset_data_i`, one word per cycle, and is then ready; no
// access may come before.
module sl_forward_ram #(
  parameter int unsigned Width   = 32,    // bits per word
  parameter int unsigned Entries = 1024,  // words, at least 2
  parameter int unsigned IndexBits = $clog2(Entries),  // address width; may differ from what Entries needs
  localparam int unsigned AddressBits = $clog2(Entries),
  localparam int unsigned CompareBits = (IndexBits > AddressBits ? IndexBits : AddressBits) + 1
) (
  input  logic                   clk_i,
  input  logic                   rst_i,            // synchronous, active high
  output logic                   ready_o,          // the reset words are written
  output logic [AddressBits-1:0] reset_address_o,  // before `ready_o`: address whose reset word is written in this cycle
  input  logic [Width-1:0]       reset_data_i,
  input  logic                   read_valid_i,     // stage n
  input  logic [IndexBits-1:0]   read_index_i,     // stage n
  output logic [Width-1:0]       read_data_o,      // stage n + 2
  input  logic                   write_valid_i,    // stage n + 2
  input  logic [IndexBits-1:0]   write_index_i,
  input  logic [Width-1:0]       write_data_i
);
  logic                   write, write_q, inside_q, reset_done_q;
  logic [AddressBits-1:0] write_address, write_address_q, read_address, read_address_q, reset_q;
  logic [Width-1:0]       write_data_q, write_data_q2, ram_q;

  function automatic logic is_inside(logic [IndexBits-1:0] index);
    return CompareBits'(index) < CompareBits'(Entries);
  endfunction

  assign ready_o         = reset_done_q;
  assign reset_address_o = reset_q;
  assign read_address    = AddressBits'(read_index_i);
  assign write_address   = AddressBits'(write_index_i);
  assign write           = write_valid_i && is_inside(write_index_i);

  sl_ram_block #(.Width(Width), .Depth(Entries), .Latency(1)) u_ram (
    .clk_i,
    .write_valid_i(write_q), .write_address_i(write_address_q), .write_data_i(write_data_q),
    .read_valid_i(read_valid_i && is_inside(read_index_i)),
    .read_address_i(read_address),
    .read_data_o(ram_q)
  );

  // The three writes that a read cannot find in the RAM, the newest last: the one that is written into the RAM in the read's cycle,
  // the one issued in that cycle, the one issued in the next. The data of a write goes to one register only, and is chosen from there:
  // it is known late, as the last of what an iteration computes.
  logic             first_q, second_q, first_or_second_q, third_q;
  logic [Width-1:0] word_q, early_q;

  assign read_data_o = third_q ? write_data_q : first_or_second_q ? early_q : word_q;

  always_ff @(posedge clk_i) begin
    write_q         <= write || !reset_done_q;
    write_address_q <= reset_done_q ? write_address : reset_q;
    write_data_q    <= reset_done_q ? write_data_i : reset_data_i;
    write_data_q2   <= write_data_q;
    // stage n
    inside_q       <= is_inside(read_index_i);
    read_address_q <= read_address;
    first_q        <= write_q && write_address_q == read_address && is_inside(read_index_i);
    second_q       <= write && write_address == read_address && is_inside(read_index_i);
    // stage n + 1
    first_or_second_q <= first_q || second_q;
    third_q           <= write && write_address == read_address_q && inside_q;
    early_q           <= second_q ? write_data_q : write_data_q2;
    word_q            <= inside_q ? ram_q : '0;
    if (!reset_done_q) begin
      reset_q      <= reset_q + 1'b1;
      reset_done_q <= reset_q == AddressBits'(Entries - 1);
    end
    if (rst_i) begin
      reset_q      <= '0;
      reset_done_q <= 1'b0;
      write_q      <= 1'b0;
    end
  end
endmodule
