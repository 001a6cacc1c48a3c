// SPDX-License-Identifier: Apache-2.0
// FIFO of a channel, one word per cycle, output from registers. Holds exactly `Depth` words. `in_ready_o` depends on registers
// only, so a full FIFO takes its next word in the cycle after one has left. LUT RAM: a word appears 2 cycles after it entered;
// block RAM: 3 cycles (the RAM's own register, then the output register).
module sl_fifo #(
  parameter int unsigned Width = 32,  // bits per word, at least 1
  parameter int unsigned Depth = 16,  // words, at least 2 (block RAM: at least 4 for one word per cycle)
  parameter int unsigned Style = 0,   // 0: LUT RAM, 1: block RAM
  parameter bit          Steady = 1'b0, // LUT RAM of at least 4 words: written in every cycle, so no net reaches all of it
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,       // synchronous, active high
  input  logic [Width-1:0]     in_data_i,
  input  logic                 in_valid_i,
  output logic                 in_ready_o,  // registered: there is room
  output logic [Width-1:0]     out_data_o,  // registered
  output logic                 out_valid_o, // registered
  input  logic                 out_ready_i,
  output logic [CountBits-1:0] count_o      // words inside, 0 to Depth
);
  localparam int unsigned AddressBits = $clog2(Depth);
  localparam logic [AddressBits-1:0] Last = AddressBits'(Depth - 1);

  logic [AddressBits-1:0] write_address_q, read_address_q;
  logic [CountBits-1:0]   stored_q;  // words in the RAM, not yet read
  logic                   stored_any_q;
  logic                   push, pop, fetch, out_free;
  logic                   read_valid_q;  // block RAM: its output register holds a word
  logic                   valid_next, valid_copy, load;

  assign push     = in_valid_i && in_ready_o;
  assign pop      = out_valid_o && out_ready_i;
  assign out_free = !out_valid_o || out_ready_i;

  // The output loads whenever it is free; without a word, it has anything. That reaches every bit, so it is of a copy of
  // `out_valid_o` that may be far from the counters.
  sl_copy #(.Width(1)) u_valid (.clk_i, .enable_i(1'b1), .data_i(valid_next), .data_o(valid_copy));
  assign load = !valid_copy || out_ready_i;
  always_ff @(posedge clk_i) out_valid_o <= valid_next;
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) a_copy_is_equal : assert (valid_copy == out_valid_o);
`endif

  always_ff @(posedge clk_i) begin
    if (push) write_address_q <= (write_address_q == Last) ? '0 : write_address_q + 1'b1;
    if (fetch) read_address_q <= (read_address_q == Last) ? '0 : read_address_q + 1'b1;
    if (push != pop) begin
      count_o    <= push ? count_o + 1'b1 : count_o - 1'b1;
      in_ready_o <= !push || count_o != CountBits'(Depth - 1);
    end
    if (push != fetch) begin
      stored_q     <= push ? stored_q + 1'b1 : stored_q - 1'b1;
      stored_any_q <= push || stored_q != CountBits'(1);
    end
    if (rst_i) begin
      write_address_q <= '0;
      read_address_q  <= '0;
      count_o         <= '0;
      in_ready_o      <= 1'b1;
      stored_q        <= '0;
      stored_any_q    <= 1'b0;
    end
  end

  if (Style == 0) begin : gen_lut
    logic [Width-1:0] read_data;

    // The place behind the last word is free: of Depth words one is in the output register.
    sl_ram_lut #(.Width(Width), .Depth(Depth)) u_ram (
      .clk_i, .write_valid_i(push || Steady), .write_address_i(write_address_q), .write_data_i(in_data_i),
      .read_address_i(read_address_q), .read_data_o(read_data)
    );
    assign fetch = stored_any_q && out_free;
    assign read_valid_q = 1'b0;
    assign valid_next = !rst_i && (out_free ? fetch : out_valid_o);

    always_ff @(posedge clk_i) if (load) out_data_o <= read_data;
  end else begin : gen_block
    logic [Width-1:0] read_data;

    sl_ram_block #(.Width(Width), .Depth(Depth), .Latency(1)) u_ram (
      .clk_i, .write_valid_i(push), .write_address_i(write_address_q), .write_data_i(in_data_i),
      .read_valid_i(fetch), .read_address_i(read_address_q), .read_data_o(read_data)
    );
    assign fetch = stored_any_q && (!read_valid_q || out_free);
    assign valid_next = !rst_i && (out_free ? read_valid_q : out_valid_o);

    always_ff @(posedge clk_i) begin
      if (!read_valid_q || out_free) read_valid_q <= fetch;
      if (load) out_data_o <= read_data;
      if (rst_i) read_valid_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, read_valid_q};

  sl_channel_check #(.Width(Width)) u_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
