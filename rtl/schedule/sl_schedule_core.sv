// SPDX-License-Identifier: Apache-2.0
// When records go through a process block that reads and replaces the state of their flow, so that each sees the state that all
// earlier records of its flow left. The state is outside (sl_scheduler), and so is the process block: a pipeline of Latency cycles
// that never stalls. A record of a flow is issued `Distance` cycles after the record of that flow before it, or later: the loop
// from issue to visible state. Which records wait is the scheduler's choice:
//
//   Turns 0: issue queue (sl_schedule_queue), the oldest record whose flow is free goes first; with Depth 1 the stalling scheduler
//   Turns 1: queues by flow hash, served in turn (sl_schedule_turns)
//
// Records are told apart by tags, a fold of the address: flows that share a tag wait for each other and remain correct.
//
// With Free, records of a mode above 1 wait for none, and go in the order of arrival: what is outside has the state of each
// although those before it are in flight. Records of one mode only are inside; those of another wait until it is empty.
module sl_schedule_core #(
  parameter int unsigned AddressBits  = 12,  // of the state of a flow
  parameter int unsigned PayloadWidth = 64,  // opaque bits of a record
  parameter int unsigned ResultWidth  = 64,
  parameter int unsigned Latency      = 3,     // cycles from issue to the new state and done_result_i, at least 1
  parameter bit          Forward      = 1'b1,  // 1: a new state can be issued in its cycle (forward_o); Distance = Latency
                                               // 0: through the RAM only; Distance = Latency + 1
  parameter bit          Turns        = 1'b0,
  parameter int unsigned Depth        = 8,     // records in the issue queue, or in each queue of Turns
  parameter int unsigned TagBits      = 8,     // 1 to AddressBits; scoreboard of 2^TagBits flip-flops, or 2^TagBits queues
  parameter int unsigned Window       = 32,    // a power of two: results that can wait
  parameter bit          Reorder      = 1'b1,  // 1: results in the order of arrival (Window: from entry on); 0: in the order of issue
  parameter bit          Keeps        = 1'b0,  // 1: only records whose payload has its highest bit set leave a new state
  parameter int unsigned Ahead        = 0,     // cycles from ahead_valid_o to issue_valid_o, 0 to 3
  parameter int unsigned Free         = 0,     // cycles by which the results of records that wait for none come later; 0: there are none
  localparam int unsigned RecordWidth = AddressBits + PayloadWidth
) (
  input  logic                   clk_i,
  input  logic                   rst_i,          // synchronous, active high
  input  logic [RecordWidth-1:0] in_data_i,      // {address, payload}
  input  logic [1:0]             in_mode_i,      // 0, or with Free: 2 or 3 wait for none
  input  logic                   in_valid_i,
  output logic                   in_ready_o,     // with Turns combinational from in_data_i
  input  logic                   ram_ready_i,    // there are states; until then nothing enters
  output logic                   read_valid_o,   // two cycles before the state is needed
  output logic [AddressBits-1:0] read_address_o,
  output logic                   ahead_valid_o,  // to the process block: what it may do before the state is there
  output logic [RecordWidth-1:0] ahead_data_o,
  output logic                   issue_valid_o,
  output logic [RecordWidth-1:0] issue_data_o,
  output logic                   forward_o,      // with Forward: the state of what is issued is the one that is done in this cycle
  output logic                   write_valid_o,  // Latency cycles after issue_valid_o: the new state is kept
  output logic [AddressBits-1:0] write_address_o,
  input  logic [ResultWidth-1:0] done_result_i,  // with it; of records that wait for none Free cycles later
  output logic [ResultWidth-1:0] out_data_o,
  output logic                   out_valid_o,
  input  logic                   out_ready_i
);
  localparam int unsigned Distance = Latency + (Forward ? 0 : 1);
  localparam int unsigned Issue    = 3;  // cycles from selection: a register, the RAM's latency
  localparam int unsigned Done     = Issue + Latency;
  localparam int unsigned IdBits   = $clog2(Window);

  function automatic logic [TagBits-1:0] tag_of(logic [AddressBits-1:0] address);
    logic [TagBits-1:0] tag;
    tag = '0;
    for (int unsigned i = 0; i < AddressBits; i++) tag[i%TagBits] ^= address[i];
    return tag;
  endfunction

  // A record by the cycles since its selection. Places in the window are given at entry (Reorder) or at selection.
  logic [Done:0]                  valid;
  logic [Done:0][AddressBits-1:0] address;
  logic [Done:0][IdBits-1:0]      id;
  logic [Issue:0][PayloadWidth-1:0] payload;
  logic [Done:0]                  keeps;  // its new state is written
  logic                           queue_ready, room, enter, empty, open;
  logic                           free;  // what is inside waits for none
  logic [1:0]                     mode_q;
  logic [IdBits-1:0]              place, queued_id;

  assign open       = ram_ready_i && (room || !Reorder) && (Free == 0 || empty || in_mode_i == mode_q);
  assign in_ready_o = queue_ready && open;
  assign enter      = in_valid_i && in_ready_o;
  assign free       = Free != 0 && mode_q[1];
  always_ff @(posedge clk_i) if (enter) mode_q <= in_mode_i;
  assign id[0]      = Reorder ? queued_id : place;

  localparam int unsigned QueuedWidth = IdBits + RecordWidth;
  localparam int unsigned Awake       = Distance - 1;  // the next record of the flow may be selected in the cycle after

  logic wake_valid, queue_valid;
  logic [TagBits-1:0] in_tag, wake_tag;
  assign in_tag     = tag_of(in_data_i[PayloadWidth+:AddressBits]);
  assign wake_valid = valid[Awake];
  assign wake_tag   = tag_of(address[Awake]);
  assign queue_valid = in_valid_i && open;

  if (Turns) begin : gen_turns
    sl_schedule_turns #(.Width(QueuedWidth), .QueueBits(TagBits), .Depth(Depth)) u_queue (
      .clk_i, .rst_i, .in_data_i({place, in_data_i}), .in_tag_i(in_tag), .in_valid_i(queue_valid), .in_ready_o(queue_ready),
      .select_data_o({queued_id, address[0], payload[0]}), .select_valid_o(valid[0]), .select_ready_i(room || Reorder),
      .wake_valid_i(wake_valid), .wake_tag_i(wake_tag)
    );
  end else begin : gen_queue
    sl_schedule_queue #(.Width(QueuedWidth), .TagBits(TagBits), .Depth(Depth)) u_queue (
      .clk_i, .rst_i, .in_data_i({place, in_data_i}), .in_tag_i(in_tag), .in_free_i(Free != 0 && in_mode_i[1]),
      .in_valid_i(queue_valid), .in_ready_o(queue_ready),
      .select_data_o({queued_id, address[0], payload[0]}), .select_valid_o(valid[0]), .select_ready_i(room || Reorder),
      .wake_valid_i(wake_valid), .wake_tag_i(wake_tag)
    );
  end

  always_ff @(posedge clk_i) begin
    valid[Done:1]    <= rst_i ? '0 : valid[Done-1:0];
    address[Done:1]  <= address[Done-1:0];
    id[Done:1]       <= id[Done-1:0];
    payload[Issue:1] <= payload[Issue-1:0];
  end

  assign keeps[0] = !Keeps || payload[0][PayloadWidth-1];
  always_ff @(posedge clk_i) keeps[Done:1] <= Keeps ? keeps[Done-1:0] : '1;

  assign read_valid_o    = valid[Issue-2];
  assign read_address_o  = address[Issue-2];
  assign ahead_valid_o   = valid[Issue-Ahead];
  assign ahead_data_o    = {address[Issue-Ahead], payload[Issue-Ahead]};
  assign issue_valid_o   = valid[Issue];
  assign issue_data_o    = {address[Issue], payload[Issue]};
  assign write_valid_o   = valid[Done] && keeps[Done] && !free;
  assign write_address_o = address[Done];

  if (Forward) begin : gen_forward
    logic forward_q;

    always_ff @(posedge clk_i) forward_q <= valid[Done-1] && keeps[Done-1] && address[Done-1] == address[Issue-1];
    assign forward_o = forward_q;
  end else begin : gen_through_ram
    assign forward_o = 1'b0;
  end

  logic              done_valid, free_done_valid;
  logic [IdBits-1:0] done_id, free_done_id;
  sl_delay #(.Width(IdBits), .Cycles(Free)) u_free (
    .clk_i, .rst_i, .valid_i(valid[Done] && free), .data_i(id[Done]), .valid_o(free_done_valid), .data_o(free_done_id)
  );
  assign done_valid = free ? free_done_valid : valid[Done];
  assign done_id    = free ? free_done_id : id[Done];
  sl_schedule_results #(.Width(ResultWidth), .Window(Window), .Reorder(Reorder)) u_results (
    .clk_i, .rst_i, .take_i(Reorder ? enter : valid[0]), .room_o(room), .id_o(place), .empty_o(empty),
    .done_valid_i(done_valid), .done_id_i(done_id), .done_data_i(done_result_i), .out_data_o, .out_valid_o, .out_ready_i
  );

`ifndef SYNTHESIS
  if (Free != 0) begin : gen_check
    initial a_free_records_keep_their_order : assert (Reorder && !Turns);
  end
`endif
endmodule
