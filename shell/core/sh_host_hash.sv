// SPDX-License-Identifier: Apache-2.0
// Receive-side scaling: the Toeplitz hash of a packet's addresses and ports, and the receive queue from its lane's redirection
// table, or from another table of the lane that a rule chose. Each lane has its own key, kinds and tables, written through a
// register window (`host_registers`); a lane without kinds hashes nothing. A packet without a hash gets queue 0, or entry 0 of the
// chosen table. One packet per cycle, never stalls, LATENCY 5.
module sh_host_hash
  import sluice_pkg::*;
#(
  parameter int unsigned Lanes = 4,   // 1 to 7
  parameter int unsigned Queues = 4,  // per lane, 1 to HOST_QUEUES
  localparam int unsigned TableBits = $clog2(RSS_TABLES)
) (
  input  logic               clk_i,
  input  logic               rst_i,            // synchronous, active high: no lane hashes
  input  logic [7:0]         lane_i,           // the packet's lane; out of range: not hashed
  input  logic [TableBits-1:0] table_i,        // redirection table of its lane; ignored if the lane is out of range
  input  logic [7:0]         network_kind_i,   // bit of hash_kind_t for its addresses, or 0
  input  logic [7:0]         transport_kind_i, // bit for its addresses and ports, or 0
  input  logic [255:0]       addresses_i,      // source, destination; the first bit is the highest, IPv4 in the high 64
  input  logic [31:0]        ports_i,          // source, destination
  output logic [31:0]        hash_o,           // 5 cycles later; 0 where kind_o is 0
  output logic [7:0]         kind_o,           // hash_kind_t
  output logic [2:0]         queue_o,
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t  reg_request_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o // the cycle after the request
);
  localparam int unsigned LaneBits  = $clog2(Lanes + 1);  // one extra slot, so that Lanes = 1 needs no special case
  localparam int unsigned KeyWords  = HOST_REGISTERS_KEY_COUNT;
  localparam int unsigned EntryBits = $clog2(RSS_ENTRIES);

  // Registers.
  host_registers_t        registers_q;
  logic [Lanes:0][7:0]    kinds_q;    // the last: for packets of no lane, always 0
  logic [LaneBits-1:0]    lane_q;
  logic [11:0]            address;
  logic                   write, refused, failed, is_table, write_key, write_table;

  assign address     = reg_request_i.address[11:0];
  assign write       = reg_request_i.write[0];
  assign is_table    = in_registers(address, HOST_REGISTERS_TABLE, HOST_REGISTERS_TABLE_COUNT);
  assign refused     = (address == HOST_REGISTERS_LANE && reg_request_i.data >= Lanes) || (is_table && reg_request_i.data >= Queues) ||
                       (address == HOST_REGISTERS_TABLE_INDEX && reg_request_i.data >= RSS_TABLES);
  assign failed      = !host_registers_allows(address, write) || (write && refused);
  assign write_key   = reg_request_valid_i && write && in_registers(address, HOST_REGISTERS_KEY, KeyWords);
  assign write_table = reg_request_valid_i && write && is_table && !refused;
  assign lane_q      = registers_q.lane[LaneBits-1:0];

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    host_registers_values_t live;
    live            = '0;
    live.queues     = Queues;
    live.hash_kinds = 32'(kinds_q[lane_q]);
    return host_registers_read(host_registers_values(live, registers_q, address), address);
  endfunction

  assign reg_request_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    if (reg_request_valid_i) begin
      reg_response_o.error <= failed;
      reg_response_o.data  <= write || failed ? '0 : read();
      if (write && !failed) registers_q <= host_registers_write(registers_q, address, reg_request_i.data);
      if (write && address == HOST_REGISTERS_HASH_KINDS) kinds_q[lane_q] <= reg_request_i.data[7:0];
    end
    if (rst_i) begin
      registers_q <= HOST_REGISTERS_RESET;
      kinds_q     <= '0;
    end
  end

  // Cycle 1: the lane's key and kinds, and the table index.
  logic [LaneBits-1:0]     lane, lane_1q;
  logic [32*KeyWords-1:0]  key, key_q;
  logic [287:0]            input_q;
  logic [7:0]              kinds, kind;

  assign lane  = lane_i < 8'(Lanes) ? lane_i[LaneBits-1:0] : LaneBits'(Lanes);
  assign kinds = kinds_q[lane];
  assign kind  = (transport_kind_i & kinds) != '0 ? transport_kind_i : network_kind_i & kinds;

  for (genvar i = 0; i < KeyWords; i++) begin : gen_key
    sl_ram_lut #(.Width(32), .Depth(Lanes + 1)) u_key (
      .clk_i, .write_valid_i(write_key && address[5:2] == 4'(i)), .write_address_i(lane_q),
      .write_data_i(reg_request_i.data), .read_address_i(lane), .read_data_o(key[32*i +: 32])
    );
  end

  always_ff @(posedge clk_i) begin
    lane_1q <= lane;
    key_q   <= key;
    input_q <= {addresses_i, ports_i};
    if (network_kind_i == HASH_IPV4) input_q[223:192] <= ports_i;
    if (network_kind_i == HASH_IPV4) input_q[31:0] <= '0;
    if (kind != transport_kind_i) begin
      if (network_kind_i == HASH_IPV4) input_q[223:192] <= '0;
      input_q[31:0] <= '0;
    end
  end

  // Cycles 2 and 3: the hash. Cycle 4: the table. And the delay lines beside it.
  logic [31:0]          hash, hash_4q;
  logic [7:0]           kind_q [4];
  logic [LaneBits-1:0]  lane_q2, lane_q3;
  logic [TableBits-1:0] chosen_q [4];
  logic [EntryBits-1:0] entry;
  logic [2:0]           queue;

  assign entry = kind_q[2] != '0 ? hash[EntryBits-1:0] : '0;

  sl_toeplitz #(.Words(KeyWords - 1)) u_hash (.clk_i, .data_i(input_q), .key_i(key_q), .hash_o(hash));

  sl_ram_block #(.Width(3), .Depth((Lanes + 1) * RSS_TABLES * RSS_ENTRIES)) u_table (
    .clk_i, .write_valid_i(write_table), .write_address_i({lane_q, registers_q.table_index, address[2 +: EntryBits]}),
    .write_data_i(reg_request_i.data[2:0]), .read_valid_i(1'b1), .read_address_i({lane_q3, chosen_q[2], entry}),
    .read_data_o(queue)
  );

  always_ff @(posedge clk_i) begin
    kind_q[0]   <= kind;
    chosen_q[0] <= lane == LaneBits'(Lanes) ? '0 : table_i;
    for (int unsigned i = 1; i < 4; i++) begin
      kind_q[i]   <= kind_q[i-1];
      chosen_q[i] <= chosen_q[i-1];
    end
    lane_q2 <= lane_1q;
    lane_q3 <= lane_q2;
    hash_4q <= hash;
    hash_o  <= kind_q[3] != '0 ? hash_4q : '0;
    queue_o <= kind_q[3] != '0 || chosen_q[3] != '0 ? queue : '0;
    kind_o  <= kind_q[3];
  end

  logic unused;
  assign unused = &{1'b0, lane_i, registers_q};
endmodule
