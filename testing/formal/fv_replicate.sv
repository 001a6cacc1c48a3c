// SPDX-License-Identifier: Apache-2.0
// Proof obligations of el_replicate, for all packets, masks and stalls, and runs of any length (induction), for one freely chosen
// port: it is offered the flits of packets whose mask includes it, each unchanged, until taken, once; no flit of other packets; and
// the next flit follows as soon as each port of the mask has taken this one, in the same cycle if they are ready. Assumed: whole
// packets.
module fv_replicate
  import sluice_pkg::*;
#(
  parameter int unsigned Ports = 3
) (
  input logic             clk_i,
  input flit_t            in_data_i,
  input logic             in_valid_i,
  input logic [Ports-1:0] out_ready_i,
  input logic [1:0]       port_i  // the watched port; constant
);
  logic             rst_q = 1'b1, started_q = 1'b0, inside_q = 1'b0, named_q, took_q = 1'b0;
  logic             in_ready, named, offered, takes;
  logic [1:0]       port_q;
  logic [Ports-1:0] out_valid;
  flit_t            out_data;

  el_replicate #(.Ports(Ports)) u_replicate (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready), .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  assign named   = in_data_i.sop ? in_data_i.meta.egress_mask[3'(port_i)] : named_q;
  assign offered = out_valid[port_i];
  assign takes   = offered && out_ready_i[port_i];

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    port_q    <= port_i;
    m_one_port : assume (32'(port_i) < Ports && (!started_q || port_i == port_q));
    if (in_valid_i) m_packets : assume (in_data_i.sop == !inside_q && !rst_q);

    if (in_valid_i && in_ready && !rst_q) begin
      inside_q <= !in_data_i.eop;
      took_q   <= 1'b0;
      a_leaves_all_who_are_named : assert (!named || took_q || takes);
    end else if (takes && !rst_q) begin
      took_q <= 1'b1;
    end
    if (in_valid_i && in_data_i.sop) named_q <= named;

    if (!rst_q) begin
      a_offers_each_flit_once : assert (offered == (in_valid_i && named && !took_q));
      if (offered) a_offers_it_unchanged : assert (out_data == in_data_i);
      a_waits_for_nobody_else : assert (in_ready || (in_valid_i && (out_valid & ~out_ready_i) != '0) || !in_valid_i);
      // For the induction.
      i_took : assert (u_replicate.done_q[port_i] == took_q && (!took_q || in_valid_i));
      if (inside_q && !(in_valid_i && in_data_i.sop)) i_named : assert (u_replicate.mask_q[port_i] == named_q);
      c_port_waits_for_another : cover (in_valid_i && took_q && !in_ready && inside_q);
      c_moves_at_once : cover (in_valid_i && in_ready && out_valid == '1);
    end
  end

  sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i(in_data_i), .valid_i(in_valid_i), .ready_i(in_ready)
  );
  sl_channel_check #(.Width(FLIT_BITS)) u_out (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(offered), .ready_i(out_ready_i[port_i])
  );
endmodule
