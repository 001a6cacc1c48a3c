// SPDX-License-Identifier: Apache-2.0
// The order fence of the flow table (docs/design/fence.md): a packet that a rule matches still goes to the host while an earlier
// packet of its flow is on its way through the host, so that it cannot overtake it. Every packet to the host stores its timestamp
// in its flow's word; `done_i` gives the timestamp up to which each lane's packets are through. Flows share words by hash: flows
// that share a word are held together, never released too early. One record per cycle, never stalls, FENCE_LATENCY cycles.
module sl_flow_fence
  import sluice_pkg::*;
#(
  parameter int unsigned Rules = 1024,  // of both tables, at least 2
  localparam int unsigned RuleBits = $clog2(Rules),
  localparam int unsigned FlowBits = sl_flow_pkg::FENCE_FLOW_BITS
) (
  input  logic                clk_i,
  input  logic                rst_i,          // synchronous, active high: forgets every flow, one per cycle
  output logic                ready_o,        // all flows are forgotten; the fence is off before
  input  logic                on_i,           // 0: matched packets pass, and no packet is tracked
  input  logic [31:0]         bound_i,        // maximum cycles that a flow is held
  input  logic [7:0][63:0]    done_i,         // per lane: timestamp up to which its packets are through the host
  input  logic                set_valid_i,    // records from this cycle on see the rule with this flag
  input  logic [RuleBits-1:0] set_rule_i,
  input  logic                set_to_host_i,  // its actions send packets to the host
  input  logic                valid_i,        // the lookup of a record has ended
  input  logic                hit_i,
  input  logic [RuleBits-1:0] rule_i,         // valid with hit_i
  input  logic [FlowBits-1:0] flow_i,         // the word of its flow: lane in the upper 3 bits
  input  logic [63:0]         time_i,         // its timestamp
  output logic                hit_o,          // FENCE_LATENCY cycles later: apply the rule
  output logic                held_o,         // pulse: sent to the host because of the fence
  output logic                forced_o        // pulse: its flow was released at the bound
);
  typedef struct packed {
    logic        pending;  // a packet of the flow went to the host
    logic        held;     // a later packet was sent there because of the fence alone
    logic [63:0] last;     // timestamp of the last packet sent to the host
    logic [31:0] since;    // if held: timestamp of the first held packet, low bits
  } word_t;

  logic                word_ready, flag_ready, on_q, flag;
  logic [1:0]          valid_q, hit_q;
  logic [FlowBits-1:0] flow_q [2];
  logic [63:0]         time_q [2];
  logic [63:0]         done_q;
  logic                to_host, pending, over, write;
  word_t               found, next;
  logic [FlowBits-1:0] unused_word_address;
  logic [RuleBits-1:0] unused_flag_address, set_rule_q;
  logic                set_valid_q, set_to_host_q;

  sl_forward_ram #(.Width($bits(word_t)), .Entries(2 ** FlowBits)) u_words (
    .clk_i, .rst_i, .ready_o(word_ready), .reset_address_o(unused_word_address), .reset_data_i('0),
    .read_valid_i(valid_i && word_ready), .read_index_i(flow_i), .read_data_o(found),
    .write_valid_i(write), .write_index_i(flow_q[1]), .write_data_i(next)
  );

  // A read sees writes of the same cycle and of the next: the flag is written one cycle late, so that no earlier record sees it.
  sl_forward_ram #(.Width(1), .Entries(Rules)) u_flags (
    .clk_i, .rst_i, .ready_o(flag_ready), .reset_address_o(unused_flag_address), .reset_data_i(1'b0),
    .read_valid_i(valid_i && hit_i), .read_index_i(rule_i), .read_data_o(flag),
    .write_valid_i(set_valid_q), .write_index_i(set_rule_q), .write_data_i(set_to_host_q)
  );

  assign ready_o = word_ready && flag_ready;

  always_ff @(posedge clk_i) begin
    set_valid_q   <= set_valid_i && !rst_i;
    set_rule_q    <= set_rule_i;
    set_to_host_q <= set_to_host_i;
  end

  always_ff @(posedge clk_i) begin
    on_q      <= on_i && ready_o;
    valid_q   <= rst_i ? '0 : {valid_q[0], valid_i};
    hit_q     <= {hit_q[0], hit_i};
    flow_q[0] <= flow_i;
    flow_q[1] <= flow_q[0];
    time_q[0] <= time_i;
    time_q[1] <= time_q[0];
    done_q    <= done_i[flow_q[0][FlowBits-1-:3]];
  end

  always_comb begin
    to_host = !hit_q[1] || flag;
    pending = found.pending && done_q < found.last;
    over    = found.held && time_q[1][31:0] - found.since >= bound_i;
    next    = '0;
    if (to_host || (pending && !over)) begin
      next.pending = 1'b1;
      next.last    = time_q[1];
      next.held    = !to_host || (pending && found.held);
      next.since   = pending && found.held ? found.since : time_q[1][31:0];
    end
    write = on_q && valid_q[1] && (to_host || found.pending);
  end

  always_ff @(posedge clk_i) begin
    hit_o    <= hit_q[1] && (!on_q || to_host || !pending || over);
    held_o   <= on_q && valid_q[1] && !to_host && pending && !over && !rst_i;
    forced_o <= on_q && valid_q[1] && !to_host && pending && over && !rst_i;
  end
endmodule
