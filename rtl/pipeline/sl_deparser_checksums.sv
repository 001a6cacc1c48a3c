// SPDX-License-Identifier: Apache-2.0
// Repairs the checksums of a packet: adds to each what changed in the containers that it covers (RFC 1624, equation 3), as the row
// says that was loaded for the kind of header that holds it (`checksum_row_t`). A checksum that covers no change stays as it is.
// DEPARSER_CHECKSUM_LATENCY cycles, never stalls.
//
// cycle 1: the headers, and what changed; 2: rows, and changes in 16 bits; 3 to 5: sums of 4, 16 and all changes; 6: with the
// checksum; 7: its complement.
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

  // The carry comes in again at bit 0.
  function automatic logic [15:0] folded(logic [19:0] sum);
    logic [16:0] once;
    once = 17'(sum[15:0]) + 17'(sum[19:16]);
    return once[15:0] + 16'(once[16]);
  endfunction

  // Cycles 1 and 2: new + ~old of each container; 0 for one that did not change.
  logic [PIPELINE_CONTAINERS-1:0][16:0] change_1_q;
  pipeline_containers_t                 change_q;

  always_ff @(posedge clk_i) begin
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
      if (valid[0]) change_1_q[c] <= 17'(record_i.containers[c]) + {1'b0, ~original_i[c]};
      if (valid[1]) change_q[c]   <= change_1_q[c] == 17'h0ffff ? '0 : change_1_q[c][15:0] + 16'(change_1_q[c][16]);
    end
  end

  parsed_t record;
  logic    beside;
  sl_delay #(.Width($bits(parsed_t)), .Cycles(Latency - 2)) u_record (
    .clk_i, .rst_i, .valid_i, .data_i(record_i), .valid_o(beside), .data_o(record)
  );

  logic [DEPARSER_CHECKSUMS-1:0]       enable_q;   // in cycle 6
  logic [DEPARSER_CHECKSUMS-1:0][15:0] checksum_q;
  logic [DEPARSER_CHECKSUMS-1:0][5:0]  container_q;

  for (genvar u = 0; u < DEPARSER_CHECKSUMS; u++) begin : gen_checksum
    logic                                 to_this;
    logic [1:0][$clog2(PARSER_BASES)-1:0] base_q;  // of each version
    logic [$clog2(PARSER_KINDS)-1:0]      kind_q;
    logic                                 version_q, present_q;
    checksum_row_t                        row_1;
    checksum_row_t [5:2]                  row_q;
    logic [Fours-1:0][17:0]               four_q;
    logic [2:0][19:0]                     sixteen_q;
    logic [15:0]                          all_q;

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
      if (valid[0]) begin
        kind_q    <= record_i.bases[base_q[record_i.version]].kind;
        present_q <= record_i.bases[base_q[record_i.version]].valid && record_i.fault == FAULT_NONE;
        version_q <= record_i.version;
      end
      if (valid[1]) begin
        row_q[2]        <= row_1;
        row_q[2].enable <= row_1.enable && present_q;
      end
      if (valid[2]) begin
        row_q[3] <= row_q[2];
        for (int f = 0; f < Fours; f++) begin
          logic [17:0] sum;
          sum = '0;
          for (int n = 4 * f; n < 4 * f + 4; n++) if (row_q[2].covers[n]) sum += 18'(change_q[n]);
          four_q[f] <= sum;
        end
      end
      if (valid[3]) begin
        row_q[4] <= row_q[3];
        for (int s = 0; s < 3; s++) begin
          logic [19:0] sum;
          sum = '0;
          for (int f = 4 * s; f < 4 * s + 4 && f < Fours; f++) sum += 20'(four_q[f]);
          sixteen_q[s] <= sum;
        end
      end
      if (valid[4]) begin
        row_q[5] <= row_q[4];
        all_q    <= folded(20'(folded(sixteen_q[0])) + 20'(folded(sixteen_q[1])) + 20'(folded(sixteen_q[2])));
      end
      if (valid[5]) begin
        logic [15:0] old;
        old = record.containers[row_q[5].container];
        enable_q[u]    <= row_q[5].enable && all_q != '0 && !(row_q[5].optional && old == '0);
        container_q[u] <= row_q[5].container;
        checksum_q[u]  <= ~folded(20'(all_q) + {4'd0, ~old});
        if (row_q[5].optional && folded(20'(all_q) + {4'd0, ~old}) == '1) checksum_q[u] <= '1;
      end
    end

    logic unused;
    assign unused = &{1'b0, row_q};
  end

  parsed_t record_6_q;

  always_ff @(posedge clk_i) begin
    if (valid[5]) record_6_q <= record;
    if (valid[6]) begin
      record_o <= record_6_q;
      for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
        for (int u = 0; u < DEPARSER_CHECKSUMS; u++) begin
          if (enable_q[u] && 32'(container_q[u]) == c) record_o.containers[c] <= checksum_q[u];
        end
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_q};
endmodule
