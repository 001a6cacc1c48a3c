// SPDX-License-Identifier: Apache-2.0
// One sl_channel_check for each of several channels of equal width, packed as in the ports of a module. In simulation, one is bound
// to every channel that leaves a module (toolchain/channels.py).
module sl_channel_checks #(
  parameter int unsigned DataBits = 32,  // bits of all channels together
  parameter int unsigned Channels = 1    // at least 1; DataBits is a multiple of it
) (
  input logic                clk_i,
  input logic                rst_i,    // synchronous, active high
  input logic [DataBits-1:0] data_i,
  input logic [Channels-1:0] valid_i,
  input logic [Channels-1:0] ready_i
);
  localparam int unsigned Width = DataBits / Channels;

  for (genvar i = 0; i < int'(Channels); i++) begin : gen_channel
    sl_channel_check #(.Width(Width)) u_check (
      .clk_i, .rst_i, .data_i(data_i[i*Width+:Width]), .valid_i(valid_i[i]), .ready_i(ready_i[i])
    );
  end
endmodule
