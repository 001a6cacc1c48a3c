// SPDX-License-Identifier: Apache-2.0
// Receive side of a lane: where a packet enters the device. Sets the metadata (lane number, timestamp, length). Packets are stored
// whole before they continue; bad packets are discarded and counted by cause, so they never reach the graph. If the lane has its
// own clock, its channel first crosses into the core's clock, all its signals together. If the core is too slow for the lane,
// sh_lane_guard drops whole packets before the crossing, counted as overflow. The timestamp is taken on the core side, and `idle_o`
// covers a flit only once it has crossed.
module sh_lane_rx #(
  parameter int unsigned Lane = 0,     // 0 to 6
  parameter int unsigned Flits = 512,  // store: at least two packets of the largest size
  parameter bit          OwnClock = 1'b0  // 1: lane_* are on lane_clk_i; 0: on clk_i
) (
  input  logic              clk_i,
  input  logic              rst_i,            // synchronous, active high
  input  logic              lane_clk_i = 1'b0,  // OwnClock: any frequency and phase; may stop
  input  logic              lossless_i,       // 1: a full store stalls the lane, whose MAC must wait; 0: it drops
  input  logic [63:0]       time_i,           // core cycles
  input  sluice_pkg::flit_t lane_data_i,      // its metadata is ignored
  input  logic              lane_valid_i,
  output logic              lane_ready_o,     // always 1 unless lossless_i
  output sluice_pkg::flit_t out_data_o,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic              idle_o,           // nothing stored, not even part of a packet
  output logic              packet_o,         // pulse: a packet was stored
  output logic [15:0]       packet_length_o,  // its length in bytes
  output logic [3:0]        drop_o            // pulses: error, oversize, overflow, runt
);
  import sluice_pkg::*;

  flit_t lane_data, stamped;
  logic  lane_valid, lane_ready, store_idle, store_error, store_overflow;

  if (OwnClock) begin : gen_crossing
    localparam int unsigned WordBits = FLIT_BITS - META_BITS;  // metadata is added after the crossing

    flit_t               guarded;
    logic [WordBits-1:0] word;
    logic lane_rst, lane_waits, guarded_lost, guarded_valid, guarded_ready, roomy, refused, refused_waits, lost, lost_q;

    sl_reset_sync #(.Stages(3)) u_reset (.clk_i(lane_clk_i), .async_rst_i(rst_i), .rst_o(lane_rst));
    sl_sync u_waits (.clk_i(lane_clk_i), .async_i(lossless_i), .sync_o(lane_waits));
    sh_lane_guard u_guard (
      .clk_i(lane_clk_i), .rst_i(lane_rst), .waits_i(lane_waits),
      .in_data_i(lane_data_i), .in_valid_i(lane_valid_i), .in_ready_o(lane_ready_o),
      .out_data_o(guarded), .out_lost_o(guarded_lost), .out_valid_o(guarded_valid), .out_ready_i(guarded_ready),
      .out_roomy_i(roomy), .lost_o(refused)
    );
    sl_cdc_fifo #(.Width(1 + WordBits)) u_cdc (
      .in_clk_i(lane_clk_i), .in_rst_i(lane_rst),
      .in_data_i({guarded_lost, WordBits'(guarded)}), .in_valid_i(guarded_valid), .in_ready_o(guarded_ready), .in_roomy_o(roomy),
      .out_clk_i(clk_i), .out_rst_i(rst_i),
      .out_data_o({lost, word}), .out_valid_o(lane_valid), .out_ready_i(lane_ready)
    );
    sl_cdc_count u_refused (
      .in_clk_i(lane_clk_i), .in_rst_i(lane_rst), .in_pulse_i(refused),
      .out_clk_i(clk_i), .out_rst_i(rst_i), .out_valid_o(refused_waits), .out_ready_i(!store_overflow && !lost_q)
    );

    // The store reports the drop of a packet that the guard ended one cycle later.
    always_ff @(posedge clk_i) lost_q <= lane_valid && lane_ready && lost;

    assign lane_data = FLIT_BITS'(word);
    assign idle_o    = store_idle && !lane_valid;
    assign drop_o[0] = store_error && !lost_q;
    assign drop_o[2] = store_overflow || (store_error && lost_q) || refused_waits;

    logic unused_meta;
    assign unused_meta = &{1'b0, guarded.meta};
  end else begin : gen_same_clock
    logic unused_clk;

    assign unused_clk   = lane_clk_i;
    assign lane_data    = lane_data_i;
    assign lane_valid   = lane_valid_i;
    assign lane_ready_o = lane_ready;
    assign idle_o       = store_idle;
    assign drop_o[0]    = store_error;
    assign drop_o[2]    = store_overflow;
  end

  always_comb begin
    stamped = lane_data;
    stamped.meta = '0;
    if (lane_data.sop) begin
      stamped.meta.ingress_port = 8'(Lane);
      stamped.meta.timestamp    = time_i;
    end
  end

  sl_packet_fifo #(.Flits(Flits)) u_store (
    .clk_i, .rst_i, .lossless_i,
    .in_data_i(stamped), .in_valid_i(lane_valid), .in_ready_o(lane_ready),
    .out_data_o, .out_valid_o, .out_ready_i, .empty_o(store_idle),
    .stored_o(packet_o), .stored_length_o(packet_length_o),
    .drop_error_o(store_error), .drop_oversize_o(drop_o[1]), .drop_overflow_o(store_overflow), .drop_runt_o(drop_o[3])
  );

  logic unused;
  assign unused = &{1'b0, lane_data.meta};
endmodule
