// SPDX-License-Identifier: Apache-2.0
// Executes one action on a record: control state in one stage, data in the next. An action that does not apply to this record (a
// missing tag) is skipped; a third VLAN tag sends the packet to the host unmodified.
module sl_action_slot
  import sluice_pkg::*;
  import sl_action_pkg::*;
(
  input  logic                      clk_i,
  input  logic                      valid_i,
  input  action_control_t           control_i,
  input  action_unit_t              unit_i,
  input  logic [EDIT_DATA_BITS-1:0] value_i,
  input  action_data_t              data_i,     // one cycle after valid_i
  output action_control_t           control_o,  // one cycle after valid_i
  output action_data_t              data_o      // two cycles after valid_i
);
  // Write enables.
  typedef struct packed {
    logic [FIELDS-1:0] set;
    logic              insert_tag;
    logic              delete_tag;
    logic              mark;
    logic              to_queue;
    logic              insert_front;
    logic              forward;
    logic [7:0]        mask;
  } writes_t;

  /* verilator lint_off UNUSEDSIGNAL */  // each function uses its own part of a struct
  function automatic writes_t decide(action_control_t c, action_unit_t unit);
    writes_t w;
    w.set = c.run ? unit.set : '0;
    w.set[FIELD_VLAN0_TCI] = c.run && unit.set[FIELD_VLAN0_TCI] && c.tags != 2'd0;
    w.set[FIELD_VLAN1_TCI] = c.run && unit.set[FIELD_VLAN1_TCI] && c.tags[1];
    w.insert_tag = c.run && unit.insert_tag && !c.tags[1];
    w.delete_tag = c.run && unit.delete_tag && c.tags != 2'd0;
    w.mark       = c.run && unit.mark;
    w.to_queue   = c.run && unit.to_queue;
    w.insert_front = c.run && unit.insert_front;
    w.forward    = c.run && unit.forward;
    w.mask       = unit.mask;
    return w;
  endfunction

  function automatic action_control_t next_control(action_control_t c, action_unit_t unit, logic [7:0] ttl);
    action_control_t n = c;
    writes_t         w = decide(c, unit);
    logic            punt     = c.run && (unit.punt || (unit.insert_tag && c.tags[1]));
    logic            expired  = c.run && unit.subtract && c.ttl_last;
    logic            subtract = c.run && unit.subtract && !c.ttl_last;

    if (w.set[FIELD_IP_TTL]) begin
      n.ip_ttl   = ttl;
      n.ttl_last = ttl[7:1] == '0;
    end else if (subtract) begin
      n.ip_ttl   = c.ip_ttl - 8'd1;
      n.ttl_last = c.ip_ttl == 8'd2;
    end
    n.dirty = c.dirty | w.set;
    if (subtract) n.dirty[FIELD_IP_TTL] = 1'b1;
    if (w.insert_tag) begin
      n.dirty[FIELD_VLAN0_TCI] = 1'b1;
      n.dirty[FIELD_VLAN1_TCI] = c.dirty[FIELD_VLAN0_TCI];
      n.tags   = c.tags + 2'd1;
      n.pushed = c.pushed + 2'd1;
    end
    if (w.delete_tag) begin
      n.dirty[FIELD_VLAN0_TCI] = c.dirty[FIELD_VLAN1_TCI];
      n.dirty[FIELD_VLAN1_TCI] = 1'b0;
      n.tags = c.tags - 2'd1;
      if (c.pushed != 2'd0) n.pushed = c.pushed - 2'd1;
      else n.popped = c.popped + 2'd1;
    end
    if (c.run && unit.checksums) n.checksums = 1'b1;
    if (c.run && unit.delete_tunnel && c.opened) n.strip_outer = 1'b1;
    if (w.insert_front) begin
      n.encapsulate     = 1'b1;
      n.write_tunnel_id = unit.write_id;
    end
    if (w.forward) n.verdict = VERDICT_FORWARD;
    if (c.run && unit.to_controller) n.verdict = VERDICT_TO_CONTROLLER;
    if ((c.run && unit.to_host) || punt) n.verdict = VERDICT_TO_HOST;
    if ((c.run && (unit.drop_rule || unit.drop_port)) || expired) begin
      n.verdict    = VERDICT_DROP;
      n.drop_cause = unit.drop_rule ? DROP_RULE : unit.drop_port ? DROP_NO_PORT : DROP_TTL;
    end
    if (punt) begin
      n.punted    = 1'b1;
      n.dirty     = '0;
      n.tags      = c.packet_tags;
      n.pushed    = '0;
      n.popped    = '0;
      n.checksums = 1'b0;
      n.strip_outer     = 1'b0;
      n.encapsulate     = 1'b0;
      n.write_tunnel_id = 1'b0;
    end
    n.run = c.run && !punt && !expired &&
            !(unit.to_host || unit.to_controller || unit.drop_rule || unit.drop_port);
    return n;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic action_data_t next_data(action_data_t d, writes_t w, logic [EDIT_DATA_BITS-1:0] value);
    action_data_t n = d;
    if (w.set[FIELD_ETH_DST])  n.eth_dst  = value[47:0];
    if (w.set[FIELD_ETH_SRC])  n.eth_src  = value[47:0];
    if (w.set[FIELD_ETH_TYPE]) n.eth_type = value[15:0];
    if (w.set[FIELD_IP_SRC])   n.ip_src   = value;
    if (w.set[FIELD_IP_DST])   n.ip_dst   = value;
    if (w.set[FIELD_IP_TOS])   n.ip_tos   = value[7:0];
    if (w.set[FIELD_L4_SRC])   n.l4_src   = value[15:0];
    if (w.set[FIELD_L4_DST])   n.l4_dst   = value[15:0];
    if (w.set[FIELD_VLAN0_TCI]) n.vlan0_tci = value[15:0];
    if (w.set[FIELD_VLAN1_TCI]) n.vlan1_tci = value[15:0];
    if (w.set[FIELD_TUNNEL_ID]) n.tunnel_id = value[23:0];
    if (w.insert_front) n.template_index = value[7:0];
    if (w.insert_tag) begin
      n.vlan0_tci   = value[15:0];
      n.vlan1_tci   = d.vlan0_tci;
      n.service_tag = {d.service_tag[0], value[16]};
    end
    if (w.delete_tag) begin
      n.vlan0_tci   = d.vlan1_tci;
      n.vlan1_tci   = '0;
      n.service_tag = {1'b0, d.service_tag[1]};
    end
    if (w.mark) n.mark = {8'd0, value[23:0]};
    if (w.to_queue) n.egress_queue = value[3:0];
    if (w.forward) n.egress_mask = w.mask;
    return n;
  endfunction

  logic                      valid_q;
  writes_t                   writes_q;
  logic [EDIT_DATA_BITS-1:0] value_q;

  always_ff @(posedge clk_i) begin
    valid_q <= valid_i;
    if (valid_i) begin
      control_o <= next_control(control_i, unit_i, value_i[7:0]);
      writes_q  <= decide(control_i, unit_i);
      value_q   <= value_i;
    end
    if (valid_q) data_o <= next_data(data_i, writes_q, value_q);
  end
endmodule
