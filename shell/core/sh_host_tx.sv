// SPDX-License-Identifier: Apache-2.0
// The host's packets into the device. The host's metadata is not trusted: packets with a wrong length, or with no existing lane in
// their port mask, are dropped and counted; the others continue with clean metadata. Where the graph takes host packets, those with
// VERDICT_PASS go to it and keep their metadata: its meaning is private to the program's two halves.
module sh_host_tx #(
  parameter int unsigned Lanes = 4,
  parameter bit          Checksums = 1'b0,  // fills in checksums that the host requests in `mark` (sl_checksum_fill)
  parameter int unsigned Flits = 512  // store: at least two packets of the largest size
) (
  input  logic              clk_i,
  input  logic              rst_i,            // synchronous, active high
  input  logic              takes_host_i,     // the graph takes host packets
  input  sluice_pkg::flit_t in_data_i,        // destination in its metadata
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output sluice_pkg::flit_t out_data_o,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic              idle_o,           // nothing stored
  output logic              packet_o,         // pulse: a packet was taken
  output logic [15:0]       packet_length_o,  // its length in bytes
  output logic              invalid_o,        // pulse: dropped
  output logic              unfilled_o        // pulse: requested checksum cannot be filled in; sent unchanged
);
  import sluice_pkg::*;

  flit_t clean, stored_data;
  logic  enters, nowhere, nowhere_q, error, oversize, runt, unused_overflow, stored_valid, stored_ready, store_idle, fill_idle;

  assign enters    = takes_host_i && in_data_i.meta.verdict == VERDICT_PASS;
  assign nowhere   = in_data_i.sop ? !enters && in_data_i.meta.egress_mask[Lanes-1:0] == '0 : nowhere_q;
  assign invalid_o = error || oversize || runt;

  always_comb begin
    clean = in_data_i;
    clean.meta = '0;
    clean.error = in_data_i.error || nowhere;
    if (in_data_i.sop && enters) begin
      clean.meta = in_data_i.meta;
    end else if (in_data_i.sop) begin
      clean.meta.ingress_port = 8'(HOST_PORT);
      clean.meta.egress_mask  = 8'(in_data_i.meta.egress_mask[Lanes-1:0]);
      clean.meta.queue        = in_data_i.meta.queue;
      clean.meta.verdict      = VERDICT_FORWARD;
      clean.meta.mark         = Checksums ? in_data_i.meta.mark : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_data_i.sop) nowhere_q <= nowhere;
  end

  sl_packet_fifo #(.Flits(Flits), .LargestPacket(sluice_pkg::EGRESS_BYTES)) u_store (
    .clk_i, .rst_i, .lossless_i(1'b1), .in_data_i(clean), .in_valid_i, .in_ready_o,
    .out_data_o(stored_data), .out_valid_o(stored_valid), .out_ready_i(stored_ready), .empty_o(store_idle),
    .stored_o(packet_o), .stored_length_o(packet_length_o),
    .drop_error_o(error), .drop_oversize_o(oversize), .drop_runt_o(runt), .drop_overflow_o(unused_overflow)
  );

  if (Checksums) begin : gen_fill
    sl_checksum_fill u_fill (
      .clk_i, .rst_i, .in_data_i(stored_data), .in_valid_i(stored_valid), .in_ready_o(stored_ready),
      .out_data_o, .out_valid_o, .out_ready_i, .unfilled_o, .idle_o(fill_idle)
    );
  end else begin : gen_as_they_come
    assign out_data_o   = stored_data;
    assign out_valid_o  = stored_valid;
    assign stored_ready = out_ready_i;
    assign unfilled_o   = 1'b0;
    assign fill_idle    = 1'b1;
  end
  assign idle_o = store_idle && fill_idle;

  logic unused;
  assign unused = &{1'b0, in_data_i.meta, unused_overflow};
endmodule
