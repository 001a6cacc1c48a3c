// SPDX-License-Identifier: Apache-2.0
// Types and latencies of the programmable pipeline. The formats are in sluice_pkg (layouts/pipeline).
/* verilator lint_off UNUSEDPARAM */  // no part uses all of a package
package sl_pipeline_pkg;
  import sluice_pkg::*;

  localparam int unsigned PARSER_WORDS = WINDOW_BYTES / 2;

  // Cycles of a stage, of the selection of its words, which takes the last ones of the stage before, and of a row of stages behind the
  // register that takes the window.
  localparam int unsigned PARSER_STAGE_LATENCY = 17;
  localparam int unsigned PARSER_REACH_LATENCY = 4;
  function automatic int unsigned parser_latency(int unsigned Stages);
    return 1 + Stages * PARSER_STAGE_LATENCY;
  endfunction

  // Cycles of the checksums; from a packet's record to the places of its containers; of a flit that they are written into; of both.
  localparam int unsigned DEPARSER_CHECKSUM_LATENCY = 13;
  localparam int unsigned DEPARSER_PLACES_LATENCY   = 4;
  localparam int unsigned DEPARSER_FILL_LATENCY     = 8;
  localparam int unsigned DEPARSER_LATENCY          = DEPARSER_PLACES_LATENCY + DEPARSER_FILL_LATENCY;

  // Cycles of a splice: from the record to its job, which meets the packet behind the deparser, and of the flits from there on.
  localparam int unsigned SPLICE_JOB_LATENCY  = DEPARSER_LATENCY;
  localparam int unsigned SPLICE_TURN_LATENCY = 3;
  localparam int unsigned SPLICE_IMAGE_LATENCY = SPLICE_TURN_LATENCY - 1;  // from the job to what is inserted

  // A unit: ways and seed of its exact table, bits of a key of its ternary table (a multiple of 4), and cycles: of the key, of the
  // tables from there to the entry, until the action is read, of the operations, of all.
  localparam int unsigned UNIT_WAYS               = 4;
  localparam logic [63:0] UNIT_SEED               = '0;
  localparam int unsigned UNIT_TERNARY_BITS       = 132;
  localparam int unsigned UNIT_KEY_LATENCY        = 3;
  localparam int unsigned UNIT_EXACT_LATENCY      = 8;
  localparam int unsigned UNIT_TERNARY_LATENCY    = 6;
  localparam int unsigned UNIT_ACTION_LATENCY     = UNIT_KEY_LATENCY + UNIT_EXACT_LATENCY + 3;
  localparam int unsigned UNIT_OPERATIONS_LATENCY = 5;
  localparam int unsigned UNIT_LATENCY            = UNIT_ACTION_LATENCY + UNIT_OPERATIONS_LATENCY;

  // A packet in a stateful unit, if none waits for its flow: key, place of the flow, queue, composed updates, process block.
  localparam int unsigned STATEFUL_KEY_LATENCY   = 3;
  localparam int unsigned STATEFUL_PLACE_LATENCY = STATEFUL_KEY_LATENCY + 12;
  localparam int unsigned STATEFUL_LATENCY       = STATEFUL_PLACE_LATENCY + 35;

  // Of all units; a bit of `stateful` for each.
  function automatic int unsigned units_latency(int unsigned Units, int unsigned stateful);
    units_latency = 0;
    for (int unsigned u = 0; u < Units; u++) units_latency += stateful[u] ? STATEFUL_LATENCY : UNIT_LATENCY;
  endfunction

  typedef logic [PARSER_WORDS-1:0][15:0] parser_words_t;  // word 0 first, its first byte in bits 15:8
  typedef logic [PARSER_REACH-1:0][15:0] parser_reach_t;  // from the current header on

  // What passes from stage to stage beside the words of the packet. The words to compare are one-hot; a stage that does nothing more
  // leaves any.
  typedef struct packed {
    parsed_t                                     record;
    logic [PARSER_LOOKUPS-1:0][PARSER_REACH-1:0] lookups;
  } parser_walk_t;

  function automatic logic [PARSER_REACH-1:0] parser_one_hot(logic [4:0] word);
    for (int w = 0; w < PARSER_REACH; w++) parser_one_hot[w] = 32'(word) == w;
  endfunction

  // The word under a one-hot choice: in LUTs of four inputs two thirds of a multiplexer.
  function automatic logic [15:0] parser_chosen(parser_reach_t words, logic [PARSER_REACH-1:0] chosen);
    parser_chosen = '0;
    for (int w = 0; w < PARSER_REACH; w++) parser_chosen |= words[w] & {16{chosen[w]}};
  endfunction

  typedef logic [PIPELINE_CONTAINERS-1:0][15:0] pipeline_containers_t;

  // What keys and operands are selected from, in rows of sixteen (sl_words_mux).
  localparam int unsigned SOURCE_COLUMNS = 16;
  localparam int unsigned SOURCE_ROWS    = UNIT_SOURCES / SOURCE_COLUMNS;
  typedef logic [UNIT_SOURCES-1:0][15:0] pipeline_sources_t;

  // One of them, a bit for each row; none without a row.
  typedef struct packed {
    logic [SOURCE_ROWS-1:0] row;
    logic [3:0]             column;
  } source_choice_t;

  function automatic source_choice_t choice_of(logic [5:0] source);
    for (int r = 0; r < SOURCE_ROWS; r++) choice_of.row[r] = 32'(source) / SOURCE_COLUMNS == r;
    choice_of.column = source[3:0];
  endfunction

  // Operation n of an action writes containers UNIT_OPERATIONS * row + n.
  localparam int unsigned OPERATION_ROWS = (PIPELINE_CONTAINERS + UNIT_OPERATIONS - 1) / UNIT_OPERATIONS;

  /* verilator lint_off UNUSEDSIGNAL */  // of a base only whether there is one
  function automatic pipeline_sources_t sources_of(parsed_t parsed);
    sources_of                          = '0;
    sources_of[PIPELINE_CONTAINERS-1:0] = parsed.containers;
    sources_of[SOURCE_PORT]             = 16'(parsed.ingress_port);
    sources_of[SOURCE_LENGTH]           = parsed.length;
    for (int b = 0; b < PARSER_BASES; b++) sources_of[SOURCE_HEADERS][b] = parsed.bases[b].valid;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // Where the containers of a packet go: which are written back, and to which word of the packet.
  typedef struct packed {
    logic [PIPELINE_CONTAINERS-1:0]      valid;
    logic [PIPELINE_CONTAINERS-1:0][6:0] word;
  } deparser_places_t;

  // Rows of containers in the crossbar of the deparser. What of a row goes to a column of a flit: one of them, to word
  // DEPARSER_COLUMNS * eight + column.
  localparam int unsigned DEPARSER_ROWS = PIPELINE_CONTAINERS / DEPARSER_ROW;

  typedef logic [$clog2(WINDOW_BYTES/DATA_BYTES+1)-1:0] flit_index_t;  // WINDOW_FLITS: behind the window

  // A packet and how it is written anew. Record and splice come with the first flit.
  typedef struct packed {
    logic [3:0] splice;  // its number; 0: none
    parsed_t    record;  // checksums are repaired
    flit_t      flit;
  } pipeline_rewrite_t;

  // A splice of one packet. The flit `first` has the place; what leaves with the place in it is made up to flit `head`.
  localparam int unsigned FLIT_WORDS = DATA_BYTES / 2;
  typedef logic [FLIT_WORDS-1:0] flit_columns_t;
  typedef struct packed {
    logic                          enable;
    logic                          lags;     // more goes than comes: a flit that leaves needs one that comes later
    logic [3:0]                    first;
    logic [3:0]                    head;
    logic [$clog2(FLIT_WORDS)-1:0] turn;     // words by which what is behind the place turns in its flits
    logic signed [6:0]             grows;    // words
    flit_columns_t                 ahead;    // columns before the place
    flit_columns_t                 upto;     // and with what comes, in the flit of the place
    flit_columns_t                 wrapped;  // with what comes, in the next flit
    flit_columns_t                 moved;    // that a flit turns into the next one
  } splice_job_t;

  // A flit, turned, on its way to sl_splice_join.
  typedef struct packed {
    flit_t                         flit;     // `empty` as it will be
    logic [SPLICE_WORDS-1:0][15:0] tail;     // where a packet grows: the words that the next flit begins with
    flit_columns_t                 own;      // where a packet shrinks: columns that are not the next flit's
    logic                          lags;     // leaves with columns of the next flit
    logic                          skip;     // does not leave
    logic                          over;     // at eop: one more flit leaves
  } splice_flit_t;

  // A unit looked up a packet.
  typedef struct packed {
    logic        looked_up;
    logic [15:0] action;  // its number, as an address in UNIT_MEMORY_ACTION
    logic [15:0] length;  // bytes of the packet
  } lookup_event_t;

  // A stateful unit looked up the flow of a packet. Of the other four none: the packet has no flow.
  typedef struct packed {
    logic looked_up;
    logic found;
    logic made;
    logic evicted;  // `made`, in the place of another flow
    logic expired;  // `made`, in the place of one that was gone
  } flow_event_t;

  // A pass of a packet through the pipeline. While the packet waits for its record, this stands in metadata that the record gives.
  typedef struct packed {
    logic        version;  // of the program; of a first pass, chosen only when the packet enters the row
    logic [3:0]  begins;   // the unit that looks it up first; 0: this is the first pass
    logic [13:0] longest;  // bytes that the packet may have to enter once more: PASS_GROWTH more than at first
  } pipeline_pass_t;

  /* verilator lint_off UNUSEDSIGNAL */
  function automatic pipeline_pass_t pass_of(meta_t meta);
    return {meta.egress_mask, meta.queue, meta.verdict, meta.fault};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
  function automatic meta_t with_pass(meta_t meta, pipeline_pass_t pass);
    with_pass             = meta;
    with_pass.egress_mask = pass[18:11];
    with_pass.queue       = pass[10:7];
    with_pass.verdict     = verdict_t'(pass[6:4]);
    with_pass.fault       = fault_t'(pass[3:0]);
  endfunction

  // What happens to packets in a cycle.
  typedef struct packed {
    logic entered;  // the row for the first time, with the version of that cycle
    logic left;     // for the last time, or was dropped
    logic version;  // of the one that left
    logic dropped;
    logic fault;    // left with a fault
    logic passes;   // enters once more
    logic refused;  // asked for that in vain
  } pipeline_event_t;
endpackage
