// SPDX-License-Identifier: Apache-2.0
// The controller cores of a device (sl_controller), one behind the other in its last lane: each takes the frames to its own MAC
// address, has a register window, and is a master of the register bus. Sessions of one core are never those of another.
module sh_controllers
  import sluice_pkg::*;
#(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Controllers = 1,         // 1, 2 or 4
  parameter int unsigned Flits = 512              // as in sl_controller
) (
  input  logic               clk_i,
  input  logic               rst_i,               // synchronous, active high
  input  logic [63:0]        time_i,              // these, and those without a comment: as in sl_controller
  input  logic               lossless_i,
  input  flit_t              rx_data_i,
  input  logic               rx_valid_i,
  output logic               rx_ready_o,
  output flit_t              rx_data_o,           // what is not for these cores
  output logic               rx_valid_o,
  input  logic               rx_ready_i,
  input  flit_t              tx_data_i,
  input  logic               tx_valid_i,
  output logic               tx_ready_o,
  output flit_t              tx_data_o,
  output logic               tx_valid_o,
  input  logic               tx_ready_i,
  input  flit_t              to_agent_data_i,     // for the agents of the cores whose bit is set
  input  logic [Controllers-1:0] to_agent_valid_i,
  output logic [Controllers-1:0] to_agent_ready_o,
  output flit_t              from_agents_data_o,
  output logic               from_agents_valid_o,
  input  logic               from_agents_ready_i,
  output register_request_t  [Controllers-1:0] master_request_o,
  output logic [Controllers-1:0] master_request_valid_o,
  input  logic [Controllers-1:0] master_request_ready_i,
  input  register_response_t master_response_i,   // to all
  input  logic [Controllers-1:0] master_response_valid_i,
  input  register_request_t  reg_request_i,       // to all windows
  input  logic [Controllers-1:0] reg_request_valid_i,
  output logic [Controllers-1:0] reg_request_ready_o,
  output register_response_t [Controllers-1:0] reg_response_o,
  output logic [Controllers-1:0] reg_response_valid_o,
  output logic [Controllers-1:0] session_o,
  output logic [Controllers-1:0] takes_host_o,
  output logic               idle_o
);
  localparam int unsigned NumberBits = $clog2(Controllers);

  // Place c of the lane is before core c on the way in, and behind it on the way out.
  flit_t [Controllers:0]   rx_data, tx_data;
  logic [Controllers:0]    rx_valid, rx_ready, tx_valid, tx_ready;
  flit_t [Controllers-1:0] packet;
  logic [Controllers-1:0]  packet_valid, packet_ready, idle;

  assign rx_data[0]            = rx_data_i;
  assign rx_valid[0]           = rx_valid_i;
  assign rx_ready_o            = rx_ready[0];
  assign rx_data_o             = rx_data[Controllers];
  assign rx_valid_o            = rx_valid[Controllers];
  assign rx_ready[Controllers] = rx_ready_i;
  assign tx_data[Controllers]  = tx_data_i;
  assign tx_valid[Controllers] = tx_valid_i;
  assign tx_ready_o            = tx_ready[Controllers];
  assign tx_data_o             = tx_data[0];
  assign tx_valid_o            = tx_valid[0];
  assign tx_ready[0]           = tx_ready_i;

  for (genvar c = 0; c < int'(Controllers); c++) begin : gen_core
    sl_controller #(.Lanes(Lanes), .Number(c), .Flits(Flits)) u_controller (
      .clk_i, .rst_i, .time_i((time_i << NumberBits) | 64'(c)), .lossless_i,
      .rx_data_i(rx_data[c]), .rx_valid_i(rx_valid[c]), .rx_ready_o(rx_ready[c]),
      .rx_data_o(rx_data[c+1]), .rx_valid_o(rx_valid[c+1]), .rx_ready_i(rx_ready[c+1]),
      .tx_data_i(tx_data[c+1]), .tx_valid_i(tx_valid[c+1]), .tx_ready_o(tx_ready[c+1]),
      .tx_data_o(tx_data[c]), .tx_valid_o(tx_valid[c]), .tx_ready_i(tx_ready[c]),
      .to_agent_data_i, .to_agent_valid_i(to_agent_valid_i[c]), .to_agent_ready_o(to_agent_ready_o[c]),
      .from_agent_data_o(packet[c]), .from_agent_valid_o(packet_valid[c]), .from_agent_ready_i(packet_ready[c]),
      .master_request_o(master_request_o[c]), .master_request_valid_o(master_request_valid_o[c]),
      .master_request_ready_i(master_request_ready_i[c]), .master_response_i, .master_response_valid_i(master_response_valid_i[c]),
      .reg_request_i, .reg_request_valid_i(reg_request_valid_i[c]), .reg_request_ready_o(reg_request_ready_o[c]),
      .reg_response_o(reg_response_o[c]), .reg_response_valid_o(reg_response_valid_o[c]),
      .session_o(session_o[c]), .takes_host_o(takes_host_o[c]), .idle_o(idle[c])
    );
  end

  if (Controllers == 1) begin : gen_one
    assign from_agents_data_o  = packet[0];
    assign from_agents_valid_o = packet_valid[0];
    assign packet_ready[0]     = from_agents_ready_i;
    assign idle_o              = idle[0];
  end else begin : gen_several
    logic is_empty;
    sl_packet_arbiter #(.Ports(Controllers)) u_packets (
      .clk_i, .rst_i, .pause_i(1'b0), .in_data_i(packet), .in_valid_i(packet_valid), .in_ready_o(packet_ready),
      .out_data_o(from_agents_data_o), .out_valid_o(from_agents_valid_o), .out_ready_i(from_agents_ready_i), .empty_o(is_empty)
    );
    assign idle_o = idle == '1 && is_empty;
  end
endmodule
