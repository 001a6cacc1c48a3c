// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_forward_ram, for all runs (induction): for one freely chosen word, every read returns the value of the
// latest earlier write (or of the reset), for any mix of reads and writes; reads out of range return 0.
module fv_forward_ram #(
  parameter int unsigned Width   = 2,
  parameter int unsigned Entries = 3,
  parameter int unsigned Copies  = 1,
  parameter int unsigned Register = 0,
  parameter bit          EarlyIndex = 0
) (
  input logic             clk_i,
  input logic             read_valid_i,
  input logic [1:0]       read_index_i,
  input logic             write_valid_i,
  input logic [1:0]       write_index_i,
  input logic [Width-1:0] write_data_i,
  input logic [1:0]       watched_i
);
  localparam int unsigned AddressBits = $clog2(Entries);

  logic             rst_q = 1'b1;
  logic [1:0]       watched_q;
  logic             ready;
  logic [1:0]       reset_address;
  logic [Width-1:0] read_data;

  sl_forward_ram #(.Width(Width), .Entries(Entries), .IndexBits(2), .Copies(Copies), .Register(Register), .EarlyIndex(EarlyIndex)) u_ram (
    .clk_i, .rst_i(rst_q), .ready_o(ready), .reset_address_o(reset_address), .reset_data_i(Width'(~reset_address)),
    .read_valid_i, .read_index_i, .read_data_o(read_data), .write_valid_i, .write_index_i, .write_data_i
  );

  // The address of the write in this cycle.
  logic [1:0] write_index, write_index_q;
  always_ff @(posedge clk_i) write_index_q <= write_index_i;
  assign write_index = EarlyIndex ? write_index_q : write_index_i;

  logic [Width-1:0] word_q;                                   // expected value of the watched word
  logic             asked_q, beyond_q;                        // a read of it, or out of range, was requested
  logic             read_q, read_q2, outside_q, outside_q2;   // and is in the two stages of the RAM
  logic             read_q3, outside_q3;                      // and in the register behind
  logic             asked, beyond, copied, registered;
  logic [Width-1:0] memory_word;

  assign asked  = read_valid_i && read_index_i == watched_q;
  assign beyond = read_valid_i && read_index_i >= 2'(Entries);
  if (Copies == 1) begin : gen_one
    assign memory_word = u_ram.gen_part[0].u_ram.memory[watched_q];
    assign copied      = 1'b1;
  end else begin : gen_two
    assign memory_word = {u_ram.gen_part[1].u_ram.memory[watched_q], u_ram.gen_part[0].u_ram.memory[watched_q]};
    assign copied      = {u_ram.gen_part[1].part_write_data, u_ram.gen_part[0].part_write_data} == u_ram.write_data_q2
      && {u_ram.gen_part[0].part_write, u_ram.gen_part[0].part_write_address} == {u_ram.write_q2, u_ram.write_address_q2}
      && {u_ram.gen_part[1].part_write, u_ram.gen_part[1].part_write_address} == {u_ram.write_q2, u_ram.write_address_q2}
      && u_ram.gen_part[0].part_read_address == u_ram.read_index_q && u_ram.gen_part[1].part_read_address == u_ram.read_index_q;
  end

  // What is known of the reads in the two stages of the RAM and behind it, as far as it is compared with the address of a write.
  if (EarlyIndex) begin : gen_early
    logic same;
    assign same       = AddressBits'(write_index_q) == AddressBits'(watched_q);
    assign registered = u_ram.write_address == AddressBits'(write_index_q) && u_ram.writes_inside == (write_index_q < 2'(Entries))
      && (!read_q || u_ram.same_third == same) && (!outside_q || !u_ram.same_third)
      && (!read_q2 || u_ram.same_newest == same) && (!outside_q2 || !u_ram.same_newest);
  end else begin : gen_late
    assign registered = (!read_q2 || (u_ram.gen_late.inside_q2 && u_ram.gen_late.read_address_q2 == watched_q))
      && (!outside_q2 || !u_ram.gen_late.inside_q2);
  end

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (rst_q) begin
      watched_q <= watched_i;
      word_q    <= Width'(~watched_i);
      asked_q   <= 1'b0;
      beyond_q  <= 1'b0;
      read_q    <= 1'b0;
      read_q2   <= 1'b0;
      outside_q  <= 1'b0;
      outside_q2 <= 1'b0;
      read_q3    <= 1'b0;
      outside_q3 <= 1'b0;
    end else begin
      asked_q    <= asked;
      beyond_q   <= beyond;
      read_q     <= Copies == 1 ? asked : asked_q;
      outside_q  <= Copies == 1 ? beyond : beyond_q;
      read_q2    <= read_q;
      outside_q2 <= outside_q;
      read_q3    <= read_q2;
      outside_q3 <= outside_q2;
      if (write_valid_i && write_index == watched_q) word_q <= write_data_i;
    end
    m_watches_a_word : assume (rst_q ? watched_i < 2'(Entries) : 1'b1);
    m_waits_for_ready : assume (rst_q || ready || !(read_valid_i || write_valid_i));
    if (!rst_q) begin
      if (Register != 0 ? read_q3 : read_q2) a_reads_the_latest_write : assert (read_data == word_q);
      if (Register != 0 ? outside_q3 : outside_q2) a_reads_zero_outside : assert (read_data == '0);
      c_reads_what_was_just_written : cover ((Register != 0 ? read_q3 : read_q2) && word_q != Width'(~watched_q) && read_data == word_q);
      // For the induction: the location of the latest word.
      i_watched : assert (watched_q < 2'(Entries));
      if (!ready) i_no_reads_yet : assert (!asked_q && !beyond_q && !read_q && !read_q2 && !read_q3
                                              && !outside_q && !outside_q2 && !outside_q3);
      if (!ready) i_sweeps : assert (u_ram.reset_q < 2'(Entries) && word_q == Width'(~watched_q));
      if (u_ram.write_q) i_writes_inside : assert (u_ram.write_address_q < 2'(Entries));
      if (ready || u_ram.reset_q > watched_q) begin
        i_ram_or_register : assert (
          (u_ram.write_q && u_ram.write_address_q == watched_q ? u_ram.write_data_q
            : Copies > 1 && u_ram.write_q2 && u_ram.write_address_q2 == watched_q ? u_ram.write_data_q2 : memory_word) == word_q
        );
      end
      i_copies : assert (copied);
      if (ready) begin
        if (Copies > 1 && asked_q) i_asks : assert (u_ram.read_valid_q && u_ram.read_index_q == watched_q);
        if (Copies > 1 && beyond_q) i_asks_beyond : assert (u_ram.read_index_q >= 2'(Entries));
        if (read_q) begin
          i_one_stage : assert (u_ram.read_address_q == watched_q && u_ram.inside_q);
          i_one_stage_word : assert (
            (u_ram.hit_q[2] ? u_ram.write_data_q : u_ram.hit_q[1] ? u_ram.write_data_q2 : u_ram.hit_q[0] ? u_ram.write_data_q3
              : u_ram.ram_q) == word_q
          );
        end
        if (outside_q) i_outside : assert (!u_ram.inside_q && u_ram.hit_q == '0);
        if (read_q2) i_two_stages : assert (u_ram.data == word_q);
        if (outside_q2) i_outside_too : assert (u_ram.data == '0);
        i_register : assert (registered);
      end
    end
  end
endmodule
