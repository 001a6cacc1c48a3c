// SPDX-License-Identifier: Apache-2.0
// Deparser: puts each packet together with its record again, decides what becomes of it and writes the edits into it
// (README.md). One flit a cycle of the busier side. Packets wait here for their records: PacketFlits must cover the time
// that records take through the tables. A packet whose record never comes stops the element, and a record without a
// packet waits; nothing else does.
module el_deparse
  import sluice_pkg::*;
  import sl_packet_pkg::*;
#(
  parameter int unsigned PacketFlits = 256  // flits that wait for their record, 16 or more; block RAM
) (
  input  logic           clk_i,
  input  logic           rst_i,        // synchronous, active high
  input  flit_t          in_data_i,    // packets
  input  logic           in_valid_i,
  output logic           in_ready_o,   // registered
  input  phv_record_t    phv_data_i,   // one record a packet, in the order of the packets
  input  logic           phv_valid_i,
  output logic           phv_ready_o,  // registered
  output flit_t          out_data_o,
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output deparse_event_t event_o       // one-cycle pulses, one packet a cycle at most
);
  localparam int unsigned CountBits = $clog2(PacketFlits + 1);

  flit_t                flit;
  logic                 flit_valid, flit_ready;
  logic [CountBits-1:0] unused_count;

  sl_fifo #(.Width(FLIT_BITS), .Depth(PacketFlits), .Style(1)) u_packets (
    .clk_i, .rst_i,
    .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(flit), .out_valid_o(flit_valid), .out_ready_i(flit_ready), .count_o(unused_count)
  );

  phv_record_t  decide_record;
  deparse_job_t decide_job, job;
  logic         decide_in_valid, decide_out_valid, job_valid, job_ready;

  sl_pipe_gate #(.InWidth(PHV_RECORD_BITS), .OutWidth($bits(deparse_job_t)), .Latency(DECIDE_LATENCY)) u_jobs (
    .clk_i, .rst_i,
    .in_data_i(phv_data_i), .in_valid_i(phv_valid_i), .in_ready_o(phv_ready_o),
    .stage_valid_o(decide_in_valid), .stage_data_o(decide_record),
    .stage_valid_i(decide_out_valid), .stage_data_i(decide_job),
    .out_data_o(job), .out_valid_o(job_valid), .out_ready_i(job_ready)
  );

  sl_deparse_decide u_decide (
    .clk_i, .rst_i,
    .valid_i(decide_in_valid), .record_i(decide_record), .valid_o(decide_out_valid), .job_o(decide_job)
  );

  aligned_t aligned, write_in;
  logic     aligned_valid, aligned_ready, write_in_valid, write_out_valid;
  flit_t    written;

  sl_deparse_align u_align (
    .clk_i, .rst_i,
    .in_data_i(flit), .in_valid_i(flit_valid), .in_ready_o(flit_ready),
    .job_data_i(job), .job_valid_i(job_valid), .job_ready_o(job_ready),
    .out_data_o(aligned), .out_valid_o(aligned_valid), .out_ready_i(aligned_ready)
  );

  sl_pipe_gate #(.InWidth($bits(aligned_t)), .OutWidth(FLIT_BITS), .Latency(WRITE_LATENCY)) u_writes (
    .clk_i, .rst_i,
    .in_data_i(aligned), .in_valid_i(aligned_valid), .in_ready_o(aligned_ready),
    .stage_valid_o(write_in_valid), .stage_data_o(write_in),
    .stage_valid_i(write_out_valid), .stage_data_i(written),
    .out_data_o, .out_valid_o, .out_ready_i
  );

  sl_deparse_write u_write (
    .clk_i, .rst_i, .valid_i(write_in_valid), .in_i(write_in), .valid_o(write_out_valid), .flit_o(written)
  );

  always_ff @(posedge clk_i) begin
    event_o <= job_valid && job_ready && !rst_i ? job.happened : '0;
  end
endmodule
