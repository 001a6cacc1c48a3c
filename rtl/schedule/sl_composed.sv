// SPDX-License-Identifier: Apache-2.0
// Runs records through updates of the state of their flow at one record a cycle, whatever the flows and however long an update takes:
// records never wait for a state, because updates in flight are composed. Each record sees the state that all earlier records of its
// flow left. State is in block RAM, cleared after reset; until then nothing enters.
//
// An update is x -> min(max(x + add, low), high), without overflow. That is a saturating counter; a minimum or maximum (add = 0, one
// limit); a set (low = high). Two of them in a row are a third, and its parameters do not depend on the state:
//
//   add = add1 + add2, low = second(low1), high = second(high1)
//
// A record composes its update with those of the Lag cycles ahead of it whose flow is the same, one a stage, while its state is read.
// The RAM holds the updates of all others. Both the update with and without its own are then applied: to write, and to issue.
//
// The process block is outside: a pipeline of Latency cycles that never stalls. It sees the state before the record's own update.
module sl_composed #(
  parameter int unsigned AddressBits  = 12,  // of the state of a flow
  parameter int unsigned PayloadWidth = 64,  // opaque bits of a record
  parameter int unsigned StateWidth   = 32,  // unsigned
  parameter int unsigned ResultWidth  = 64,
  parameter int unsigned Latency      = 1,   // cycles from issue to done_result_i, at least 1
  parameter int unsigned Lag          = 2,   // cycles from the state that is read to that which is written, at least 2
  parameter int unsigned Window       = 32,  // a power of two: records inside; 2 * Lag + Latency + 8 or more for one a cycle
  localparam int unsigned RecordWidth = AddressBits + PayloadWidth,
  localparam int unsigned UpdateWidth = 3 * StateWidth + 1
) (
  input  logic                               clk_i,
  input  logic                               rst_i,          // synchronous, active high
  input  logic [UpdateWidth+RecordWidth-1:0] in_data_i,      // {add (signed), low, high, address, payload}; high wins over low
  input  logic                               in_valid_i,
  output logic                               in_ready_o,     // registered
  output logic                               issue_valid_o,  // to the process block
  output logic [RecordWidth-1:0]             issue_data_o,
  output logic [StateWidth-1:0]              issue_state_o,
  input  logic [ResultWidth-1:0]             done_result_i,  // Latency cycles after issue_valid_o
  output logic [ResultWidth-1:0]             out_data_o,     // in the order of arrival
  output logic                               out_valid_o,
  input  logic                               out_ready_i
);
  localparam int unsigned Read      = Lag + 1;   // stage in which the state is there
  localparam int unsigned Issue     = Read + 2;  // a sum, a limit
  localparam int unsigned Write     = Read + Lag;
  localparam int unsigned Last      = Write > Issue ? Write : Issue;
  localparam int unsigned AddBits   = StateWidth + 1 + $clog2(Lag + 1);
  localparam int unsigned IdBits    = $clog2(Window);

  typedef struct packed {
    logic signed [AddBits-1:0] add;
    logic [StateWidth-1:0]     low;
    logic [StateWidth-1:0]     high;  // at least low
  } update_t;

  typedef struct packed {
    logic signed [AddBits:0] sum;
    logic [StateWidth-1:0]   low;
    logic [StateWidth-1:0]   high;
  } sum_t;

  function automatic sum_t added(logic [StateWidth-1:0] state, update_t update);
    return '{sum: (AddBits+1)'(signed'({1'b0, state})) + (AddBits+1)'(update.add), low: update.low, high: update.high};
  endfunction

  function automatic logic [StateWidth-1:0] limited(sum_t sum);
    if (sum.sum < (AddBits+1)'(signed'({1'b0, sum.low}))) return sum.low;
    if (sum.sum > (AddBits+1)'(signed'({1'b0, sum.high}))) return sum.high;
    return sum.sum[StateWidth-1:0];
  endfunction

  function automatic update_t composed(update_t first, update_t second);
    return '{add: first.add + second.add, low: limited(added(first.low, second)), high: limited(added(first.high, second))};
  endfunction

  // Records by stage. A stage is a cycle: what is k cycles ahead is k stages further.
  logic    [Last:0]                  valid;
  logic    [Last:0][AddressBits-1:0] address;
  update_t                           own   [2*Lag];
  update_t                           ahead [Read+1];  // what happens before it to the state that is read
  update_t                           whole_q;         // with its own, in stage Read
  logic                              ram_ready, room, enter, done_valid;
  logic    [StateWidth-1:0]          state, add_low, add_high;
  logic    [PayloadWidth-1:0]        payload;
  logic    [StateWidth:0]            add;
  sum_t                              sum_before_q, sum_after_q;
  logic    [Lag:2][StateWidth-1:0]   new_state_q;     // by stages after Read

  assign in_ready_o = ram_ready && room;
  assign enter      = in_valid_i && in_ready_o;
  assign valid[0]   = enter;
  assign {add, add_low, add_high, address[0]} = in_data_i[UpdateWidth+RecordWidth-1:PayloadWidth];
  assign own[0]     = '{add: AddBits'(signed'(add)), low: add_low < add_high ? add_low : add_high, high: add_high};
  assign ahead[0]   = '{add: '0, low: '0, high: '1};

  always_ff @(posedge clk_i) begin
    valid[Last:1]   <= rst_i ? '0 : valid[Last-1:0];
    address[Last:1] <= address[Last-1:0];
    for (int unsigned k = 1; k < 2 * Lag; k++) own[k] <= own[k-1];
    for (int unsigned k = 1; k <= Lag; k++) begin
      ahead[k] <= valid[2*k-1] && address[2*k-1] == address[k-1] ? composed(own[2*k-1], ahead[k-1]) : ahead[k-1];
    end
    ahead[Read] <= ahead[Read-1];
    whole_q     <= composed(ahead[Read-1], own[Read-1]);
  end

  logic [AddressBits-1:0] unused_reset_address;
  sl_forward_ram #(.Width(StateWidth), .Entries(2 ** AddressBits)) u_states (
    .clk_i, .rst_i, .ready_o(ram_ready), .reset_address_o(unused_reset_address), .reset_data_i('0),
    .read_valid_i(valid[Read-2]), .read_index_i(address[Read-2]), .read_data_o(state),
    .write_valid_i(valid[Write]), .write_index_i(address[Write]), .write_data_i(new_state_q[Lag])
  );

  always_ff @(posedge clk_i) begin
    sum_before_q   <= added(state, ahead[Read]);
    sum_after_q    <= added(state, whole_q);
    issue_state_o  <= limited(sum_before_q);
    new_state_q[2] <= limited(sum_after_q);
    for (int unsigned k = 3; k <= Lag; k++) new_state_q[k] <= new_state_q[k-1];
  end

  sl_delay #(.Width(PayloadWidth), .Cycles(Issue)) u_payload (
    .clk_i, .rst_i, .valid_i(enter), .data_i(in_data_i[PayloadWidth-1:0]), .valid_o(issue_valid_o), .data_o(payload)
  );
  assign issue_data_o = {address[Issue], payload};

  logic unused_done;
  sl_delay #(.Width(1), .Cycles(Latency)) u_done (
    .clk_i, .rst_i, .valid_i(issue_valid_o), .data_i(1'b0), .valid_o(done_valid), .data_o(unused_done)
  );

  logic [IdBits-1:0] unused_id;
  logic              unused_empty;
  sl_schedule_results #(.Width(ResultWidth), .Window(Window), .Reorder(1'b0)) u_results (
    .clk_i, .rst_i, .take_i(enter), .room_o(room), .id_o(unused_id), .empty_o(unused_empty),
    .done_valid_i(done_valid), .done_id_i('0), .done_data_i(done_result_i), .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
