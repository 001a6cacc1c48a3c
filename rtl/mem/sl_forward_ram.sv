// SPDX-License-Identifier: Apache-2.0
// The memory of a state array in a pipeline: block RAM whose reads see every earlier write, including writes in flight, so that a
// read-modify-write of the same word can follow in every cycle (ClickNP 4.2.1, "delayed write", over all stages in flight).
//
// An iteration requests its read two stages before the data is needed, one more with several Copies (a wide or deep memory is many
// block RAMs, and one net would reach all of them) and one more with a Register. LAST: the data comes out of it, which leaves more
// of the cycle to a long update. FAR: it is in front of the choice of the newest write, half-way from blocks that are far away.
//
// The iteration writes in the stage of the data, or n stages later. The data includes the writes of all earlier iterations except the
// n directly ahead, and not its own write. An address that is known a cycle before the write (EarlyIndex) is compared then with those
// of the reads: whether something is written is late, and has one gate on its way to the choice of every bit. Addresses of Entries or more read 0 and write nothing. After reset the memory fills itself
// with `reset_data_i`, one word per cycle, and is then ready; no access may come before.
module sl_forward_ram #(
  parameter int unsigned Width   = 32,    // bits per word
  parameter int unsigned Entries = 1024,  // words, at least 2
  parameter int unsigned IndexBits = $clog2(Entries),  // address width; may differ from what Entries needs
  parameter int unsigned Copies  = 1,     // of the registers of an address, each for a part of the word; at most Width
  parameter int unsigned Register = 0,    // 0: no stage more; 1: LAST; 2: FAR
  parameter bit          EarlyIndex = 0,  // `write_index_i` comes a cycle before the other two of a write
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
  output logic [Width-1:0]       read_data_o,      // stage n + 2, n + 3 or n + 4
  input  logic                   write_valid_i,    // the same stage
  input  logic [IndexBits-1:0]   write_index_i,    // a cycle earlier with EarlyIndex
  input  logic [Width-1:0]       write_data_i
);
  localparam int unsigned LAST     = 1;
  localparam bit          Spread   = Copies > 1;
  localparam int unsigned PartBits = (Width + Copies - 1) / Copies;

  logic                   write, write_q, write_q2, read_valid_q, inside_q, reset_done_q;
  logic [IndexBits-1:0]   read_index, read_index_q;
  logic                   writes_inside, same_third, same_newest;
  logic [AddressBits-1:0] write_address, write_address_q, write_address_q2, read_address, read_address_q, reset_q;
  logic [Width-1:0]       write_data_q, write_data_q2, write_data_q3, ram_q;

  function automatic logic is_inside(logic [IndexBits-1:0] index);
    return CompareBits'(index) < CompareBits'(Entries);
  endfunction

  assign ready_o         = reset_done_q;
  assign reset_address_o = reset_q;
  assign read_index      = Spread ? read_index_q : read_index_i;
  assign read_address    = AddressBits'(read_index);
  assign write           = write_valid_i && writes_inside;

  // Whether what may be written has the address of the read in the stage of the RAM's word (third), and in the one behind (newest).
  if (EarlyIndex) begin : gen_early
    logic [AddressBits-1:0] next_address_q;
    logic                   writes_inside_q, same_third_q, same_newest_q;
    always_ff @(posedge clk_i) begin
      next_address_q  <= AddressBits'(write_index_i);
      writes_inside_q <= is_inside(write_index_i);
      same_third_q    <= AddressBits'(write_index_i) == read_address && is_inside(read_index);
      same_newest_q   <= AddressBits'(write_index_i) == read_address_q && inside_q;
    end
    assign write_address = next_address_q;
    assign {writes_inside, same_third, same_newest} = {writes_inside_q, same_third_q, same_newest_q};
  end else begin : gen_late
    logic                   inside_q2;
    logic [AddressBits-1:0] read_address_q2;
    always_ff @(posedge clk_i) begin
      inside_q2       <= inside_q;
      read_address_q2 <= read_address_q;
    end
    assign write_address = AddressBits'(write_index_i);
    assign writes_inside = is_inside(write_index_i);
    assign same_third    = write_address == read_address_q && inside_q;
    assign same_newest   = write_address == read_address_q2 && inside_q2;
  end

  for (genvar part = 0; part < Copies; part++) begin : gen_part
    localparam int unsigned Low  = part * PartBits;
    localparam int unsigned Bits = part == Copies - 1 ? Width - Low : PartBits;

    logic                   part_write;
    logic [AddressBits-1:0] part_write_address, part_read_address;
    logic [Bits-1:0]        part_write_data;

    if (Spread) begin : gen_copies
      sl_copy #(.Width(1 + AddressBits + Bits)) u_write (
        .clk_i, .enable_i(1'b1), .data_i({write_q, write_address_q, write_data_q[Low+:Bits]}),
        .data_o({part_write, part_write_address, part_write_data})
      );
      sl_copy #(.Width(AddressBits)) u_read (
        .clk_i, .enable_i(1'b1), .data_i(AddressBits'(read_index_i)), .data_o(part_read_address)
      );
    end else begin : gen_one
      assign part_write         = write_q;
      assign part_write_address = write_address_q;
      assign part_write_data    = write_data_q;
      assign part_read_address  = read_address;
    end

    sl_ram_block #(.Width(Bits), .Depth(Entries), .Latency(1)) u_ram (
      .clk_i, .write_valid_i(part_write), .write_address_i(part_write_address), .write_data_i(part_write_data),
      .read_valid_i((Spread ? read_valid_q : read_valid_i) && is_inside(read_index)), .read_address_i(part_read_address),
      .read_data_o(ram_q[Low+:Bits])
    );
  end

  // The writes that a read cannot find in the RAM, the newest last: with several copies the one that is written into the RAM in the
  // read's cycle (0), the one issued in the cycle before it (1), in that cycle (2), and in the next (3). The data of a write goes to one
  // register, and with LAST to that of the data read: it is known late, as the last of what an iteration computes.
  logic [2:0]       hit_q;
  logic             third_q;
  logic [Width-1:0] word_q, early_q, data;  // one of the first two is 0

  assign data = third_q ? write_data_q : early_q | word_q;

  if (Register == 0) begin : gen_wires
    logic unused;
    assign read_data_o = data;
    assign unused      = &{1'b0, same_newest};
  end else begin : gen_register
    logic             newest;
    logic [Width-1:0] data_q;

    assign newest = write && same_newest;
    always_ff @(posedge clk_i) data_q <= Register == LAST && newest ? write_data_i : data;
    if (Register == LAST) begin : gen_last
      assign read_data_o = data_q;
    end else begin : gen_far
      logic newest_q;
      always_ff @(posedge clk_i) newest_q <= newest;
      assign read_data_o = newest_q ? write_data_q : data_q;
    end
  end

  // Memories with the same data (ways) share no register: each has its own near its blocks.
  sl_copy #(.Width(Width)) u_write_data (
    .clk_i, .enable_i(1'b1), .data_i(reset_done_q ? write_data_i : reset_data_i), .data_o(write_data_q)
  );

  always_ff @(posedge clk_i) begin
    write_q          <= write || !reset_done_q;
    write_q2         <= write_q;
    write_address_q  <= reset_done_q ? write_address : reset_q;
    write_address_q2 <= write_address_q;
    write_data_q2    <= write_data_q;
    write_data_q3    <= write_data_q2;
    read_valid_q     <= read_valid_i;
    read_index_q     <= read_index_i;
    // the stage before the RAM's word
    inside_q       <= is_inside(read_index);
    read_address_q <= read_address;
    hit_q          <= {write && write_address == read_address, write_q && write_address_q == read_address,
                       Spread && write_q2 && write_address_q2 == read_address} & {3{is_inside(read_index)}};
    // the stage of the RAM's word
    third_q <= write && same_third;
    // Masks: a reset would bind flip-flops that are best near different blocks to one tile.
    early_q <= ({Width{hit_q[2]}} & write_data_q) | ({Width{hit_q[2:1] == 2'b01}} & write_data_q2)
      | ({Width{hit_q == 3'b001}} & write_data_q3);
    word_q  <= {Width{inside_q && hit_q == '0}} & ram_q;
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
