// SPDX-License-Identifier: Apache-2.0
// Runs records through a process block that reads and replaces the state of their flow: each record sees the state that all earlier
// records of its flow left, as if one record were finished before the next began. State is in block RAM, cleared after reset; until
// then nothing enters.
//
// The process block is outside: a pipeline of Latency cycles that never stalls. Which records wait is the choice of sl_schedule_core.
module sl_scheduler #(
  parameter int unsigned AddressBits  = 12,  // of the state of a flow
  parameter int unsigned PayloadWidth = 64,  // opaque bits of a record
  parameter int unsigned StateWidth   = 64,
  parameter int unsigned ResultWidth  = 64,
  parameter int unsigned Latency      = 3,     // cycles from issue to done_state_i and done_result_i, at least 1
  parameter bit          Forward      = 1'b1,  // 1: new state goes from done_state_i to issue_state_o in its cycle; Distance = Latency
                                               // 0: through the RAM only; Distance = Latency + 1
  parameter bit          Turns        = 1'b0,
  parameter int unsigned Depth        = 8,     // records in the issue queue, or in each queue of Turns
  parameter int unsigned TagBits      = 8,     // 1 to AddressBits; scoreboard of 2^TagBits flip-flops, or 2^TagBits queues
  parameter int unsigned Window       = 32,    // a power of two: results that can wait
  parameter bit          Reorder      = 1'b1,  // 1: results in the order of arrival (Window: from entry on); 0: in the order of issue
  parameter bit          Keeps        = 1'b0,  // 1: only records whose payload has its highest bit set leave a new state
  parameter int unsigned Ahead        = 0,     // cycles from ahead_valid_o to issue_valid_o, 0 to 3
  localparam int unsigned RecordWidth = AddressBits + PayloadWidth
) (
  input  logic                   clk_i,
  input  logic                   rst_i,          // synchronous, active high
  input  logic [RecordWidth-1:0] in_data_i,      // {address, payload}
  input  logic                   in_valid_i,
  output logic                   in_ready_o,     // with Turns combinational from in_data_i
  output logic                   ahead_valid_o,  // to the process block: what it may do before the state is there
  output logic [PayloadWidth-1:0] ahead_data_o,  // the payload
  output logic                   issue_valid_o,
  output logic [RecordWidth-1:0] issue_data_o,
  output logic [StateWidth-1:0]  issue_state_o,  // with Forward combinational from done_state_i
  input  logic [StateWidth-1:0]  done_state_i,   // Latency cycles after issue_valid_o
  input  logic [ResultWidth-1:0] done_result_i,  // with done_state_i
  output logic [ResultWidth-1:0] out_data_o,
  output logic                   out_valid_o,
  input  logic                   out_ready_i
);
  logic                   ram_ready, read_valid, forward, write_valid;
  logic [AddressBits-1:0] read_address, write_address, unused_ahead_address, unused_reset_address;
  logic [StateWidth-1:0]  state;

  sl_schedule_core #(
    .AddressBits(AddressBits), .PayloadWidth(PayloadWidth), .ResultWidth(ResultWidth), .Latency(Latency), .Forward(Forward),
    .Turns(Turns), .Depth(Depth), .TagBits(TagBits), .Window(Window), .Reorder(Reorder), .Keeps(Keeps), .Ahead(Ahead)
  ) u_core (
    .clk_i, .rst_i, .in_data_i, .in_mode_i('0), .in_valid_i, .in_ready_o, .ram_ready_i(ram_ready), .read_valid_o(read_valid),
    .read_address_o(read_address), .ahead_valid_o, .ahead_data_o({unused_ahead_address, ahead_data_o}), .issue_valid_o, .issue_data_o,
    .forward_o(forward), .write_valid_o(write_valid), .write_address_o(write_address), .done_result_i, .out_data_o, .out_valid_o,
    .out_ready_i
  );
  sl_forward_ram #(.Width(StateWidth), .Entries(2 ** AddressBits)) u_states (
    .clk_i, .rst_i, .ready_o(ram_ready), .reset_address_o(unused_reset_address), .reset_data_i('0),
    .read_valid_i(read_valid), .read_index_i(read_address), .read_data_o(state),
    .write_valid_i(write_valid), .write_index_i(write_address), .write_data_i(done_state_i)
  );
  assign issue_state_o = forward ? done_state_i : state;
endmodule
