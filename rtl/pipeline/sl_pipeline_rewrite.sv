// SPDX-License-Identifier: Apache-2.0
// Writes a packet anew as its record says: the deparser writes its headers, then a splice inserts and removes words. One flit a cycle
// of the busier side; a packet that grows by a flit takes a cycle more. A packet with a fault passes unchanged.
//
// All memories must be written once before the first packet; afterwards those of the version that no packet has may be written at
// any time.
module sl_pipeline_rewrite
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Writers = DEPARSER_WRITERS  // headers of a packet that can be rewritten, at least 1
) (
  input  logic              clk_i,
  input  logic              rst_i,        // synchronous, active high
  input  logic              write_valid_i,
  input  pipeline_write_t   write_i,
  input  pipeline_rewrite_t in_data_i,    // with the length in the record and in the first flit
  input  logic              in_valid_i,
  output logic              in_ready_o,   // registered
  output flit_t             out_data_o,
  output logic              out_valid_o,
  input  logic              out_ready_i
);
  localparam int unsigned Latency = DEPARSER_LATENCY + SPLICE_TURN_LATENCY;

  pipeline_rewrite_t packet;
  flit_t        deparsed;
  logic         valid, deparsed_valid, turned_valid, joined_valid, joined_ready;
  splice_flit_t turned, joined;
  splice_job_t  job;
  logic [FLIT_WORDS-1:0][15:0] image;

  sl_pipe_gate #(.InWidth($bits(pipeline_rewrite_t)), .OutWidth($bits(splice_flit_t)), .Latency(Latency)) u_gate (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o,
    .stage_valid_o(valid), .stage_data_o(packet), .stage_valid_i(turned_valid), .stage_data_i(turned),
    .out_data_o(joined), .out_valid_o(joined_valid), .out_ready_i(joined_ready)
  );
  sl_deparser #(.Writers(Writers)) u_deparser (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(valid), .flit_i(packet.flit), .record_i(packet.record),
    .valid_o(deparsed_valid), .flit_o(deparsed)
  );
  sl_splice_job u_job (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(valid && packet.flit.sop), .record_i(packet.record), .splice_i(packet.splice),
    .job_o(job), .image_o(image)
  );
  sl_splice_turn u_turn (
    .clk_i, .rst_i, .valid_i(deparsed_valid), .flit_i(deparsed), .job_i(job), .image_i(image),
    .valid_o(turned_valid), .out_o(turned)
  );
  sl_splice_join u_join (
    .clk_i, .rst_i, .in_data_i(joined), .in_valid_i(joined_valid), .in_ready_o(joined_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
