// SPDX-License-Identifier: Apache-2.0
// A lane's packets on their way into a compiled configuration. While `pause_i` is on they stop at a packet boundary. The packets of
// a lane that the configuration does not read are discarded and counted.
module sh_graph_lane #(
  parameter bit Read = 1'b1  // the configuration reads it
) (
  input  logic              clk_i,
  input  logic              rst_i,        // synchronous, active high
  input  logic              pause_i,
  input  sluice_pkg::flit_t in_data_i,    // whole packets
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output sluice_pkg::flit_t out_data_o,   // registered
  output logic              out_valid_o,  // registered
  input  logic              out_ready_i,
  output logic              lost_o        // pulse: discarded a packet, because no element reads the lane
);
  import sluice_pkg::*;

  if (Read) begin : gen_read
    logic inside_q, enter, room;

    assign enter      = in_valid_i && (inside_q || !pause_i);
    assign in_ready_o = enter && room;
    assign lost_o     = 1'b0;

    always_ff @(posedge clk_i) begin
      if (in_ready_o) inside_q <= !in_data_i.eop;
      if (rst_i) inside_q <= 1'b0;
    end

`ifdef SLUICE_TRACE
    always_ff @(posedge clk_i) if (in_ready_o && in_data_i.sop) $display("@enter %0d %0d", in_data_i.meta.ingress_port, in_data_i.meta.timestamp);
`endif

    sl_skid #(.Width(FLIT_BITS)) u_out (
      .clk_i, .rst_i, .in_data_i, .in_valid_i(enter), .in_ready_o(room), .out_data_o, .out_valid_o, .out_ready_i
    );
  end else begin : gen_lost
    logic unused;

    assign in_ready_o  = !pause_i;
    assign lost_o      = in_valid_i && in_ready_o && in_data_i.eop;
    assign out_data_o  = '0;
    assign out_valid_o = 1'b0;
    assign unused      = &{1'b0, clk_i, rst_i, in_data_i, out_ready_i};
  end
endmodule
