// SPDX-License-Identifier: Apache-2.0
// The deparser that is loaded at run time: writes containers back into the headers that the parser found. Flits in, flits out,
// DEPARSER_LATENCY cycles later; never stalls. The record of a packet, with its checksums repaired (sl_deparser_checksums), comes
// with its first flit. A packet with a fault passes unchanged.
//
// All memories must be written once before the first packet; afterwards those of the version that no packet has may be written at
// any time.
module sl_deparser
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Writers = DEPARSER_WRITERS  // headers of a packet that can be rewritten, at least 1
) (
  input  logic                  clk_i,
  input  logic                  rst_i,          // synchronous, active high
  input  logic                  write_valid_i,
  input  pipeline_write_t       write_i,        // effective for packets that enter two cycles later
  input  logic                  valid_i,
  input  flit_t                 flit_i,
  input  parsed_t               record_i,       // with the first flit
  output logic                  valid_o,
  output flit_t                 flit_o
);
  logic            write_valid_q;
  pipeline_write_t write_q;

  always_ff @(posedge clk_i) begin
    write_valid_q <= write_valid_i && !rst_i;
    if (write_valid_i) write_q <= write_i;
  end

  // The images of the headers, and the flits beside them.
  header_image_t [Writers-1:0] image;
  logic          [Writers-1:0] image_valid;
  logic                        flit_valid;
  flit_t                       flit;

  for (genvar w = 0; w < Writers; w++) begin : gen_writer
    sl_deparser_image u_image (
      .clk_i, .rst_i, .write_valid_i(write_valid_q && 32'(write_q.unit) == w), .write_i(write_q),
      .valid_i(valid_i && flit_i.sop), .record_i, .valid_o(image_valid[w]), .image_o(image[w])
    );
  end
  sl_delay #(.Width($bits(flit_t)), .Cycles(DEPARSER_LATENCY - 1)) u_flits (
    .clk_i, .rst_i, .valid_i, .data_i(flit_i), .valid_o(flit_valid), .data_o(flit)
  );

  // A header lies in one or two rows of PARSER_REACH words; each column of its image says in which. The images stay until those of
  // the next packet.
  localparam int unsigned FlitWords = DATA_BYTES / 2;
  localparam int unsigned FlitsOfARow = PARSER_REACH / FlitWords;
  localparam int unsigned IndexBits = $clog2(WINDOW_FLITS + 1);

  logic [IndexBits-1:0]   index, later_q;  // number of the flit in its packet, at most WINDOW_FLITS
  logic [8*DATA_BYTES-1:0] written;

  assign index = flit.sop ? '0 : later_q;
  always_comb begin
    written = flit.data;
    for (int n = 0; n < FlitWords; n++) begin
      for (int w = 0; w < Writers; w++) begin
        for (int part = 0; part < FlitsOfARow; part++) begin
          if (image[w].enable[FlitWords*part+n] && 32'(index) == 32'(image[w].row[FlitWords*part+n]) * FlitsOfARow + part) begin
            written[16*n +: 8]   = image[w].words[FlitWords*part+n][15:8];
            written[16*n+8 +: 8] = image[w].words[FlitWords*part+n][7:0];
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o <= flit_valid && !rst_i;
    if (flit_valid) begin
      flit_o      <= flit;
      flit_o.data <= written;
      later_q     <= index == IndexBits'(WINDOW_FLITS) ? index : index + 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    for (int w = 0; w < Writers; w++) begin
      if (!rst_i && image_valid[w]) a_image_is_in_time : assert (flit_valid && flit.sop);
    end
  end
`else
  logic unused;
  assign unused = &{1'b0, image_valid};
`endif
endmodule
