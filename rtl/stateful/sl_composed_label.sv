// SPDX-License-Identifier: Apache-2.0
// The labels of the states of all flows, with a change of one in each cycle, whatever the flows. What a packet makes of each label is
// computed from the entries that its conditions leave, before its label is there: between the label of a packet and that of the
// next is a choice from 16. Labels from 16 on are none of a program, and all one: it may leave one behind. Timing of sl_composed_state.
module sl_composed_label
  import sluice_pkg::*;
#(
  parameter int unsigned AddressBits = 12,
  parameter int unsigned Entries     = PROCESS_ENTRIES  // 2 to 64, a power of two
) (
  input  logic                   clk_i,
  input  logic                   rst_i,          // synchronous, active high
  input  logic                   write_valid_i,  // to the program
  input  process_write_t         write_i,
  output logic                   ready_o,
  input  logic                   version_i,      // constant while packets are inside
  input  logic                   valid_i,        // cycle 0
  input  logic [AddressBits-1:0] address_i,
  input  logic                   keeps_i,
  input  logic                   fresh_i,
  input  logic [Entries-1:0]     held_i,         // entries whose conditions hold
  output logic [7:0]             before_o,       // cycle 4
  input  logic                   read_valid_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [7:0]             label_o,
  input  logic                   state_write_valid_i,
  input  logic [AddressBits-1:0] state_write_address_i,
  input  logic [7:0]             state_write_data_i
);
  localparam int unsigned Labels = 16;
  localparam int unsigned Group  = Entries < 16 ? Entries : 16;

  typedef struct packed {
    logic       sets;
    logic [3:0] label;
  } row_t;

  // What match words and entries of both versions say of labels: which entries take a label; which one they leave.
  logic [1:0][Labels-1:0][Entries-1:0] low_q;
  logic [1:0][1:0][Entries-1:0]        high_q;  // of labels below 16, and from there on
  row_t [1:0][Entries-1:0]             rows_q;
  process_entry_t                      entry;

  assign entry = write_i.data[$bits(process_entry_t)-1:0];
  always_ff @(posedge clk_i) begin
    for (int v = 0; v < 2; v++) begin
      if (write_valid_i && 32'(write_i.address[10]) == v) begin
        for (int g = 0; g < Entries / Group; g++) begin
          if (write_i.memory == PROCESS_MEMORY_MATCH && 32'(write_i.address[9:4]) == g) begin
            low_q[v][write_i.address[3:0]][Group*g +: Group] <= write_i.data[32 +: Group];
            if (write_i.address[3:1] == '0) high_q[v][write_i.address[0]][Group*g +: Group] <= write_i.data[48 +: Group];
          end
        end
        for (int e = 0; e < Entries; e++) begin
          if (write_i.memory == PROCESS_MEMORY_ENTRY && 32'(write_i.address[9:0]) == e) rows_q[v][e] <= '{entry.sets_label, entry.label[3:0]};
        end
      end
    end
  end

  // The entry that the packet would take with each label, and with any other.
  logic [3:0]                 valid;
  logic [Entries-1:0]         held_q;
  logic [Labels:0][Entries-1:0] takes, first_q, first;
  row_t [Labels:0]            next, next_q;  // by labels; the last: of all others
  logic [7:0]                 part, new_q;

  always_comb begin
    for (int l = 0; l < Labels; l++) takes[l] = low_q[version_i][l] & high_q[version_i][0];
    takes[Labels] = high_q[version_i][1];
    for (int l = 0; l <= Labels; l++) begin
      logic taken;
      taken = 1'b0;
      for (int e = 0; e < Entries; e++) begin
        first[l][e] = !taken && (e == Entries - 1 || (held_q[e] && takes[l][e]));
        taken |= first[l][e];
      end
      next[l] = '0;
      for (int e = 0; e < Entries; e++) if (first_q[l][e]) next[l] |= rows_q[version_i][e];
      if (l < Labels && !next[l].sets) next[l].label = 4'(l);
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid[0]) held_q <= held_i;
    if (valid[1]) first_q <= first;
    if (valid[2]) next_q <= next;
    if (valid[3]) begin
      if (part[7:4] == '0) new_q <= {4'd0, next_q[part[3:0]].label};
      else new_q <= next_q[Labels].sets ? {4'd0, next_q[Labels].label} : part;
    end
  end

  sl_composed_state #(.AddressBits(AddressBits), .Width(8)) u_state (
    .clk_i, .rst_i, .ready_o, .lanes_i('1), .valid_i, .address_i, .keeps_i, .fresh_i, .valid_o(valid), .part_o(part), .new_i(new_q),
    .before_o, .read_valid_i, .read_address_i, .word_o(label_o), .write_valid_i(state_write_valid_i),
    .write_address_i(state_write_address_i), .write_data_i(state_write_data_i)
  );

  logic unused;
  assign unused = &{1'b0, write_i, entry, next_q};
endmodule
