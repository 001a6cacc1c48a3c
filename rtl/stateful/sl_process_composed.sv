// SPDX-License-Identifier: Apache-2.0
// The states of all flows, for packets that do not wait for each other: finds the state that each packet sees, although those before
// it are in flight, a packet a cycle whatever the flows. For programs whose updates compose (`process_composed_t`). The process block
// then makes of packet and state the same new state once more, for the packet; here it is known before.
//
//   packet -> choice of updates -> words of the first stage -> choice -> words of the second stage -> process block
//             of conditions on the     as the packet             now also       as the packet
//             packet alone             finds them                on these       finds them
//
// Packets that wait for each other read and write states here too (sl_schedule_core keeps the two kinds apart, and versions).
module sl_process_composed
  import sluice_pkg::*;
  import sl_process_pkg::*;
#(
  parameter int unsigned AddressBits = 12,
  parameter int unsigned Inputs      = PROCESS_INPUTS,      // of sl_process, as the others
  parameter int unsigned Conditions  = PROCESS_CONDITIONS,
  parameter int unsigned Words       = PROCESS_WORDS,
  parameter int unsigned Updates     = PROCESS_UPDATES,
  parameter int unsigned Entries     = PROCESS_ENTRIES
) (
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic                    write_valid_i,
  input  process_write_t          write_i,
  output logic [1:0]              composed_o,     // of each version: its packets need not wait
  output logic                    ready_o,        // states are cleared; until then nothing may come
  input  logic                    valid_i,        // a packet that does not wait
  input  logic                    version_i,      // those inside have one version
  input  logic [AddressBits-1:0]  address_i,
  input  logic                    keeps_i,        // it has a flow
  input  logic                    fresh_i,        // its state is 0
  input  logic [Inputs-1:0][31:0] inputs_i,
  output logic                    valid_o,        // COMPOSED_LATENCY cycles later
  output logic                    version_o,
  output logic [Inputs-1:0][31:0] inputs_o,
  output logic [Words-1:0][31:0]  before_o,       // the state that it finds; PROCESS_AHEAD cycles after valid_o
  input  logic                    read_valid_i,   // of packets that wait, two cycles before state_o
  input  logic [AddressBits-1:0]  read_address_i,
  output logic [Words-1:0][31:0]  state_o,
  input  logic                    state_write_valid_i,
  input  logic [AddressBits-1:0]  state_write_address_i,
  input  logic [Words-1:0][31:0]  state_write_data_i
);
  localparam int unsigned First      = COMPOSED_CHOICE;             // cycles from the packet: its updates are chosen
  localparam int unsigned Found      = First + COMPOSED_UPDATE;     // the words are known
  localparam int unsigned Again      = Found - PROCESS_AHEAD;       // and its updates are chosen from here on
  localparam int unsigned Second     = COMPOSED_SECOND;
  localparam int unsigned Late       = Second - First;
  localparam int unsigned Last       = Second + COMPOSED_UPDATE;
  localparam int unsigned ChoiceBits = $clog2(Updates + 1);

  typedef struct packed {
    logic                   keeps;
    logic                   fresh;
    logic [AddressBits-1:0] address;
  } place_t;

  process_composed_t [1:0]                      settings_q;  // of each version
  process_composed_t                            inside_q;    // of that of the packets inside
  logic                                         version_q;
  logic [Last:0]                                valid;
  place_t [1:0]                                 place;       // of the packets whose updates are chosen in the first and second stage
  logic [1:0][Words-1:0][ChoiceBits-1:0]        choices;
  logic [1:0][Entries-1:0]                      held;
  logic [Inputs-1:0][31:0]                      inputs_first, inputs_again, inputs_second;
  logic [Words-1:0][31:0]                       found, found_late, found_last;
  logic [Words:0]                               ready, second;
  logic [9:0]                                   beside;

  for (genvar v = 0; v < 2; v++) begin : gen_version
    assign composed_o[v] = settings_q[v].composed;
  end
  assign valid[0] = valid_i;
  always_ff @(posedge clk_i) begin
    valid[Last:1] <= rst_i ? '0 : valid[Last-1:0];
    if (write_valid_i && write_i.memory == PROCESS_MEMORY_COMPOSED) begin
      settings_q[write_i.address[10]] <= write_i.data[$bits(process_composed_t)-1:0];
    end
    if (valid_i) version_q <= version_i;
    inside_q <= settings_q[version_q];
  end

  sl_process_decide #(.Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates), .Entries(Entries)) u_first (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i, .version_i, .inputs_i, .state_i('0), .valid_o(beside[0]),
    .choices_o(choices[0]), .held_o(held[0])
  );
  sl_process_decide #(.Inputs(Inputs), .Conditions(Conditions), .Words(Words), .Updates(Updates), .Entries(Entries)) u_second (
    .clk_i, .rst_i, .write_valid_i, .write_i, .valid_i(valid[Again]), .version_i(version_q), .inputs_i(inputs_again), .state_i(found),
    .valid_o(beside[1]), .choices_o(choices[1]), .held_o(held[1])
  );

  sl_delay #(.Width($bits(place_t)), .Cycles(First)) u_place (
    .clk_i, .rst_i, .valid_i, .data_i({keeps_i, fresh_i, address_i}), .valid_o(beside[2]), .data_o(place[0])
  );
  sl_delay #(.Width($bits(place_t)), .Cycles(Late)) u_place_late (
    .clk_i, .rst_i, .valid_i(valid[First]), .data_i(place[0]), .valid_o(beside[3]), .data_o(place[1])
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(First + 1)) u_inputs_first (
    .clk_i, .rst_i, .valid_i, .data_i(inputs_i), .valid_o(beside[4]), .data_o(inputs_first)
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(Again - First - 1)) u_inputs_again (
    .clk_i, .rst_i, .valid_i(valid[First+1]), .data_i(inputs_first), .valid_o(beside[5]), .data_o(inputs_again)
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(Second + 1 - Again)) u_inputs_second (
    .clk_i, .rst_i, .valid_i(valid[Again]), .data_i(inputs_again), .valid_o(beside[6]), .data_o(inputs_second)
  );
  sl_delay #(.Width(32 * Inputs), .Cycles(COMPOSED_LATENCY - Second - 1)) u_inputs (
    .clk_i, .rst_i, .valid_i(valid[Second+1]), .data_i(inputs_second), .valid_o(beside[7]), .data_o(inputs_o)
  );
  assign valid_o   = valid[COMPOSED_LATENCY];
  assign version_o = version_q;

  // Words of the first stage as the packet found them, for operands of the second, and for the process block.
  sl_delay #(.Width(32 * Words), .Cycles(Second + 2 - Found)) u_found_late (
    .clk_i, .rst_i, .valid_i(valid[Found]), .data_i(found), .valid_o(beside[8]), .data_o(found_late)
  );
  sl_delay #(.Width(32 * Words), .Cycles(Last - Second - 2)) u_found_last (
    .clk_i, .rst_i, .valid_i(valid[Second+2]), .data_i(found_late), .valid_o(beside[9]), .data_o(found_last)
  );

  for (genvar w = 0; w < Words; w++) begin : gen_word
    localparam int unsigned Width = w == 0 ? PROCESS_LABEL_LOW : 32;
    logic [Width-1:0] old_word, state;

    assign second[w] = inside_q.second[w];
    sl_composed_word #(
      .AddressBits(AddressBits), .Number(w), .Width(Width), .Inputs(Inputs), .Words(Words), .Updates(Updates)
    ) u_word (
      .clk_i, .rst_i, .write_valid_i, .write_i, .ready_o(ready[w]), .version_i(version_q), .lanes_i(inside_q.lanes[w]),
      .valid_i(second[w] ? valid[Second] : valid[First]), .address_i(place[second[w]].address), .keeps_i(place[second[w]].keeps),
      .fresh_i(place[second[w]].fresh), .choice_i(choices[second[w]][w]), .inputs_i(second[w] ? inputs_second : inputs_first),
      .state_i(found_late), .before_o(old_word), .read_valid_i, .read_address_i, .word_o(state),
      .state_write_valid_i, .state_write_address_i, .state_write_data_i(state_write_data_i[w][Width-1:0])
    );
    assign found[w][Width-1:0]    = old_word;
    assign state_o[w][Width-1:0]  = state;
    assign before_o[w][Width-1:0] = second[w] ? old_word : found_last[w][Width-1:0];
  end

  logic [7:0] label_before;
  assign second[Words] = inside_q.label_second;
  sl_composed_label #(.AddressBits(AddressBits), .Entries(Entries)) u_label (
    .clk_i, .rst_i, .write_valid_i, .write_i, .ready_o(ready[Words]), .version_i(version_q),
    .valid_i(second[Words] ? valid[Second] : valid[First]), .address_i(place[second[Words]].address),
    .keeps_i(place[second[Words]].keeps), .fresh_i(place[second[Words]].fresh), .held_i(held[second[Words]]),
    .before_o(label_before), .read_valid_i, .read_address_i, .label_o(state_o[0][31:PROCESS_LABEL_LOW]),
    .state_write_valid_i, .state_write_address_i, .state_write_data_i(state_write_data_i[0][31:PROCESS_LABEL_LOW])
  );
  assign found[0][31:PROCESS_LABEL_LOW]    = label_before;
  assign before_o[0][31:PROCESS_LABEL_LOW] = second[Words] ? label_before : found_last[0][31:PROCESS_LABEL_LOW];
  assign ready_o = &ready;

  logic unused;
  assign unused = &{1'b0, beside, settings_q, inside_q, write_i};
endmodule
