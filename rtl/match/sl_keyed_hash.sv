// SPDX-License-Identifier: Apache-2.0
// `sl_hash_function` under a secret of 128 bits that software sets at run time; one key per cycle. Half of the secret is added to the
// key in front of the first nonlinear layer, the other half is the seed of both layers. What this protects from, and what not:
// docs/design/flow_place.md. Its twin in software: `KeyedHash` in `compiler/pipeline/hash_function.py`.
module sl_keyed_hash #(
  parameter int unsigned KeyBits = 104,   // at least 3
  parameter int unsigned Slots   = 256,   // a power of two, at least 2
  parameter int unsigned Ways    = 1,     // indices per key, 1 to 8
  localparam int unsigned IndexBits = $clog2(Slots)
) (
  input  logic                           clk_i,
  input  logic                           valid_i,
  input  logic [KeyBits-1:0]             key_i,
  input  logic [127:0]                   secret_i,  // changes only while no key is in flight
  output logic [Ways-1:0][IndexBits-1:0] index_o    // 4 cycles after valid_i
);
  logic               valid_q;
  logic [KeyBits-1:0] whitening, whitened_q;

  for (genvar i = 0; i < KeyBits; i++) begin : gen_whitening
    assign whitening[i] = secret_i[64 + (i + 29 * (i / 64)) % 64];
  end

  always_ff @(posedge clk_i) begin
    valid_q <= valid_i;
    if (valid_i) whitened_q <= key_i ^ whitening;
  end

  sl_hash_function #(.KeyBits(KeyBits), .Slots(Slots), .Ways(Ways)) u_hash (
    .clk_i, .valid_i(valid_q), .key_i(whitened_q), .seed_i(secret_i[63:0]), .index_o
  );
endmodule
