// SPDX-License-Identifier: Apache-2.0
// The units of the programmable pipeline in a row: PHV in, PHV out, a packet a cycle, in order. Without
// stateful units it takes Units * UNIT_LATENCY cycles; in those packets wait.
module sl_units
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned Units          = 2,    // at least 1
  parameter int unsigned ExactEntries   = 256,  // of each unit
  parameter int unsigned TernaryEntries = 64,   // of each unit
  parameter int unsigned Stateful       = 0,    // bit u: unit u is a stateful one
  parameter stateful_sizes_t Sizes      = STATEFUL_PAPER,  // of those
  parameter int unsigned Inside         = 512   // packets, at most, if there are stateful units
) (
  input  logic             clk_i,
  input  logic             rst_i,          // synchronous, active high
  input  logic [31:0]      tick_i,         // microseconds
  input  logic             write_valid_i,
  input  pipeline_write_t  write_i,        // effective for packets that enter four cycles later
  input  logic             pause_i,        // in this cycle no packet leaves a stateful unit
  input  logic             valid_i,
  input  pipeline_phv_t    phv_i,
  output logic             valid_o,
  output pipeline_phv_t    phv_o,
  output lookup_event_t [Units-1:0] lookups_o,  // without stateful units
  output flow_event_t [Units-1:0] flows_o       // of these
);
  logic            [Units:0]   valid;
  pipeline_phv_t   [Units:0]   phv;
  logic            [Units-1:0] write_valid;  // on to the next unit in each cycle, ahead of the packets: no wire leads to all
  pipeline_write_t [Units-1:0] write;

  assign valid[0] = valid_i;
  assign phv[0]   = phv_i;
  assign valid_o  = valid[Units];
  assign phv_o    = phv[Units];

  assign write_valid[0] = write_valid_i;
  assign write[0]       = write_i;
  for (genvar u = 1; u < Units; u++) begin : gen_write
    always_ff @(posedge clk_i) begin
      write_valid[u] <= write_valid[u-1] && !rst_i;
      write[u]       <= write[u-1];
    end
  end

  for (genvar u = 0; u < Units; u++) begin : gen_unit
    if (Stateful[u]) begin : gen_stateful
      sl_stateful_unit #(
        .Number(u), .Inside(Inside), .KeyWords(Sizes.key_words), .Sets(Sizes.sets), .Ways(Sizes.ways), .Inputs(Sizes.inputs),
        .Conditions(Sizes.conditions), .Words(Sizes.words), .Updates(Sizes.updates), .Entries(Sizes.entries), .Actions(Sizes.actions),
        .Composed(Sizes.composed)
      ) u_unit (
        .clk_i, .rst_i, .tick_i, .write_valid_i(write_valid[u]), .write_i(write[u]), .pause_i, .valid_i(valid[u]),
        .phv_i(phv[u]), .valid_o(valid[u+1]), .phv_o(phv[u+1]), .event_o(flows_o[u])
      );
      assign lookups_o[u] = '0;
    end else begin : gen_stateless
      logic [$clog2(ExactEntries + TernaryEntries + 2)-1:0] action;

      sl_unit #(.Number(u), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries)) u_unit (
        .clk_i, .rst_i, .write_valid_i(write_valid[u]), .write_i(write[u]), .valid_i(valid[u]), .phv_i(phv[u]),
        .valid_o(valid[u+1]), .phv_o(phv[u+1]), .looked_up_o(lookups_o[u].looked_up), .action_o(action),
        .length_o(lookups_o[u].length)
      );
      assign lookups_o[u].action = 16'(action);
      assign flows_o[u] = '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, tick_i, pause_i};
endmodule
