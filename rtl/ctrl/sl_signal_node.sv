// SPDX-License-Identifier: Apache-2.0
// Connects an element to the signal chain (ClickNP's CmdHub as a daisy chain). A message is a sequence of 32-bit words, bit 32 set
// on the last: a header {instance 31:16, reply 15, status 14:8, signal 7:0}, then the arguments, low word first. A request for this
// instance becomes an iteration, and its reply (the header with `reply`, the result, low word first) replaces it on the chain;
// everything else passes. A request with a wrong length or an unknown signal is answered with STATUS_EINVAL and changes nothing.
module sl_signal_node #(
  parameter int unsigned Signals      = 1,   // signals of the element, up to 256
  parameter int unsigned ArgumentBits = 32,  // of the signal with the most arguments; all requests have that many words
  parameter int unsigned ResultBits   = 32
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic [15:0]             instance_i,
  input  logic [32:0]             in_data_i,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,     // registered: a word is taken in every second cycle at most
  output logic [32:0]             out_data_o,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic                    pending_o,      // a signal waits to become an iteration
  output logic [7:0]              kind_o,
  output logic [ArgumentBits-1:0] arguments_o,    // of the waiting signal
  input  logic                    take_i,         // it has become an iteration
  input  logic                    result_valid_i, // its iteration has ended
  input  logic [ResultBits-1:0]   result_i
);
  localparam int unsigned ArgumentWords = (ArgumentBits + 31) / 32;
  localparam int unsigned ResultWords   = (ResultBits + 31) / 32;
  localparam int unsigned CountBits     = $clog2((ArgumentWords > ResultWords ? ArgumentWords : ResultWords) + 2);
  localparam logic [6:0]  Invalid       = 7'd22;  // STATUS_EINVAL

  typedef enum logic [2:0] {StIdle, StPass, StTake, StPending, StWait, StReply} state_e;

  state_e                          state_q;
  logic [CountBits-1:0]            count_q;      // argument words taken; result words left
  logic [ArgumentWords-1:0][31:0]  arguments_q;
  logic [ResultWords-1:0][31:0]    result_q;
  logic [6:0]                      status_q;
  logic                            word_valid_q, word_ready, mine_q;  // a word of the chain; as a header, it is for this instance
  logic [32:0]                     word_q;
  logic                            wrong_q;      // a request that ends with the next word would be none; known before it comes
  logic                            pass, refuse, answer, skid_ready, skid_valid;
  logic [32:0]                     skid_data;

  // Whether a header is for this instance is known when it is looked at.
  assign in_ready_o = !word_valid_q;
  always_ff @(posedge clk_i) begin
    word_valid_q <= word_valid_q ? !word_ready : in_valid_i;
    if (!word_valid_q) begin
      word_q <= in_data_i;
      mine_q <= in_data_i[31:16] == instance_i && !in_data_i[15];
    end
    if (rst_i) word_valid_q <= 1'b0;
  end

  assign refuse      = word_valid_q && word_q[32] && ((state_q == StIdle && mine_q) || (state_q == StTake && wrong_q));
  assign answer      = result_valid_i && (state_q == StWait || (state_q == StPending && take_i));
  assign pass        = state_q == StPass || (state_q == StIdle && !mine_q);
  assign word_ready  = pass ? skid_ready : state_q == StIdle || state_q == StTake;
  assign pending_o   = state_q == StPending;
  assign arguments_o = ArgumentBits'(arguments_q);
  assign skid_valid  = pass ? word_valid_q : state_q == StReply;

  always_comb begin
    skid_data = word_q;
    if (state_q == StReply) begin
      skid_data = count_q == CountBits'(ResultWords + 1)
        ? {status_q != '0, instance_i, 1'b1, status_q, kind_o} : {count_q == CountBits'(1), result_q[0]};
    end
  end

  always_ff @(posedge clk_i) begin
    wrong_q <= count_q != CountBits'(ArgumentWords - 1) || 32'(kind_o) >= Signals || status_q != '0;
    unique case (state_q)
      StIdle: if (word_valid_q && mine_q) begin
        kind_o   <= word_q[7:0];
        count_q  <= '0;
        status_q <= '0;
        state_q  <= StTake;
      end else if (word_valid_q && skid_ready && !word_q[32]) begin
        state_q <= StPass;
      end
      StPass: if (word_valid_q && skid_ready && word_q[32]) state_q <= StIdle;
      StTake: if (word_valid_q) begin
        if (count_q != CountBits'(ArgumentWords)) begin
          arguments_q[count_q] <= word_q[31:0];
          count_q              <= count_q + 1'b1;
        end else begin
          status_q <= Invalid;
        end
        if (word_q[32]) state_q <= StPending;
      end
      StPending: if (take_i) state_q <= StWait;
      StReply: if (skid_ready) begin
        if (count_q != CountBits'(ResultWords + 1)) begin
          for (int unsigned i = 0; i + 1 < ResultWords; i++) result_q[i] <= result_q[i+1];
        end
        count_q <= count_q - 1'b1;
        if (skid_data[32]) state_q <= StIdle;
      end
      default: ;  // StWait
    endcase
    if (refuse) status_q <= Invalid;
    // Whether the iteration has ended is known late, and the result is wide: every one is taken until then.
    if (state_q == StWait || state_q == StPending) result_q <= (32 * ResultWords)'(result_i);
    if (refuse || answer) begin
      count_q <= CountBits'(ResultWords + 1);
      state_q <= StReply;
    end
    if (rst_i) state_q <= StIdle;
  end

  logic unused;
  assign unused = &{1'b0, arguments_q};  // the last word may have unused bits

  sl_skid #(.Width(33)) u_skid (
    .clk_i, .rst_i, .in_data_i(skid_data), .in_valid_i(skid_valid), .in_ready_o(skid_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
