// SPDX-License-Identifier: Apache-2.0
// A scheduler with a process block behind it: an update that depends on the order of records, done after Latency cycles. With
// Composed the updates come with the records. Results give the record and the state that it saw.
module stateful_harness #(
  parameter bit          Composed     = 1'b0,
  parameter int unsigned AddressBits  = 12,
  parameter int unsigned PayloadWidth = 64,
  parameter int unsigned StateWidth   = 32,
  parameter int unsigned ResultWidth  = 96,
  parameter int unsigned Latency      = 3,
  parameter bit          Forward      = 1'b1,
  parameter bit          Turns        = 1'b0,
  parameter int unsigned Depth        = 8,
  parameter int unsigned TagBits      = 8,
  parameter int unsigned Window       = 32,
  parameter bit          Reorder      = 1'b1,
  parameter int unsigned Lag          = 2
) (
  input  logic                    clk_i,
  input  logic                    rst_i,         // synchronous, active high
  input  logic [AddressBits-1:0]  in_address_i,
  input  logic [PayloadWidth-1:0] in_payload_i,
  input  logic [StateWidth:0]     in_add_i,      // of the update, with Composed
  input  logic [StateWidth-1:0]   in_low_i,
  input  logic [StateWidth-1:0]   in_high_i,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  output logic                    issue_valid_o,
  output logic [AddressBits-1:0]  issue_address_o,
  output logic [PayloadWidth-1:0] out_payload_o,
  output logic [StateWidth-1:0]   out_state_o,
  output logic                    out_valid_o,
  input  logic                    out_ready_i
);
  logic [Latency:1][ResultWidth-1:0] result_q;  // of the process block
  logic [Latency:1][StateWidth-1:0]  state_q;
  logic [PayloadWidth-1:0]           payload;
  logic [StateWidth-1:0]             state;

  always_ff @(posedge clk_i) begin
    result_q[1] <= {payload, state};
    state_q[1]  <= {state[StateWidth-6:0], state[StateWidth-1-:5]} + StateWidth'(payload);
    for (int unsigned n = 2; n <= Latency; n++) begin
      result_q[n] <= result_q[n-1];
      state_q[n]  <= state_q[n-1];
    end
  end

  if (Composed) begin : gen_composed
    sl_composed #(
      .AddressBits(AddressBits), .PayloadWidth(PayloadWidth), .StateWidth(StateWidth), .ResultWidth(ResultWidth),
      .Latency(Latency), .Lag(Lag), .Window(Window)
    ) u_scheduler (
      .clk_i, .rst_i, .in_data_i({in_add_i, in_low_i, in_high_i, in_address_i, in_payload_i}), .in_valid_i, .in_ready_o,
      .issue_valid_o, .issue_data_o({issue_address_o, payload}), .issue_state_o(state), .done_result_i(result_q[Latency]),
      .out_data_o({out_payload_o, out_state_o}), .out_valid_o, .out_ready_i
    );
  end else begin : gen_scheduler
    logic unused_update, unused_ahead_valid;
    logic [PayloadWidth-1:0] unused_ahead;
    assign unused_update = &{1'b0, in_add_i, in_low_i, in_high_i};

    sl_scheduler #(
      .AddressBits(AddressBits), .PayloadWidth(PayloadWidth), .StateWidth(StateWidth), .ResultWidth(ResultWidth),
      .Latency(Latency), .Forward(Forward), .Turns(Turns), .Depth(Depth), .TagBits(TagBits), .Window(Window), .Reorder(Reorder)
    ) u_scheduler (
      .clk_i, .rst_i, .in_data_i({in_address_i, in_payload_i}), .in_valid_i, .in_ready_o,
      .ahead_valid_o(unused_ahead_valid), .ahead_data_o(unused_ahead),
      .issue_valid_o, .issue_data_o({issue_address_o, payload}), .issue_state_o(state), .done_state_i(state_q[Latency]),
      .done_result_i(result_q[Latency]), .out_data_o({out_payload_o, out_state_o}), .out_valid_o, .out_ready_i
    );
  end
endmodule
