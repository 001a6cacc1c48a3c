// SPDX-License-Identifier: Apache-2.0
// FIFO that carries a channel from one clock to another, of any frequencies and phases. All signals of the channel cross as one
// word, so they stay aligned. One word per cycle of the slower clock. A word can be read once its write pointer has crossed in gray
// code: 3 to 4 cycles of `out_clk_i` later, one more in block RAM. Nothing is lost: a full FIFO applies back-pressure. Both resets
// come from one source (sl_reset_sync). They act without a clock, so that a side whose clock has stopped forgets its words together
// with the other side. They must last 4 cycles of a running clock and 2 of a clock that restarts, or old words may appear. The
// paths between the clocks need the timing constraints of sl_cdc_fifo.tcl.
module sl_cdc_fifo #(
  parameter int unsigned Width = 32,  // bits per word, at least 1
  parameter int unsigned Depth = 16,  // words, a power of two, at least 4; 16 sustains the rate at any clock ratio
  parameter int unsigned Style = 0    // 0: LUT RAM, 1: block RAM
) (
  input  logic             in_clk_i,
  input  logic             in_rst_i,    // asynchronous, active high; deasserts synchronously to in_clk_i
  input  logic [Width-1:0] in_data_i,
  input  logic             in_valid_i,
  output logic             in_ready_o,  // registered: there is room
  output logic             in_roomy_o,  // registered: at least half of it is free
  input  logic             out_clk_i,
  input  logic             out_rst_i,   // asynchronous, active high; deasserts synchronously to out_clk_i
  output logic [Width-1:0] out_data_o,  // registered
  output logic             out_valid_o, // registered
  input  logic             out_ready_i
);
  localparam int unsigned AddressBits = $clog2(Depth);
  localparam int unsigned PointerBits = AddressBits + 1;  // one more bit, to distinguish full from empty

  function automatic logic [PointerBits-1:0] gray(logic [PointerBits-1:0] binary);
    return binary ^ (binary >> 1);
  endfunction

  function automatic logic [PointerBits-1:0] binary(logic [PointerBits-1:0] code);
    for (int unsigned i = 0; i < PointerBits; i++) binary[i] = ^(code >> i);
  endfunction

  // Full: the write pointer is Depth ahead, which in gray code inverts the two highest bits.
  localparam logic [PointerBits-1:0] Ahead = {2'b11, {(PointerBits - 2){1'b0}}};

  // Write side.
  logic [PointerBits-1:0] write_q, write_next, write_gray_q, read_gray_seen, read_seen_q;
  logic                   push;

  assign push       = in_valid_i && in_ready_o;
  assign write_next = write_q + PointerBits'(push);

  always_ff @(posedge in_clk_i or posedge in_rst_i) begin
    if (in_rst_i) begin
      write_q      <= '0;
      write_gray_q <= '0;
      read_seen_q  <= '0;
      in_ready_o   <= 1'b0;
      in_roomy_o   <= 1'b0;
    end else begin
      write_q      <= write_next;
      write_gray_q <= gray(write_next);
      in_ready_o   <= gray(write_next) != (read_gray_seen ^ Ahead);
      read_seen_q  <= binary(read_gray_seen);
      in_roomy_o   <= write_next - read_seen_q <= PointerBits'(Depth / 2);
    end
  end

  // Read side.
  logic [PointerBits-1:0] read_q, read_gray_q, write_gray_seen;
  logic                   any, fetch, out_free;

  assign any      = read_gray_q != write_gray_seen;
  assign out_free = !out_valid_o || out_ready_i;

  always_ff @(posedge out_clk_i or posedge out_rst_i) begin
    if (out_rst_i) begin
      read_q      <= '0;
      read_gray_q <= '0;
    end else if (fetch) begin
      read_q      <= read_q + 1'b1;
      read_gray_q <= gray(read_q + 1'b1);
    end
  end

  sl_sync #(.Width(PointerBits)) u_write_seen (.clk_i(out_clk_i), .async_i(write_gray_q), .sync_o(write_gray_seen));
  sl_sync #(.Width(PointerBits)) u_read_seen (.clk_i(in_clk_i), .async_i(read_gray_q), .sync_o(read_gray_seen));

  if (Style == 0) begin : gen_lut
    (* ram_style = "distributed", syn_ramstyle = "distributed" *)
    logic [Width-1:0] memory [Depth];

    always_ff @(posedge in_clk_i) begin
      if (push) memory[write_q[AddressBits-1:0]] <= in_data_i;
    end

    assign fetch = any && out_free;

    always_ff @(posedge out_clk_i) begin
      if (fetch) out_data_o <= memory[read_q[AddressBits-1:0]];
    end

    always_ff @(posedge out_clk_i or posedge out_rst_i) begin
      if (out_rst_i) out_valid_o <= 1'b0;
      else if (out_free) out_valid_o <= fetch;
    end
  end else begin : gen_block
    logic [Width-1:0] read_data;
    logic             read_valid_q;  // the RAM's output register holds a word

    sl_ram_block_cdc #(.Width(Width), .Depth(Depth)) u_ram (
      .write_clk_i(in_clk_i), .write_valid_i(push), .write_address_i(write_q[AddressBits-1:0]), .write_data_i(in_data_i),
      .read_clk_i(out_clk_i), .read_valid_i(fetch), .read_address_i(read_q[AddressBits-1:0]), .read_data_o(read_data)
    );

    assign fetch = any && (!read_valid_q || out_free);

    always_ff @(posedge out_clk_i) begin
      if (read_valid_q && out_free) out_data_o <= read_data;
    end

    always_ff @(posedge out_clk_i or posedge out_rst_i) begin
      if (out_rst_i) begin
        read_valid_q <= 1'b0;
        out_valid_o  <= 1'b0;
      end else begin
        if (!read_valid_q || out_free) read_valid_q <= fetch;
        if (out_free) out_valid_o <= read_valid_q;
      end
    end
  end

`ifndef SYNTHESIS
  initial begin
    if (Depth < 4 || Depth != 2 ** AddressBits) $fatal(1, "sl_cdc_fifo: Depth must be a power of two, 4 or more");
  end
`endif

  sl_channel_check #(.Width(Width)) u_check (
    .clk_i(out_clk_i), .rst_i(out_rst_i), .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
