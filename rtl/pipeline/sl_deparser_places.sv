// SPDX-License-Identifier: Apache-2.0
// Where the containers of a packet go: for each container a word of the packet, or none. A writer looks up the row of its header's
// kind (`deparser_row_t`), and adds the header's position to the words in it. Of several writers that have a row for one container
// the last decides. DEPARSER_PLACES_LATENCY cycles, never stalls.
//
// cycle 1: the headers; 2: their rows; 3: a word for each slot, and which containers the row is for; 4: the containers.
module sl_deparser_places
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Writers = DEPARSER_WRITERS  // at least 1
) (
  input  logic             clk_i,
  input  logic             rst_i,          // synchronous, active high
  input  logic             write_valid_i,
  input  pipeline_write_t  write_i,        // registered
  input  logic             valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // bases, fault and version only
  input  parsed_t          record_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output deparser_places_t places_o        // stable until the next
);
  localparam int unsigned Latency = DEPARSER_PLACES_LATENCY;

  logic [Latency-1:0] valid;

  assign valid[0] = valid_i;
  always_ff @(posedge clk_i) valid[Latency-1:1] <= rst_i ? '0 : valid[Latency-2:0];

  logic [Writers-1:0][PARSER_SLOTS-1:0][6:0]   word_q;   // of the packet
  logic [Writers-1:0][PIPELINE_CONTAINERS-1:0] named_q;  // the row is for this container

  for (genvar w = 0; w < Writers; w++) begin : gen_writer
    logic                                 to_this;
    logic [1:0][$clog2(PARSER_BASES)-1:0] base_q;  // of each version
    logic [$clog2(PARSER_KINDS)-1:0]      kind_q;
    logic [6:0]                           position_1_q, position_2_q;
    logic                                 version_q, present_q;
    deparser_row_t                        row_1, row_q;

    assign to_this = write_valid_i && 32'(write_i.unit) == w;
    sl_ram_lut #(.Width($bits(deparser_row_t)), .Depth(2 * PARSER_KINDS)) u_rows (
      .clk_i, .write_valid_i(to_this && write_i.memory == DEPARSER_MEMORY_ROW),
      .write_address_i(write_i.address[3:0]), .write_data_i(write_i.data[$bits(deparser_row_t)-1:0]),
      .read_address_i({version_q, kind_q}), .read_data_o(row_1)
    );

    always_ff @(posedge clk_i) begin
      if (to_this && write_i.memory == DEPARSER_MEMORY_BASE) begin
        base_q[write_i.address[0]] <= write_i.data[$clog2(PARSER_BASES)-1:0];
      end
      if (valid[0]) begin
        kind_q       <= record_i.bases[base_q[record_i.version]].kind;
        position_1_q <= record_i.bases[base_q[record_i.version]].position;
        present_q    <= record_i.bases[base_q[record_i.version]].valid && record_i.fault == FAULT_NONE;
        version_q    <= record_i.version;
      end
      if (valid[1]) begin
        position_2_q <= position_1_q;
        row_q        <= row_1;
        if (!present_q) for (int n = 0; n < PARSER_SLOTS; n++) row_q.places[n].row <= '0;
      end
      if (valid[2]) begin
        for (int n = 0; n < PARSER_SLOTS; n++) word_q[w][n] <= position_2_q + 7'(row_q.places[n].word);
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) named_q[w][c] <= 32'(row_q.places[c%PARSER_SLOTS].row) == 1 + c / PARSER_SLOTS;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid[3]) begin
      for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
        logic [6:0] word;
        word = '0;
        for (int w = 0; w < Writers; w++) if (named_q[w][c]) word = word_q[w][c%PARSER_SLOTS];
        places_o.word[c] <= word;
      end
      for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
        logic any;
        any = 1'b0;
        for (int w = 0; w < Writers; w++) any |= named_q[w][c];
        places_o.valid[c] <= any;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, write_i};
endmodule
