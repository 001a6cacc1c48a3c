// SPDX-License-Identifier: Apache-2.0
// Prepares the splice of a packet: reads its row (`splice_row_t`), finds the place, and turns what is inserted to the columns of a
// flit. The job comes SPLICE_JOB_LATENCY cycles after the record, what is inserted SPLICE_IMAGE_LATENCY later; both stay until the
// next packet's. Never stalls. A packet that has a fault, or not the base, or that ends with what would be removed, or would be too
// short, has a job that does nothing.
module sl_splice_job
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_i,          // synchronous, active high
  input  logic            write_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // a row is smaller than other words; containers, bases, fault, version, length only
  input  pipeline_write_t write_i,        // registered
  input  logic            valid_i,
  input  parsed_t         record_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [3:0]      splice_i,       // number; 0: none
  output splice_job_t     job_o,
  output logic [FLIT_WORDS-1:0][15:0] image_o  // only columns that the job names mean anything
);
  localparam int unsigned ColumnBits = $clog2(FLIT_WORDS);
  localparam int unsigned Before     = SPLICE_JOB_LATENCY + SPLICE_IMAGE_LATENCY - 1;  // the last cycle
  localparam int unsigned Wait       = SPLICE_JOB_LATENCY - 7;
  localparam int unsigned RowBits    = $bits(splice_row_t);

  typedef logic [SPLICE_WORDS-1:0][15:0] words_t;
  typedef logic [ColumnBits-1:0]         column_t;

  logic [Before:1] valid_q;

  always_ff @(posedge clk_i) valid_q <= rst_i ? '0 : {valid_q[Before-1:1], valid_i};

  // Cycles 1 and 2: the row, then the base and the words.
  splice_row_t                   row, row_q;
  pipeline_containers_t          containers_q;
  parser_base_t [PARSER_BASES-1:0] bases_q;
  /* verilator lint_off UNUSEDSIGNAL */  // of any kind
  parser_base_t                  base_q;
  /* verilator lint_on UNUSEDSIGNAL */
  words_t                        words_q;
  logic [3:0]                    inserted_q [2:6];  // by cycle
  logic [5:0]                    removed_q [2:3];
  logic [4:0]                    word_q;
  logic [15:0]                   length_q [1:4];
  logic [5:1]                    wanted_q;

  sl_ram_lut #(.Width(RowBits), .Depth(2 * SPLICES)) u_rows (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == DEPARSER_MEMORY_SPLICE),
    .write_address_i(write_i.address[4:0]), .write_data_i(write_i.data[RowBits-1:0]),
    .read_address_i({record_i.version, splice_i}), .read_data_o(row)
  );

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      row_q        <= row;
      containers_q <= record_i.containers;
      bases_q      <= record_i.bases;
      length_q[1]  <= record_i.length;
      wanted_q[1]  <= splice_i != '0 && record_i.fault == FAULT_NONE;
    end
    if (valid_q[1]) begin
      base_q        <= bases_q[row_q.base];
      inserted_q[2] <= row_q.inserted;
      removed_q[2]  <= row_q.removed;
      word_q        <= row_q.word;
      length_q[2]   <= length_q[1];
      wanted_q[2]   <= wanted_q[1];
      for (int n = 0; n < SPLICE_WORDS; n++) begin
        words_q[n] <= row_q.words[n].row == '0 ? row_q.words[n].constant : '0;
        for (int c = n; c < PIPELINE_CONTAINERS; c += 16) begin
          if (32'(row_q.words[n].row) == 1 + c / 16) words_q[n] <= containers_q[c];
        end
      end
    end
  end

  // Cycles 3 to 5: the place, the end of what is removed, whether the packet goes on there.
  logic [7:0]        place_q [3:6];
  logic [8:0]        end_q;
  logic signed [6:0] grows_q [3:6];
  logic [5:0]        upto_q [4:6];
  logic              goes_on_q, enough_q, enable_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      place_q[3]    <= 8'(base_q.position) + 8'(word_q);
      grows_q[3]    <= $signed({3'd0, inserted_q[2]}) - $signed({1'b0, removed_q[2]});
      inserted_q[3] <= inserted_q[2];
      removed_q[3]  <= removed_q[2];
      length_q[3]   <= length_q[2];
      wanted_q[3]   <= wanted_q[2] && base_q.valid;
    end
    if (valid_q[3]) begin
      place_q[4]  <= place_q[3];
      end_q       <= 9'(place_q[3]) + 9'(removed_q[3]);
      grows_q[4]  <= grows_q[3];
      upto_q[4]   <= 6'(column_t'(place_q[3])) + 6'(inserted_q[3]);
      length_q[4] <= length_q[3];
      wanted_q[4] <= wanted_q[3];
    end
    if (valid_q[4]) begin
      place_q[5]  <= place_q[4];
      grows_q[5]  <= grows_q[4];
      upto_q[5]   <= upto_q[4];
      goes_on_q   <= 16'({end_q, 1'b0}) < length_q[4];
      enough_q    <= 17'(length_q[4]) + {{9{grows_q[4][6]}}, grows_q[4], 1'b0} >= 17'(SPLICE_LEAST);
      wanted_q[5] <= wanted_q[4];
    end
  end

  // It waits, as long as the deparser takes.
  logic [7:0]        place_5;
  logic signed [6:0] grows_5;
  logic [5:0]        upto_5;
  logic              enable_5, valid_5;

  sl_delay #(.Width(8 + 7 + 6 + 1), .Cycles(Wait)) u_wait (
    .clk_i, .rst_i, .valid_i(valid_q[5]), .data_i({place_q[5], grows_q[5], upto_q[5], wanted_q[5] && goes_on_q && enough_q}),
    .valid_o(valid_5), .data_o({place_5, grows_5, upto_5, enable_5})
  );

  // The last two cycles: the flits, the columns.
  logic [2:0] later_q;  // flits that the flit with the place must wait for

  function automatic flit_columns_t below(logic [6:0] end_of);
    for (int c = 0; c < FLIT_WORDS; c++) below[c] = 32'(end_of) > c;
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid_5) begin
      place_q[6] <= place_5;
      grows_q[6] <= grows_5;
      upto_q[6]  <= upto_5;
      enable_q   <= enable_5;
      later_q    <= 3'(-(grows_5 >>> ColumnBits));
    end
    if (valid_q[6+Wait]) begin
      job_o.enable  <= enable_q;
      job_o.lags    <= enable_q && later_q != '0;
      job_o.first   <= 4'(place_q[6] >> ColumnBits);
      job_o.head    <= 4'(place_q[6] >> ColumnBits) + (later_q == '0 ? '0 : 4'(later_q) - 4'd1);
      job_o.turn    <= enable_q ? column_t'(grows_q[6]) : '0;
      job_o.grows   <= enable_q ? grows_q[6] : '0;
      job_o.ahead   <= below(7'(column_t'(place_q[6])));
      job_o.upto    <= below(7'(upto_q[6]));
      job_o.wrapped <= below(32'(upto_q[6]) > FLIT_WORDS ? 7'(32'(upto_q[6]) - FLIT_WORDS) : '0);
      job_o.moved   <= below(7'(column_t'(grows_q[6])));
    end
  end

  // From the job's cycle on: word n goes to column (place + n) modulo FLIT_WORDS.
  localparam int unsigned NearWords = SPLICE_WORDS + 3;

  words_t                      words;
  logic                        words_valid;
  column_t                     turn_7_q;
  logic [ColumnBits-1:2]       turn_8_q;
  logic [NearWords-1:0][15:0]  near_q;

  sl_delay #(.Width($bits(words_t)), .Cycles(SPLICE_JOB_LATENCY - 2)) u_words (
    .clk_i, .rst_i, .valid_i(valid_q[2]), .data_i(words_q), .valid_o(words_valid), .data_o(words)
  );

  always_ff @(posedge clk_i) begin
    if (valid_q[6+Wait]) turn_7_q <= column_t'(place_q[6]);
    if (words_valid) begin
      turn_8_q <= turn_7_q[ColumnBits-1:2];
      for (int c = 0; c < NearWords; c++) begin
        near_q[c] <= '0;
        for (int by = 0; by < 4; by++) begin
          if (c - by >= 0 && c - by < SPLICE_WORDS && turn_7_q[1:0] == 2'(by)) near_q[c] <= words[c-by];
        end
      end
    end
    if (valid_q[8+Wait]) begin
      logic [FLIT_WORDS-1:0][15:0] turned;  // two words of a column with narrow flits: one of them is 0
      turned = '0;
      for (int by = 0; by < FLIT_WORDS / 4; by++) begin
        for (int n = 0; n < NearWords; n++) if (32'(turn_8_q) == by) turned[(n + 4 * by) % FLIT_WORDS] |= near_q[n];
      end
      image_o <= turned;
    end
  end
endmodule
