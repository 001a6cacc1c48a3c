// SPDX-License-Identifier: Apache-2.0
// The units of the programmable pipeline in a row: PHV in, PHV out, a packet a cycle, Units * UNIT_LATENCY cycles; never stalls.
module sl_units
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Units          = 2,    // at least 1
  parameter int unsigned ExactEntries   = 256,  // of each unit
  parameter int unsigned TernaryEntries = 64    // of each unit
) (
  input  logic             clk_i,
  input  logic             rst_i,          // synchronous, active high
  input  logic             write_valid_i,
  input  pipeline_write_t  write_i,        // effective for packets that enter four cycles later
  input  logic             valid_i,
  input  pipeline_phv_t    phv_i,
  output logic             valid_o,
  output pipeline_phv_t    phv_o,
  output lookup_event_t [Units-1:0] lookups_o
);
  logic          [Units:0] valid;
  pipeline_phv_t [Units:0] phv;

  assign valid[0] = valid_i;
  assign phv[0]   = phv_i;
  assign valid_o  = valid[Units];
  assign phv_o    = phv[Units];

  for (genvar u = 0; u < Units; u++) begin : gen_unit
    logic [$clog2(ExactEntries + TernaryEntries + 2)-1:0] action;

    sl_unit #(.Number(u), .ExactEntries(ExactEntries), .TernaryEntries(TernaryEntries)) u_unit (
      .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(valid[u]), .phv_i(phv[u]), .valid_o(valid[u+1]), .phv_o(phv[u+1]),
      .looked_up_o(lookups_o[u].looked_up), .action_o(action), .length_o(lookups_o[u].length)
    );
    assign lookups_o[u].action = 16'(action);
  end
endmodule
