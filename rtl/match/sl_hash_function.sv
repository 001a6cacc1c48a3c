// SPDX-License-Identifier: Apache-2.0
// Keyed hash of a key to one slot index per way; one key per cycle. Two rounds, each a seeded quadratic layer (one 4-input LUT per
// bit, a bijection) and a sparse XOR matrix: KeyBits -> 64 -> the bits of all indices. The matrices are fixed, the seed is not:
// without the seed nobody can tell which keys share slots, because the difference of two keys is multiplied by seed bits before the
// first matrix. `models/exact.py` computes the same function. A purely linear hash would leave whole halves of a way unused for
// counting keys; the second layer prevents that.
module sl_hash_function #(
  parameter int unsigned KeyBits = 104,   // at least 3
  parameter int unsigned Slots   = 1024,  // slots per way, at least 2; indices are below it
  parameter int unsigned Ways    = 4,     // indices per key, 1 to 8
  localparam int unsigned IndexBits = $clog2(Slots)
) (
  input  logic                           clk_i,
  input  logic                           valid_i,
  input  logic [KeyBits-1:0]             key_i,
  input  logic [63:0]                    seed_i,   // changes only while no key is in flight
  output logic [Ways-1:0][IndexBits-1:0] index_o   // 3 cycles after valid_i, 4 if Slots is no power of two; stable
);
  localparam int unsigned Mid = 64;  // bits between the rounds

  // Slots = Odd * 2^LowBits. The low bits of an index are hash bits, the rest is a hash of HighBits scaled to 0..Odd-1.
  function automatic int unsigned trailing_zeros(int unsigned number);
    int unsigned count = 0;
    for (int unsigned bit_index = 0; bit_index < 31; bit_index++) begin
      if (number % (2 ** (bit_index + 1)) == 0) count = bit_index + 1;
    end
    return count;
  endfunction

  localparam int unsigned LowBits  = trailing_zeros(Slots);
  localparam int unsigned Odd      = Slots >> LowBits;
  localparam int unsigned HighBits = Odd == 1 ? 0 : $clog2(Odd) + 8;
  localparam int unsigned HashBits = LowBits + HighBits;

  // 32-bit finalizer of MurmurHash3, used to generate the matrices.
  function automatic logic [31:0] mix(int unsigned number);
    logic [31:0] x = number + 32'h9e3779b9;
    x = (x ^ (x >> 16)) * 32'h85ebca6b;
    x = (x ^ (x >> 13)) * 32'hc2b2ae35;
    return x ^ (x >> 16);
  endfunction

  // Row `row` of the first matrix: each key bit is in exactly one row of each group of 8 rows.
  function automatic logic [KeyBits-1:0] first_row(int unsigned row);
    for (int unsigned i = 0; i < KeyBits; i++) begin
      first_row[i] = (mix(8 * i + row / 8) & 32'd7) == row % 8;
    end
  endfunction

  // Row `row` of the second matrix: one bit of each four.
  function automatic logic [Mid-1:0] second_row(int unsigned row);
    second_row = '0;
    for (int unsigned group = 0; group < Mid / 4; group++) begin
      second_row[4 * group + (mix(32'h10000 + 16 * row + group) & 32'd3)] = 1'b1;
    end
  endfunction

  function automatic logic [KeyBits-1:0] first_layer(logic [KeyBits-1:0] x, logic [63:0] seed);
    for (int unsigned i = 0; i < KeyBits; i++) begin
      first_layer[i] = x[i] ^ ((i + 1 < KeyBits ? x[i + 1] : 1'b1) ^ seed[i % 64])
                              & (i + 2 < KeyBits ? x[i + 2] : 1'b1);
    end
  endfunction

  function automatic logic [Mid-1:0] second_layer(logic [Mid-1:0] x, logic [63:0] seed);
    for (int unsigned i = 0; i < Mid; i++) begin
      second_layer[i] = x[i] ^ ((i + 1 < Mid ? x[i + 1] : 1'b1) ^ seed[(7 * i + 3) % 64])
                               & (i + 2 < Mid ? x[i + 2] : 1'b1);
    end
  endfunction

  logic [KeyBits-1:0]             layer_q;
  logic [Mid-1:0]                 mid_q;  // behind the second layer, so that as much logic is in front of it as behind
  logic [Ways-1:0][HashBits-1:0]  hash_q;
  logic [1:0]                     valid_q;
  logic [Mid-1:0]                 first_sum;
  logic [Ways*HashBits-1:0]       second_sum;

  for (genvar row = 0; row < Mid; row++) begin : gen_first
    localparam logic [KeyBits-1:0] Row = first_row(row);
    assign first_sum[row] = ^(layer_q & Row);
  end
  for (genvar row = 0; row < Ways * HashBits; row++) begin : gen_second
    localparam logic [Mid-1:0] Row = second_row(row);
    assign second_sum[row] = ^(mid_q & Row);
  end

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[0], valid_i};
    if (valid_i) layer_q <= first_layer(key_i, seed_i);
    if (valid_q[0]) mid_q <= second_layer(first_sum, seed_i);
    if (valid_q[1]) hash_q <= second_sum;
  end

  if (Odd == 1) begin : gen_power_of_two
    assign index_o = hash_q;
  end else begin : gen_scaled
    localparam int unsigned OddBits = IndexBits - LowBits;
    logic valid_last_q;
    always_ff @(posedge clk_i) begin
      valid_last_q <= valid_q[1];
      if (valid_last_q) begin
        for (int unsigned way = 0; way < Ways; way++) begin
          index_o[way] <= (IndexBits'(OddBits'(
              ((HighBits + OddBits)'(hash_q[way] >> LowBits) * (HighBits + OddBits)'(Odd)) >> HighBits)) << LowBits)
              | IndexBits'(hash_q[way] & HashBits'((1 << LowBits) - 1));
        end
      end
    end
  end
endmodule
