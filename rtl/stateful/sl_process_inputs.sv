// SPDX-License-Identifier: Apache-2.0
// Computes the inputs of a program of the process block from a packet and from global and table state (`process_input_t`), before the
// state of the flow is needed. A packet a cycle, PROCESS_INPUT_LATENCY cycles, never stalls.
//
// cycle 1: the instruction of the version; 2: a half word of each eight; 3: two half words, or shared state; 4: rotation; 5: the second
// operand; 6: the results of the ALU; 7: the one that its carry chooses.
module sl_process_inputs
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Inputs = PROCESS_INPUTS  // 1 to 8
) (
  input  logic                    clk_i,
  input  logic                    rst_i,            // synchronous, active high
  input  logic                    write_valid_i,
  input  process_write_t          write_i,
  input  logic                    valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // not all of the packet
  input  pipeline_phv_t           phv_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [31:0]             tick_i,           // microseconds
  output logic                    valid_o,
  output logic [Inputs-1:0][31:0] inputs_o
);
  localparam int unsigned Halves  = PROCESS_SOURCE_TICK + 2;  // those that are not always 0
  localparam int unsigned Last    = PROCESS_INPUT_LATENCY;
  localparam int unsigned Address = $clog2(PROCESS_SHARED);

  logic [Last:0]             valid;
  logic                      version, write_shared;
  logic [63:0][15:0]         halves_d, halves_q;
  logic [31:0][15:0]         even, odd;
  logic [Inputs-1:0][31:0]   source;  // operand a

  assign valid[0] = valid_i;
  assign valid_o  = valid[Last];
  assign version  = phv_i.parsed.version;
  always_ff @(posedge clk_i) valid[Last:1] <= rst_i ? '0 : valid[Last-1:0];

  always_comb begin
    pipeline_sources_t sources;
    sources  = sources_of(phv_i.parsed);
    halves_d = '0;
    halves_d[UNIT_SOURCES-1:0]           = sources;
    halves_d[PROCESS_SOURCE_TICK+1 -: 2] = {tick_i[15:0], tick_i[31:16]};
    for (int n = 0; n < 32; n++) {odd[n], even[n]} = {halves_q[2*n+1], halves_q[2*n]};
  end
  always_ff @(posedge clk_i) if (valid_i) halves_q <= halves_d;

  assign write_shared = write_valid_i && write_i.memory == PROCESS_MEMORY_SHARED && 32'(write_i.address) < PROCESS_SHARED;

  for (genvar n = 0; n < Inputs; n++) begin : gen_input
    process_input_t           read, one_q, two_q, three_q, four_q;
    process_alu_t             alu_q;
    logic [63:0]              shared;
    logic [31:0]              shared_q, word_q, second;
    logic [5:0]               even_number;
    logic [3:0][15:0]         even_q, odd_q;
    logic [1:0]               even_row_q;
    logic [31:0]              fetched_q, x_q, y_q, on_carry, on_none, on_carry_q, on_none_q;
    logic                     carry, carry_q;

    sl_ram_lut #(.Width($bits(process_input_t)), .Depth(2)) u_instructions (
      .clk_i, .write_valid_i(write_valid_i && write_i.memory == PROCESS_MEMORY_INPUT && write_i.address[9:0] == n),
      .write_address_i(write_i.address[10]), .write_data_i(write_i.data[$bits(process_input_t)-1:0]),
      .read_address_i(version), .read_data_o(read)
    );
    sl_ram_lut #(.Width(64), .Depth(PROCESS_SHARED)) u_shared (
      .clk_i, .write_valid_i(write_shared), .write_address_i(write_i.address[Address-1:0]), .write_data_i(write_i.data[63:0]),
      .read_address_i(one_q.source[Address:1]), .read_data_o(shared)
    );
    assign even_number = 6'((one_q.source[5:0] + 7'd1) >> 1);
    assign second      = four_q.neighbour ? source[(n+Inputs-1)%Inputs] : four_q.immediate;
    assign source[n]   = fetched_q;

    always_ff @(posedge clk_i) begin
      if (valid[0]) one_q <= read;
      if (valid[1]) begin
        two_q      <= one_q;
        shared_q   <= one_q.source[5:0] >= 6'(2 * PROCESS_SHARED) ? '0 : one_q.source[0] ? shared[31:0] : shared[63:32];
        even_row_q <= even_number[4:3];
        for (int row = 0; row < 4; row++) begin
          even_q[row] <= even_number[5] ? '0 : even[{2'(row), even_number[2:0]}];
          odd_q[row]  <= odd[{2'(row), one_q.source[3:1]}];
        end
      end
      if (valid[2]) begin
        three_q <= two_q;
        word_q  <= two_q.source[6] ? shared_q
                 : two_q.source[0] ? {odd_q[two_q.source[5:4]], even_q[even_row_q]}
                 : {even_q[even_row_q], odd_q[two_q.source[5:4]]};
      end
      if (valid[3]) begin
        four_q    <= three_q;
        fetched_q <= rotated(word_q, three_q.rotate) & mask_of(three_q.source_lanes);
      end
      if (valid[4]) begin
        alu_q  <= alu_of(four_q.kind, four_q.lanes, four_q.bits);
        x_q    <= prepared_a(four_q.kind, four_q.lanes, fetched_q);
        y_q    <= prepared_b(four_q.kind, four_q.lanes, second);
      end
      if (valid[5]) {carry_q, on_carry_q, on_none_q} <= {carry, on_carry, on_none};
      if (valid[6]) inputs_o[n] <= carry_q ? on_carry_q : on_none_q;
    end

    sl_process_alu u_alu (
      .control_i(alu_q), .x_i(x_q), .y_i(y_q), .old_i('0), .carry_o(carry), .on_carry_o(on_carry), .on_none_o(on_none)
    );
    logic unused;
    assign unused = &{1'b0, two_q, three_q, four_q};
  end

  logic unused;
  assign unused = &{1'b0, halves_q[63:Halves], write_i};
endmodule
