// SPDX-License-Identifier: Apache-2.0
// A writer of the deparser: makes the image of one header of a packet, as the row says that was loaded for its kind
// (`deparser_row_t`), turned to where the header lies in the packet. DEPARSER_IMAGE_LATENCY cycles, never stalls.
//
// cycle 1: the header; 2: its row; 3: the slots; 4: the words; 5 and 6: the turn.
module sl_deparser_image
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_i,          // synchronous, active high
  input  logic            write_valid_i,  // to a writer's memory, if to this one
  input  pipeline_write_t write_i,        // registered
  input  logic            valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // containers, bases, fault and version only
  input  parsed_t         record_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic            valid_o,
  output header_image_t   image_o         // stable until the next
);
  localparam int unsigned Copies = 8;  // of what chooses among the words
  localparam int unsigned Own    = PARSER_REACH / Copies;

  logic [DEPARSER_IMAGE_LATENCY:0] valid;

  assign valid[0] = valid_i;
  assign valid_o  = valid[DEPARSER_IMAGE_LATENCY];
  always_ff @(posedge clk_i) valid[DEPARSER_IMAGE_LATENCY:1] <= rst_i ? '0 : valid[DEPARSER_IMAGE_LATENCY-1:0];

  // Cycles 1 and 2.
  logic [1:0][$clog2(PARSER_BASES)-1:0] base_q;  // of each version
  logic [$clog2(PARSER_KINDS)-1:0]      kind_q;
  logic [6:0]                           position_1_q, position_2_q;
  logic                                 version_q, present_q;
  deparser_row_t                        row_1, row_q;
  pipeline_containers_t                 containers;
  logic                                 beside;

  sl_ram_lut #(.Width($bits(deparser_row_t)), .Depth(2 * PARSER_KINDS)) u_rows (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == DEPARSER_MEMORY_ROW),
    .write_address_i(write_i.address[3:0]), .write_data_i(write_i.data[$bits(deparser_row_t)-1:0]),
    .read_address_i({version_q, kind_q}), .read_data_o(row_1)
  );
  sl_delay #(.Width($bits(pipeline_containers_t)), .Cycles(2)) u_containers (
    .clk_i, .rst_i, .valid_i, .data_i(record_i.containers), .valid_o(beside), .data_o(containers)
  );

  always_ff @(posedge clk_i) begin
    if (write_valid_i && write_i.memory == DEPARSER_MEMORY_BASE) base_q[write_i.address[0]] <= write_i.data[$clog2(PARSER_BASES)-1:0];
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
  end

  // Cycles 3 and 4: the words, and their columns.
  logic [PARSER_SLOTS-1:0][15:0]             slot_q;
  logic [PARSER_REACH-1:0][PARSER_SLOTS-1:0] takes_q;  // the word takes the slot
  parser_reach_t                             words_q;
  logic [PARSER_REACH-1:0]                   enable_q;
  logic [6:0]                                position_3_q, position_4_q;

  always_ff @(posedge clk_i) begin
    if (valid[2]) begin
      position_3_q <= position_2_q;
      for (int n = 0; n < PARSER_SLOTS; n++) begin
        slot_q[n] <= '0;
        for (int c = n; c < PIPELINE_CONTAINERS; c += PARSER_SLOTS) begin
          if (32'(row_q.places[n].row) == 1 + c / PARSER_SLOTS) slot_q[n] <= containers[c];
        end
        for (int w = 0; w < PARSER_REACH; w++) takes_q[w][n] <= row_q.places[n].row != '0 && 32'(row_q.places[n].word) == w;
      end
    end
    if (valid[3]) begin
      position_4_q <= position_3_q;
      for (int w = 0; w < PARSER_REACH; w++) begin
        logic [15:0] word;
        word = '0;
        for (int n = 0; n < PARSER_SLOTS; n++) if (takes_q[w][n]) word |= slot_q[n];
        words_q[w]  <= word;
        enable_q[w] <= takes_q[w] != '0;
      end
    end
  end

  // Cycles 5 and 6: word w goes to column (position + w) modulo PARSER_REACH.
  logic [Copies-1:0][4:0]  turn_4_q;
  logic [Copies-1:0][2:0]  turn_5_q;
  logic [6:0]              position_5_q;
  parser_reach_t           turned_q;
  logic [PARSER_REACH-1:0] turned_enable_q;

  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    sl_copy #(.Width(5)) u_turn (.clk_i, .enable_i(valid[3]), .data_i(position_3_q[4:0]), .data_o(turn_4_q[c]));
    sl_copy #(.Width(3)) u_rest (.clk_i, .enable_i(valid[4]), .data_i(turn_4_q[c][4:2]), .data_o(turn_5_q[c]));
  end

  always_ff @(posedge clk_i) begin
    if (valid[4]) begin
      position_5_q <= position_4_q;
      for (int c = 0; c < PARSER_REACH; c++) begin
        turned_q[c]        <= words_q[5'(c)-5'(turn_4_q[c/Own][1:0])];
        turned_enable_q[c] <= enable_q[5'(c)-5'(turn_4_q[c/Own][1:0])];
      end
    end
    if (valid[5]) begin
      for (int c = 0; c < PARSER_REACH; c++) begin
        logic [1:0] row;
        row = position_5_q[6:5] + 2'(32'(position_5_q[4:0]) > c);
        image_o.words[c]  <= turned_q[5'(c)-{turn_5_q[c/Own], 2'b00}];
        image_o.enable[c] <= turned_enable_q[5'(c)-{turn_5_q[c/Own], 2'b00}] && 32'(row) < PARSER_WORDS / PARSER_REACH;
        image_o.row[c]    <= row;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_i.unit};
endmodule
