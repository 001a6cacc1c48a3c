// SPDX-License-Identifier: Apache-2.0
// Decodes the action of one slot and fetches the value to write: its operand, or an entry of the slot's own copy of the edit-data
// table. Actions that need a header that the record lacks are removed here. Three cycles. Unknown opcodes and fields decode to
// nothing.
module sl_action_value
  import sluice_pkg::*;
  import sl_action_pkg::*;
#(
  parameter int unsigned EditEntries = 256,  // entries of the edit-data table, a power of two up to 65536
  localparam int unsigned EditBits = $clog2(EditEntries)
) (
  input  logic                      clk_i,
  input  logic                      valid_i,
  input  action_t                   action_i,
  input  logic                      edit_valid_i,  // writes an entry of the edit-data table
  input  logic [EditBits-1:0]       edit_index_i,
  input  logic [EDIT_DATA_BITS-1:0] edit_data_i,
  input  action_traits_t            traits_i,      // of the record, 2 cycles after its action
  output action_unit_t              unit_o,        // 3 cycles after action_i
  output logic [EDIT_DATA_BITS-1:0] value_o        // 3 cycles after action_i
);
  function automatic action_unit_t decode(action_t action);
    action_unit_t unit = '0;
    unit.mask = action.operand[7:0];
    case (action.opcode)
      ACTION_SUB:           unit.subtract = 1'b1;
      ACTION_DROP:          unit.drop_rule = 1'b1;
      ACTION_SET, ACTION_SET_LONG: begin
        for (int unsigned n = 0; n < FIELDS; n++) unit.set[n] = action.operand[23:20] == 4'(n);
      end
      ACTION_CHECKSUM:      unit.checksums = 1'b1;
      ACTION_INSERT_VLAN:   unit.insert_tag = 1'b1;
      ACTION_DELETE_VLAN:   unit.delete_tag = 1'b1;
      ACTION_OUTPUT: begin
        unit.forward = 1'b1;
        for (int unsigned n = 0; n < 8; n++) unit.mask[n] = action.operand[7:0] == 8'(n);
      end
      ACTION_REPLICATE:     unit.forward = 1'b1;
      ACTION_MARK:          unit.mark = 1'b1;
      ACTION_QUEUE:         unit.to_queue = 1'b1;
      ACTION_TO_HOST:       unit.to_host = 1'b1;
      ACTION_TO_CONTROLLER: unit.to_controller = 1'b1;
      ACTION_DELETE_TUNNEL: unit.delete_tunnel = 1'b1;
      ACTION_INSERT_TUNNEL: begin
        unit.insert_front = 1'b1;
        unit.write_id     = 1'b1;
      end
      ACTION_INSERT_RAW:    unit.insert_front = 1'b1;
      default: ;
    endcase
    return unit;
  endfunction

  // Resolves forwarding to a port mask into forward, drop, punt or to host.
  function automatic action_unit_t resolve(action_unit_t unit);
    action_unit_t resolved = unit;
    logic         host  = unit.forward && unit.mask[HOST_PORT];
    logic         lanes = unit.mask[HOST_PORT-1:0] != '0;
    resolved.forward   = unit.forward && lanes && !unit.mask[HOST_PORT];
    resolved.drop_port = unit.forward && !lanes && !unit.mask[HOST_PORT];
    resolved.punt      = host && lanes;
    resolved.to_host   = unit.to_host || (host && !lanes);
    return resolved;
  endfunction

  // Removes what does not apply to a record with these headers; tags are left to the slot, since slots change them.
  function automatic action_unit_t present(action_unit_t unit, logic is_ip, logic has_ports);
    action_unit_t left = unit;
    if (!is_ip) begin
      left.subtract          = 1'b0;
      left.set[FIELD_IP_SRC] = 1'b0;
      left.set[FIELD_IP_DST] = 1'b0;
      left.set[FIELD_IP_TOS] = 1'b0;
      left.set[FIELD_IP_TTL] = 1'b0;
    end
    if (!has_ports) begin
      left.set[FIELD_L4_SRC] = 1'b0;
      left.set[FIELD_L4_DST] = 1'b0;
    end
    return left;
  endfunction

  action_unit_t              unit_q, unit_q2;
  logic                      address_q2;  // writes an IP address
  logic [23:0]               operand_q, operand_q2;
  logic                      long_q, long_q2, valid_q, valid_q2;
  logic [EDIT_DATA_BITS-1:0] edit_data;
  logic                      is_long, is_set;

  assign is_long = action_i.opcode == ACTION_SET_LONG;
  assign is_set  = action_i.opcode == ACTION_SET;

  sl_ram_block #(.Width(EDIT_DATA_BITS), .Depth(EditEntries), .Latency(2)) u_edit_data (
    .clk_i, .write_valid_i(edit_valid_i), .write_address_i(edit_index_i), .write_data_i(edit_data_i),
    .read_valid_i(valid_i), .read_address_i(action_i.operand[EditBits-1:0]), .read_data_o(edit_data)
  );

  always_ff @(posedge clk_i) begin
    valid_q  <= valid_i;
    valid_q2 <= valid_q;
    if (valid_i) begin
      unit_q    <= decode(action_i);
      operand_q <= is_set ? {8'd0, action_i.operand[15:0]} : action_i.operand;
      long_q    <= is_long;
    end
    if (valid_q) begin
      unit_q2    <= resolve(unit_q);
      address_q2 <= unit_q.set[FIELD_IP_SRC] || unit_q.set[FIELD_IP_DST];
      operand_q2 <= operand_q;
      long_q2    <= long_q;
    end
    if (valid_q2) begin
      unit_o <= present(unit_q2, traits_i.is_ip, traits_i.has_ports);
      value_o <= long_q2 ? edit_data : EDIT_DATA_BITS'(operand_q2);
      if (traits_i.is_ipv4 && address_q2) value_o[EDIT_DATA_BITS-1:32] <= '0;
    end
  end
endmodule
