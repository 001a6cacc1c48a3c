// SPDX-License-Identifier: Apache-2.0
// The register window of a compiled configuration (`graph_registers`): a mailbox on its signal chain, the flits taken by each
// channel from the host, and drop counters. It is window 1; windows 2 to 4 answer errors.
module sh_graph_registers #(
  parameter int unsigned Channels = 1,  // from the host, 1 to GRAPH_CHANNELS
  parameter int unsigned Stores = 1     // channels that leave, 1 to 16
) (
  input  logic                           clk_i,
  input  logic                           rst_i,                // synchronous, active high
  input  sluice_pkg::register_request_t  reg_request_i,
  input  logic [3:0]                     reg_request_valid_i,
  output logic [3:0]                     reg_request_ready_o,
  output sluice_pkg::register_response_t [3:0] reg_response_o,
  output logic [3:0]                     reg_response_valid_o,
  output logic [32:0]                    signal_data_o,        // words of the chain, bit 32 on the last
  output logic                           signal_valid_o,       // registered
  input  logic                           signal_ready_i,
  input  logic [32:0]                    reply_data_i,
  input  logic                           reply_valid_i,
  output logic                           reply_ready_o,
  input  logic [Channels-1:0][31:0]      taken_i,
  input  logic [Stores-1:0][2:0]         drop_i,               // pulses: error, oversize, runt
  input  logic [6:0]                     lost_i,               // pulses
  input  logic                           host_invalid_i
);
  import sluice_pkg::*;

  localparam register_response_t Refused = '{error: 1'b1, data: '0};
  localparam int unsigned ChannelBits = Channels > 1 ? $clog2(Channels) : 1;

  logic [11:0]      address;
  logic             accept, write, failed, pushes;
  logic [3:0]       channel;
  logic [2:0][31:0] drop_q;
  logic [31:0]      lost_q, invalid_q;

  assign address             = reg_request_i.address[11:0];
  assign write               = reg_request_i.write[0];
  assign reg_request_ready_o = ~reg_response_valid_o;
  assign accept              = reg_request_valid_i[0] && reg_request_ready_o[0];
  assign pushes              = address inside {GRAPH_REGISTERS_SIGNAL, GRAPH_REGISTERS_SIGNAL_LAST};
  assign failed              = !graph_registers_allows(address, write) || (pushes && signal_valid_o) ||
                               (address == GRAPH_REGISTERS_REPLY && !reply_valid_i);
  assign reply_ready_o       = accept && address == GRAPH_REGISTERS_REPLY && !failed;
  assign channel             = 4'((address - GRAPH_REGISTERS_TAKEN) >> 2);

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    graph_registers_values_t live;
    live               = '0;
    live.status        = {29'd0, reply_valid_i && reply_data_i[32], reply_valid_i, !signal_valid_o};
    live.reply         = reply_data_i[31:0];
    live.lost          = lost_q;
    live.host_invalid  = invalid_q;
    live.drop_error    = drop_q[0];
    live.drop_oversize = drop_q[1];
    live.drop_runt     = drop_q[2];
    live.taken         = 32'(channel) < Channels ? taken_i[ChannelBits'(channel)] : '0;
    return graph_registers_read(graph_registers_values(live), address);
  endfunction

  logic [2:0][4:0] dropped;  // in this cycle
  always_comb begin
    dropped = '0;
    for (int unsigned i = 0; i < Stores; i++) begin
      for (int unsigned cause = 0; cause < 3; cause++) dropped[cause] = dropped[cause] + 5'(drop_i[i][cause]);
    end
  end

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i & reg_request_ready_o;
    reg_response_o       <= {Refused, Refused, Refused, failed, 32'd0};
    if (accept && !write && !failed) reg_response_o[0].data <= read();
    if (signal_ready_i) signal_valid_o <= 1'b0;
    if (accept && pushes && !failed) begin
      signal_valid_o <= 1'b1;
      signal_data_o  <= {address == GRAPH_REGISTERS_SIGNAL_LAST, reg_request_i.data};
    end
    for (int unsigned cause = 0; cause < 3; cause++) drop_q[cause] <= drop_q[cause] + 32'(dropped[cause]);
    lost_q <= lost_q + 32'($countones(lost_i));
    if (host_invalid_i) invalid_q <= invalid_q + 1'b1;
    if (rst_i) begin
      reg_response_valid_o <= '0;
      signal_valid_o       <= 1'b0;
      drop_q               <= '0;
      lost_q               <= '0;
      invalid_q            <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, reg_request_i.address[REGISTER_ADDRESS_BITS-1:12]};
endmodule
