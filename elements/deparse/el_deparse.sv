// SPDX-License-Identifier: Apache-2.0
// Deparser: joins each packet with its record, decides its fate, writes the edits, removes the headers of an opened tunnel and
// prepends a header template (README.md). One flit per cycle on the busier side. Packets wait here for their records: PacketFlits
// must cover the latency of the tables. A packet whose record never comes stalls the element, and a record without a packet waits;
// nothing else stalls it.
module el_deparse
  import sluice_pkg::*;
  import sl_packet_pkg::*;
#(
  parameter int unsigned PacketFlits = 256  // flits that wait for their record, at least 16; block RAM
) (
  input  logic           clk_i,
  input  logic           rst_i,        // synchronous, active high
  input  flit_t          in_data_i,    // packets
  input  logic           in_valid_i,
  output logic           in_ready_o,   // registered
  input  phv_record_t    phv_data_i,   // one record per packet, in packet order
  input  logic           phv_valid_i,
  output logic           phv_ready_o,  // registered
  output flit_t          out_data_o,
  output logic           out_valid_o,
  input  logic           out_ready_i,
  input  register_request_t  reg_request_i,
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o,
  output deparse_event_t event_o       // one-cycle pulses, at most one packet per cycle
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
  logic     aligned_valid, aligned_ready, write_in_valid, write_out_valid, written_valid, written_ready;
  written_t write_out, written;
  logic     template_valid;  // a template is stored: no flit advances in this cycle

  sl_deparse_align u_align (
    .clk_i, .rst_i,
    .in_data_i(flit), .in_valid_i(flit_valid), .in_ready_o(flit_ready),
    .job_data_i(job), .job_valid_i(job_valid), .job_ready_o(job_ready),
    .out_data_o(aligned), .out_valid_o(aligned_valid), .out_ready_i(aligned_ready && !template_valid)
  );

  sl_pipe_gate #(.InWidth($bits(aligned_t)), .OutWidth($bits(written_t)), .Latency(WRITE_LATENCY)) u_writes (
    .clk_i, .rst_i,
    .in_data_i(aligned), .in_valid_i(aligned_valid && !template_valid), .in_ready_o(aligned_ready),
    .stage_valid_o(write_in_valid), .stage_data_o(write_in),
    .stage_valid_i(write_out_valid), .stage_data_i(write_out),
    .out_data_o(written), .out_valid_o(written_valid), .out_ready_i(written_ready)
  );

  sl_deparse_write u_write (
    .clk_i, .rst_i, .valid_i(write_in_valid), .in_i(write_in),
    .valid_o(write_out_valid), .out_o(write_out)
  );

  // A header is built alongside its packet's first flit. The gate admits no more flits than there are slots here.
  localparam int unsigned Headers = 16;

  template_t     template_data;
  logic [7:0]    template_index;
  logic          made_valid, unused_made_ready, header_valid, header_ready;
  front_header_t made, header;
  logic [$clog2(Headers + 1)-1:0] unused_headers;

  sl_deparse_registers u_registers (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .write_valid_o(template_valid), .write_index_o(template_index), .write_data_o(template_data)
  );

  sl_deparse_template u_template (
    .clk_i, .rst_i, .write_valid_i(template_valid), .write_index_i(template_index),
    .write_data_i(template_data),
    .valid_i(write_in_valid && write_in.flit.sop && write_in.front.insert), .front_i(write_in.front),
    .length_i(write_in.flit.meta.length), .valid_o(made_valid), .header_o(made)
  );

  sl_fifo #(.Width($bits(front_header_t)), .Depth(Headers)) u_headers (
    .clk_i, .rst_i, .in_data_i(made), .in_valid_i(made_valid), .in_ready_o(unused_made_ready),
    .out_data_o(header), .out_valid_o(header_valid), .out_ready_i(header_ready), .count_o(unused_headers)
  );

  sl_deparse_prepend u_prepend (
    .clk_i, .rst_i,
    .in_data_i(written), .in_valid_i(written_valid), .in_ready_o(written_ready),
    .header_data_i(header), .header_valid_i(header_valid), .header_ready_o(header_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );

  always_ff @(posedge clk_i) begin
    event_o <= job_valid && job_ready && !rst_i ? job.happened : '0;
  end
endmodule
