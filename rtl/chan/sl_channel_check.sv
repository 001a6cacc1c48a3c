// SPDX-License-Identifier: Apache-2.0
// Assertions of the handshake protocol of a channel: once valid, valid and data hold until the word has moved; valid and ready are
// never unknown after reset. Costs nothing in synthesis and nothing in a simulator without assertions. In a formal proof, `Assume`
// turns the protocol into an assumption about the environment.
module sl_channel_check #(
  parameter int unsigned Width  = 32,    // bits per word, at least 1
  parameter bit          Assume = 1'b0   // formal only: 1 assumes the protocol instead of asserting it
) (
  input logic             clk_i,
  input logic             rst_i,    // synchronous, active high: forgets the waiting word
  input logic [Width-1:0] data_i,
  input logic             valid_i,
  input logic             ready_i
);
`ifndef SYNTHESIS
  logic             waiting_q;
  logic [Width-1:0] data_q;

  initial waiting_q = 1'b0;

  always_ff @(posedge clk_i) begin
    waiting_q <= valid_i && !ready_i && !rst_i;
    if (valid_i && !ready_i) data_q <= data_i;
  end

  if (Assume) begin : gen_assume
    always_ff @(posedge clk_i) begin
      if (waiting_q && !rst_i) begin
        m_valid_holds : assume (valid_i);
        m_data_holds  : assume (data_i == data_q);
      end
    end
  end else begin : gen_assert
    always_ff @(posedge clk_i) begin
      if (waiting_q && !rst_i) begin
        a_valid_holds : assert (valid_i);
        a_data_holds  : assert (data_i == data_q);
      end
    end
  end
`else
  logic unused;
  assign unused = &{1'b0, clk_i, rst_i, data_i, valid_i, ready_i, Assume};
`endif
endmodule
