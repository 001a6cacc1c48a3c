// SPDX-License-Identifier: Apache-2.0
// Routes a register request to its window and returns the answer. Window 0 is the shell's. A request to a nonexistent window is
// answered with an error at once; so is a request to a window that did not answer an earlier one within `Patience` cycles: the
// window counts as dead until its reset, so that a late answer is never taken for another request's. A window in reset forgets the
// request it took: requests to it, including one in flight, are answered with an error meanwhile. When `rst_i` begins, the request
// in flight is answered with an error; no request is taken while `rst_i` is on.
module sh_register_router #(
  parameter int unsigned Windows = 4,      // window 0 included, 1 to 16
  parameter int unsigned Patience = 4096   // cycles
) (
  input  logic                           clk_i,
  input  logic                           rst_i,               // synchronous, active high
  input  logic [Windows-1:0]             window_reset_i,      // the window is in reset
  input  sluice_pkg::register_request_t  request_i,
  input  logic                           request_valid_i,
  output logic                           request_ready_o,
  output sluice_pkg::register_response_t response_o,
  output logic                           response_valid_o,
  output sluice_pkg::register_request_t  window_request_o,        // broadcast to all windows
  output logic [Windows-1:0]             window_request_valid_o,
  input  logic [Windows-1:0]             window_request_ready_i,
  input  sluice_pkg::register_response_t [Windows-1:0] window_response_i,
  input  logic [Windows-1:0]             window_response_valid_i
);
  import sluice_pkg::*;

  localparam int unsigned WindowBits = REGISTER_ADDRESS_BITS - $clog2(WINDOW_SIZE);
  localparam int unsigned IndexBits = Windows > 1 ? $clog2(Windows) : 1;
  localparam int unsigned PatienceBits = $clog2(Patience + 1);

  typedef enum logic [1:0] {StIdle, StOffer, StWait} state_e;

  state_e                         state_q;
  register_request_t              request_q;
  logic [WindowBits-1:0]          window_q, window;
  logic [Windows-1:0]             dead_q;
  logic [PatienceBits-1:0]        patience_q;
  logic                           reachable;

  assign window           = request_i.address[REGISTER_ADDRESS_BITS-1 -: WindowBits];
  assign reachable        = 32'(window) < Windows && !dead_q[window[IndexBits-1:0]]
                            && !window_reset_i[window[IndexBits-1:0]] && request_i.address[1:0] == '0;
  assign request_ready_o  = state_q == StIdle && !response_valid_o && !rst_i;
  assign window_request_o = request_q;

  always_comb begin
    window_request_valid_o = '0;
    for (int unsigned i = 0; i < Windows; i++) begin
      window_request_valid_o[i] = state_q == StOffer && 32'(window_q) == i && !window_reset_i[i];
    end
  end

  always_ff @(posedge clk_i) begin
    response_valid_o <= 1'b0;
    patience_q <= patience_q - 1'b1;
    unique case (state_q)
      StIdle: begin
        patience_q <= PatienceBits'(Patience);
        if (request_valid_i && request_ready_o) begin
          request_q <= request_i;
          window_q  <= window;
          if (reachable) begin
            state_q <= StOffer;
          end else begin
            response_o       <= '{error: 1'b1, data: '0};
            response_valid_o <= 1'b1;
          end
        end
      end
      default: begin
        for (int unsigned i = 0; i < Windows; i++) begin
          if (32'(window_q) == i) begin
            if (window_request_ready_i[i] && state_q == StOffer) state_q <= StWait;
            if (window_response_valid_i[i]) begin
              response_o       <= window_response_i[i];
              response_valid_o <= 1'b1;
              state_q          <= StIdle;
            end else if (patience_q == '0 || window_reset_i[i]) begin
              dead_q[i]        <= 1'b1;
              response_o       <= '{error: 1'b1, data: '0};
              response_valid_o <= 1'b1;
              state_q          <= StIdle;
            end
          end
        end
      end
    endcase
    for (int unsigned i = 0; i < Windows; i++) begin
      if (window_reset_i[i]) dead_q[i] <= 1'b0;
    end
    if (rst_i) begin
      state_q          <= StIdle;
      response_o       <= '{error: 1'b1, data: '0};
      response_valid_o <= state_q != StIdle;
      dead_q           <= '0;
    end
  end
endmodule
