// SPDX-License-Identifier: Apache-2.0
// Repairs the checksums of a packet: adds to each what changed in the containers that it covers (RFC 1624, equation 3), as the row
// says that was loaded for the kind of header that holds it (`checksum_row_t`). A checksum that covers no change stays as it is. No
// container is the checksum of two rows of a packet. DEPARSER_CHECKSUM_LATENCY cycles, never stalls.
//
// cycle 1: the headers, and what changed; 2: what the rows cover; 3 to 7: sums of 2, 4, 8, 16 and all changes, two a cycle because
// sums of more become carry-save adders of twice the LUTs; 8, 9: in 16 bits; 10, 11: with the checksum; 12: complement; 13: into the
// containers.
module sl_deparser_checksums
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_i,          // synchronous, active high
  input  logic                 write_valid_i,  // to a memory of the deparser
  input  pipeline_write_t      write_i,        // effective for packets that enter two cycles later
  input  logic                 valid_i,
  input  parsed_t              record_i,
  input  pipeline_containers_t original_i,
  output logic                 valid_o,
  output parsed_t              record_o        // as record_i, with new checksums
);
  localparam int unsigned Latency = DEPARSER_CHECKSUM_LATENCY;
  localparam int unsigned Fours   = PIPELINE_CONTAINERS / 4;
  localparam int unsigned Eights  = (Fours + 1) / 2;

  logic             write_valid_q;
  pipeline_write_t  write_q;
  logic [Latency:0] valid;

  always_ff @(posedge clk_i) begin
    write_valid_q <= write_valid_i && !rst_i;
    if (write_valid_i) write_q <= write_i;
  end

  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  always_ff @(posedge clk_i) valid[Latency:1] <= rst_i ? '0 : valid[Latency-1:0];

  // The carry comes in again at bit 0, once it is in one bit.
  function automatic logic [15:0] folded(logic [16:0] sum);
    return sum[15:0] + 16'(sum[16]);
  endfunction

  // new + ~old of each container
  logic [PIPELINE_CONTAINERS-1:0][16:0] change_q;
  logic [PIPELINE_CONTAINERS-1:0]       changed_q;

  always_ff @(posedge clk_i) begin
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
      change_q[c]  <= 17'(record_i.containers[c]) + {1'b0, ~original_i[c]};
      changed_q[c] <= record_i.containers[c] != original_i[c];
    end
  end

  parsed_t    record_8, record_12;
  logic [1:0] beside;
  sl_delay #(.Width($bits(parsed_t)), .Cycles(8)) u_record_8 (
    .clk_i, .rst_i, .valid_i, .data_i(record_i), .valid_o(beside[0]), .data_o(record_8)
  );
  sl_delay #(.Width($bits(parsed_t)), .Cycles(Latency - 1 - 8)) u_record_12 (
    .clk_i, .rst_i, .valid_i(beside[0]), .data_i(record_8), .valid_o(beside[1]), .data_o(record_12)
  );

  source_choice_t [DEPARSER_CHECKSUMS-1:0]          choice_8_q;
  logic [DEPARSER_CHECKSUMS-1:0][15:0]              old_9, checksum_q;
  logic [DEPARSER_CHECKSUMS-1:0][UNIT_SOURCES-1:0]  place_q;  // where it is written, of cycle 12

  sl_source_select #(.Words(DEPARSER_CHECKSUMS)) u_old (
    .clk_i, .sources_i(sources_of(record_8)), .choice_i(choice_8_q), .word_o(old_9)
  );

  for (genvar u = 0; u < DEPARSER_CHECKSUMS; u++) begin : gen_checksum
    logic                                 to_this;
    logic [1:0][$clog2(PARSER_BASES)-1:0] base_q;  // of each version
    logic [$clog2(PARSER_KINDS)-1:0]      kind_q;
    logic                                 version_q, present_q;
    checksum_row_t                        row_1;
    checksum_row_t [11:2]                 row_q;
    source_choice_t [11:9]                choice_q;
    logic [PIPELINE_CONTAINERS-1:0][16:0] covered_q;
    logic [2*Fours-1:0][17:0]             pair_q;
    logic [Fours-1:0][18:0]               four_q;
    logic [Eights-1:0][19:0]              eight_q;
    logic [Eights/2-1:0][20:0]            sixteen_q;
    logic [22:0]                          all_q;
    logic [16:0]                          all_8_q, sum_10_q;
    logic [15:0]                          all_9_q, sum_11_q;
    logic                                 writes_10_q, writes_11_q;

    assign to_this = write_valid_q && 32'(write_q.unit) == u;
    sl_ram_lut #(.Width($bits(checksum_row_t)), .Depth(2 * PARSER_KINDS)) u_rows (
      .clk_i, .write_valid_i(to_this && write_q.memory == DEPARSER_MEMORY_CHECKSUM_ROW),
      .write_address_i(write_q.address[3:0]), .write_data_i(write_q.data[$bits(checksum_row_t)-1:0]),
      .read_address_i({version_q, kind_q}), .read_data_o(row_1)
    );

    always_ff @(posedge clk_i) begin
      if (to_this && write_q.memory == DEPARSER_MEMORY_CHECKSUM_BASE) begin
        base_q[write_q.address[0]] <= write_q.data[$clog2(PARSER_BASES)-1:0];
      end
      kind_q    <= record_i.bases[base_q[record_i.version]].kind;
      present_q <= record_i.bases[base_q[record_i.version]].valid && record_i.fault == FAULT_NONE;
      version_q <= record_i.version;

      row_q           <= {row_q[10:2], row_1};
      row_q[2].enable <= row_1.enable && present_q;
      for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
        if (row_1.covers[c] && changed_q[c]) covered_q[c] <= change_q[c];
        else covered_q[c] <= '0;
      end
      for (int p = 0; p < 2 * Fours; p++) pair_q[p] <= 18'(covered_q[2*p]) + 18'(covered_q[2*p+1]);
      for (int f = 0; f < Fours; f++) four_q[f] <= 19'(pair_q[2*f]) + 19'(pair_q[2*f+1]);
      for (int e = 0; e < Fours / 2; e++) eight_q[e] <= 20'(four_q[2*e]) + 20'(four_q[2*e+1]);
      eight_q[Eights-1] <= 20'(four_q[Fours-1]);
      for (int n = 0; n < Eights / 2; n++) sixteen_q[n] <= 21'(eight_q[2*n]) + 21'(eight_q[2*n+1]);
      all_q       <= 23'(sixteen_q[0]) + 23'(sixteen_q[1]) + 23'(sixteen_q[2]);
      choice_8_q[u] <= choice_of(row_q[7].container);
      choice_q      <= {choice_q[10:9], choice_8_q[u]};
      all_8_q       <= 17'(all_q[15:0]) + 17'(all_q[22:16]);
      all_9_q       <= folded(all_8_q);
      sum_10_q      <= 17'(all_9_q) + {1'b0, ~old_9[u]};
      writes_10_q   <= row_q[9].enable && all_9_q != '0 && !(row_q[9].optional && old_9[u] == '0);
      sum_11_q      <= folded(sum_10_q);
      writes_11_q   <= writes_10_q;
      checksum_q[u] <= row_q[11].optional && sum_11_q == '1 ? '1 : ~sum_11_q;
      for (int c = 0; c < UNIT_SOURCES; c++) begin
        place_q[u][c] <= writes_11_q && choice_q[11].row[c/SOURCE_COLUMNS] && 32'(choice_q[11].column) == c % SOURCE_COLUMNS;
      end
    end

    logic unused;
    assign unused = &{1'b0, row_q};
  end

  always_ff @(posedge clk_i) begin
    record_o <= record_12;
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
      for (int u = 0; u < DEPARSER_CHECKSUMS; u++) if (place_q[u][c]) record_o.containers[c] <= checksum_q[u];
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_q, place_q};
endmodule
