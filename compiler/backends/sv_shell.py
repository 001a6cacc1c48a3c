# SPDX-License-Identifier: Apache-2.0
"""The device part of a configuration as the graph of the shell: a module `sh_graph` that stands in for shell/core/sh_graph.sv.

Lanes lead straight to `lane_in_N`. What leaves, to lanes and to the host, is stored as whole packets and joined into the shell's
one stream. Channels between host and device are numbered, each way from 0; the number travels in `meta.queue`
(docs/design/shell.md).

With `flow_table` that table stands behind the program: what leaves by `lane_out_N` is looked up as a packet of lane N, and so are
the packets of lanes that the program does not read.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.sv_element import BackendError
from compiler.backends.sv_graph import Edge, Graph

CHANNELS = 16  # each way (GRAPH_CHANNELS); and ports of the packet arbiter
FLIT_DATA = "8 * DATA_BYTES"
QUIET_CYCLES = 64  # besides the deepest element: for FIFOs between elements and stores behind them


@dataclass(frozen=True)
class Top:
    """The module's text, and what a driver must know of it. Channels in the order of their numbers."""

    text: str
    lanes: int
    to_host: tuple[Edge, ...]
    from_host: tuple[Edge, ...]


def generate(graph: Graph, flow_table: bool = False) -> Top:
    """The top of a graph that was generated for the shell. Raises BackendError where the shell cannot hold it."""
    to_host = tuple(e for e in graph.edges if e.end.instance and not e.is_input)
    from_host = tuple(e for e in graph.edges if e.end.instance and e.is_input)
    to_lanes = tuple(e for e in graph.edges if not e.end.instance and not e.is_input)
    read = tuple(e for e in graph.edges if not e.end.instance and e.is_input)
    for edges, what in ((from_host, "channels from the host"), (to_host, "channels to the host")):
        if len(edges) > CHANNELS:
            raise BackendError(f"the configuration has {len(edges)} {what}; the shell has room for {CHANNELS}")
    lanes = 1 + max([0, *(edge.end.port for edge in (*read, *to_lanes))])
    if flow_table and (to_host or from_host):
        raise BackendError("the configuration has channels to or from the host, but the flow table uses the host rings")
    written = sum(1 << edge.end.port for edge in to_lanes)
    mask = sum(1 << edge.end.port for edge in read)
    past = 0x7F & ~(mask | written) if flow_table else 0  # lanes that the program leaves alone
    lines = [*_header(graph, lanes), *_lanes(mask | past), *_from_host(from_host), *_stores(to_lanes, to_host)]
    if flow_table:
        lines += _flows(to_lanes, written, past)
    else:
        lines += _join("lane", "out", len(to_lanes))
    lines += [*_join("host", "to_host", len(to_host)), *_program(graph, to_lanes, to_host, from_host)]
    lines += _registers(to_lanes, to_host, from_host, flow_table)
    lines += _idle(graph, to_lanes, to_host, from_host, flow_table)
    return Top("\n".join(lines) + "\nendmodule\n", lanes, to_host, from_host)


def _header(graph: Graph, lanes: int) -> list[str]:
    return [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {graph.module} as the graph of the shell, generated; in place of shell/core/sh_graph.sv.",
        "module sh_graph #(",
        f"  parameter int unsigned Lanes = {lanes},",
        "  parameter int unsigned LpmEntries4 = 0,  // of the rule tables, which are not here",
        "  parameter int unsigned LpmEntries6 = 0,",
        "  parameter int unsigned ExactEntries4 = 0,",
        "  parameter int unsigned ExactEntries6 = 0,",
        "  parameter int unsigned FlowGroups = 0,",
        "  parameter int unsigned FlowGroupEntries = 0,",
        "  parameter int unsigned FlowTernaryEntries = 0,",
        "  parameter int unsigned PipelineUnits = 0,",
        "  parameter int unsigned PipelineExactEntries = 0,",
        "  parameter int unsigned StatefulUnits = 0",
        ") (",
        "  input  logic                          clk_i,",
        "  input  logic                          rst_i,",
        "  input  logic                          graph_rst_i,",
        "  input  logic                          pause_i,",
        "  input  logic [63:0]                   time_i,",
        "  input  logic [31:0]                   tick_i,",
        "  input  sluice_pkg::flit_t [Lanes-1:0] lane_data_i,",
        "  input  logic [Lanes-1:0]              lane_valid_i,",
        "  output logic [Lanes-1:0]              lane_ready_o,",
        "  output logic                          takes_host_o,",
        "  input  sluice_pkg::flit_t             host_data_i,",
        "  input  logic                          host_valid_i,",
        "  output logic                          host_ready_o,",
        "  output sluice_pkg::flit_t             out_data_o,",
        "  output logic                          out_valid_o,",
        "  input  logic                          out_ready_i,",
        "  output sluice_pkg::flit_t             to_host_data_o,",
        "  output logic                          to_host_valid_o,",
        "  input  logic                          to_host_ready_i,",
        "  input  sluice_pkg::register_request_t reg_request_i,",
        "  input  logic [3:0]                    reg_request_valid_i,",
        "  output logic [3:0]                    reg_request_ready_o,",
        "  output sluice_pkg::register_response_t [3:0] reg_response_o,",
        "  output logic [3:0]                    reg_response_valid_o,",
        "  output logic [3:0][31:0]              capability_o,",
        "  output sl_packet_pkg::deparse_event_t event_o,",
        "  output logic                          idle_o,",
        "  output sluice_pkg::rule_push_t        push_data_o,",
        "  output logic                          push_valid_o,",
        "  input  logic                          push_ready_i",
        ");",
        "  import sluice_pkg::*;",
        "`ifndef SYNTHESIS",
        f'  initial if (Lanes < {lanes}) $fatal(1, "sh_graph: the configuration needs {lanes} lanes");',
        "`endif",
    ]


def _lanes(mask: int) -> list[str]:
    """`mask`: the lanes that are read."""
    return [
        "\n  // Lanes in",
        f"  localparam logic [6:0] ReadLanes = 7'd{mask};",
        "  flit_t [Lanes-1:0] lane_data;",
        "  logic [Lanes-1:0]  lane_valid, lane_ready, lane_lost;",
        "  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_lane",
        "    sh_graph_lane #(.Read(ReadLanes[i])) u_lane (",
        "      .clk_i, .rst_i(graph_rst_i), .pause_i, .in_data_i(lane_data_i[i]), .in_valid_i(lane_valid_i[i]),",
        "      .in_ready_o(lane_ready_o[i]), .out_data_o(lane_data[i]), .out_valid_o(lane_valid[i]), .out_ready_i(lane_ready[i]),",
        "      .lost_o(lane_lost[i])",
        "    );",
        "    if (!ReadLanes[i]) begin : gen_unread",
        "      assign lane_ready[i] = 1'b1;",
        "    end",
        "  end",
    ]


def _words(edge: Edge) -> str:
    """Bytes of the packet of a record."""
    return f"16'(({edge.width} + {FLIT_DATA} - 1) / ({FLIT_DATA}) * DATA_BYTES)"


def _from_host(edges: tuple[Edge, ...]) -> list[str]:
    count = len(edges)
    lines = ["\n  // From the host", f"  logic [{max(count, 1) - 1}:0][31:0] taken;", "  logic host_invalid;"]
    if not count:
        ends = ["takes_host_o = 1'b0", "host_ready_o = 1'b0", "host_invalid = 1'b0", "taken = '0"]
        return lines + [f"  assign {end};" for end in ends]
    sizes = ", ".join("16'd0" if edge.is_packet else _words(edge) for edge in reversed(edges))
    lines += [
        "  assign takes_host_o = 1'b1;",
        f"  flit_t [{count - 1}:0] from_data;",
        f"  logic [{count - 1}:0]  from_valid, from_ready;",
        f"  sh_graph_host #(.Channels({count}), .Bytes({{{sizes}}})) u_host (",
        "    .clk_i, .rst_i(graph_rst_i), .in_data_i(host_data_i), .in_valid_i(host_valid_i), .in_ready_o(host_ready_o),",
        "    .out_data_o(from_data), .out_valid_o(from_valid), .out_ready_i(from_ready), .taken_o(taken), .invalid_o(host_invalid)",
        "  );",
    ]
    for number, edge in enumerate(edges):
        if not edge.is_packet:
            lines += [
                f"  logic [{edge.width - 1}:0] {edge.name};",
                f"  logic {edge.name}_valid, {edge.name}_ready;",
                f"  sh_graph_unpack #(.Width({edge.width})) u_{edge.name} (",
                f"    .clk_i, .rst_i(graph_rst_i), .in_data_i(from_data[{number}]), .in_valid_i(from_valid[{number}]),",
                f"    .in_ready_o(from_ready[{number}]), .out_data_o({edge.name}), .out_valid_o({edge.name}_valid),",
                f"    .out_ready_i({edge.name}_ready)",
                "  );",
            ]
    return lines


def _stores(to_lanes: tuple[Edge, ...], to_host: tuple[Edge, ...]) -> list[str]:
    drops = [f"{way}_drop" for way, edges in (("host", to_host), ("lane", to_lanes)) if edges]
    count = max(len(to_lanes) + len(to_host), 1)
    return [
        *_ways_out("lane", to_lanes),
        *_ways_out("host", to_host),
        f"  logic [{count - 1}:0][2:0] drop;",
        f"  assign drop = {{{', '.join(drops)}}};" if drops else "  assign drop = '0;",
    ]


def _ways_out(way: str, edges: tuple[Edge, ...]) -> list[str]:
    """Channels `WAY_leave` into stores."""
    lines, count = [f"\n  // Out, whole packets: {way}"], len(edges)
    if not count:
        return lines
    lines += [
        f"  flit_t [{count - 1}:0] {way}_leave_data, {way}_store_data;",
        f"  logic [{count - 1}:0]  {way}_leave_valid, {way}_leave_ready, {way}_store_valid, {way}_store_ready;",
        f"  logic [{count - 1}:0][2:0] {way}_drop;",
    ]
    for number, edge in enumerate(edges):
        aim = f".ToHost(1'b1), .Number({number})" if way == "host" else f".Number({edge.end.port})"
        lines += [
            f"  sh_graph_store #({aim}) u_store_{edge.name} (",
            f"    .clk_i, .rst_i(graph_rst_i), .in_data_i({way}_leave_data[{number}]), .in_valid_i({way}_leave_valid[{number}]),",
            f"    .in_ready_o({way}_leave_ready[{number}]), .out_data_o({way}_store_data[{number}]),",
            f"    .out_valid_o({way}_store_valid[{number}]), .out_ready_i({way}_store_ready[{number}]),",
            f"    .drop_o({way}_drop[{number}])",
            "  );",
        ]
        if not edge.is_packet:
            lines += [
                f"  logic [{edge.width - 1}:0] {edge.name};",
                f"  logic {edge.name}_valid, {edge.name}_ready;",
                f"  sh_graph_pack #(.Width({edge.width})) u_{edge.name} (",
                f"    .clk_i, .rst_i(graph_rst_i), .in_data_i({edge.name}), .in_valid_i({edge.name}_valid),",
                f"    .in_ready_o({edge.name}_ready), .out_data_o({way}_leave_data[{number}]),",
                f"    .out_valid_o({way}_leave_valid[{number}]), .out_ready_i({way}_leave_ready[{number}])",
                "  );",
            ]
    return lines


def _join(way: str, port: str, count: int) -> list[str]:
    """The stores of channels to a port of the graph."""
    if not count:
        return [f"  assign {port}_data_o = '0;", f"  assign {port}_valid_o = 1'b0;"]
    return [
        f"  logic {way}_join_empty;",
        f"  sl_packet_arbiter #(.Ports({count})) u_join_{way} (",
        f"    .clk_i, .rst_i(graph_rst_i), .pause_i(1'b0), .in_data_i({way}_store_data), .in_valid_i({way}_store_valid),",
        f"    .in_ready_o({way}_store_ready), .out_data_o({port}_data_o), .out_valid_o({port}_valid_o),",
        f"    .out_ready_i({port}_ready_i), .empty_o({way}_join_empty)",
        "  );",
    ]


def _program(graph: Graph, to_lanes: tuple[Edge, ...], to_host: tuple[Edge, ...], from_host: tuple[Edge, ...]) -> list[str]:
    connections = [".clk_i, .rst_i(graph_rst_i), .active_o(active)"] + ([".now_i(time_i)"] if graph.has_now else [])
    connections += [".tick_i"] if graph.has_timers else []
    for edge in graph.edges:
        if not edge.is_packet:
            data, valid, ready = edge.name, f"{edge.name}_valid", f"{edge.name}_ready"
        else:
            if edge.is_input:
                wires, place = ("from", from_host.index(edge)) if edge.end.instance else ("lane", edge.end.port)
            else:
                wires, edges = ("host_leave", to_host) if edge.end.instance else ("lane_leave", to_lanes)
                place = edges.index(edge)
            data, valid, ready = (f"{wires}_{what}[{place}]" for what in ("data", "valid", "ready"))
        side, other = ("i", "o") if edge.is_input else ("o", "i")
        name = edge.name
        connections.append(f".{name}_data_{side}({data}), .{name}_valid_{side}({valid}), .{name}_ready_{other}({ready})")
    lines = ["\n  // The configuration", "  logic active;", "  logic [32:0] signal_data, reply_data;"]
    lines.append("  logic signal_valid, signal_ready, reply_valid, reply_ready;")
    if graph.has_signals:
        connections += [
            ".signal_data_i(signal_data), .signal_valid_i(signal_valid), .signal_ready_o(signal_ready)",
            ".signal_data_o(reply_data), .signal_valid_o(reply_valid), .signal_ready_i(reply_ready)",
        ]
    else:  # what is sent to nobody comes back unanswered
        lines += [
            "  assign signal_ready = reply_ready;",
            "  assign reply_valid = signal_valid;",
            "  assign reply_data = signal_data;",
        ]
    joined = ",\n    ".join(connections)
    return [*lines, f"  {graph.module} u_program (\n    {joined}\n  );"]


def _flows(to_lanes: tuple[Edge, ...], written: int, past: int) -> list[str]:
    """The flow table behind the lanes."""
    lines = [
        "\n  // Into the flow table: what the program lets out by a lane, and lanes that it leaves alone.",
        f"  localparam logic [6:0] WrittenLanes = 7'd{written};",
        f"  localparam logic [6:0] PastLanes = 7'd{past};",
        "  flit_t [Lanes-1:0] pass_data;",
        "  logic [Lanes-1:0]  pass_valid, pass_ready;",
        "  logic              flows_idle, program_request, program_ready, program_response_valid;",
        "  register_response_t program_response;",
        "  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_pass",
        "    if (PastLanes[i]) begin : gen_past",
        "      assign pass_data[i]  = lane_data[i];",
        "      assign pass_valid[i] = lane_valid[i];",
        "      assign lane_ready[i] = pass_ready[i];",
        "    end else if (!WrittenLanes[i]) begin : gen_silent",
        "      assign pass_data[i]  = '0;",
        "      assign pass_valid[i] = 1'b0;",
        "    end",
        "  end",
    ]
    for number, edge in enumerate(to_lanes):
        lines += [
            f"  assign pass_data[{edge.end.port}] = lane_store_data[{number}];",
            f"  assign pass_valid[{edge.end.port}] = lane_store_valid[{number}];",
            f"  assign lane_store_ready[{number}] = pass_ready[{edge.end.port}];",
        ]
    return [
        *lines,
        "  sh_graph_flows #(",
        "    .Lanes(Lanes), .Groups(FlowGroups), .GroupEntries(FlowGroupEntries), .TernaryEntries(FlowTernaryEntries)",
        "  ) u_flows (",
        "    .clk_i, .rst_i(graph_rst_i), .tick_i, .lane_data_i(pass_data), .lane_valid_i(pass_valid), .lane_ready_o(pass_ready),",
        "    .out_data_o, .out_valid_o, .out_ready_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o,",
        "    .reg_response_valid_o, .program_valid_o(program_request), .program_ready_i(program_ready),",
        "    .program_response_i(program_response), .program_response_valid_i(program_response_valid),",
        "    .push_data_o, .push_valid_o, .push_ready_i, .event_o, .idle_o(flows_idle)",
        "  );",
    ]


def _registers(to_lanes: tuple[Edge, ...], to_host: tuple[Edge, ...], from_host: tuple[Edge, ...], flow_table: bool) -> list[str]:
    """The program's window, all windows' capability words, and the events of the graph."""
    stores, own = len(to_lanes) + len(to_host), f"8'd{len(from_host)}, 8'd{len(to_host)}, 16'(ELEMENT_GRAPH)"
    window = f"  sh_graph_registers #(.Channels({max(len(from_host), 1)}), .Stores({max(stores, 1)})) u_registers ("
    chain = [
        "    .signal_data_o(signal_data), .signal_valid_o(signal_valid), .signal_ready_i(signal_ready),",
        "    .reply_data_i(reply_data), .reply_valid_i(reply_valid), .reply_ready_o(reply_ready), .taken_i(taken), .drop_i(drop),",
        "    .lost_i(7'(lane_lost)), .host_invalid_i(host_invalid)",
        "  );",
    ]
    if flow_table:
        return [
            "\n  // Registers: this program's window is the graph's second.",
            "  logic [3:0] own_ready, own_response_valid;",
            "  register_response_t [3:0] own_response;",
            window,
            "    .clk_i, .rst_i(graph_rst_i), .reg_request_i, .reg_request_valid_i({3'd0, program_request}),",
            "    .reg_request_ready_o(own_ready), .reg_response_o(own_response), .reg_response_valid_o(own_response_valid),",
            *chain,
            "  assign program_ready          = own_ready[0];",
            "  assign program_response       = own_response[0];",
            "  assign program_response_valid = own_response_valid[0];",
            "  assign capability_o = {",
            f"    16'($clog2(TEMPLATES)), 16'(ELEMENT_DEPARSE), 32'd0, {own},",
            "    16'($clog2(FlowGroups * FlowGroupEntries)), 16'(ELEMENT_FLOW_TABLE)",
            "  };",
        ]
    return [
        "\n  // Registers",
        window,
        "    .clk_i, .rst_i(graph_rst_i), .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o,",
        "    .reg_response_valid_o, " + chain[0].strip(),
        *chain[1:],
        f"  assign capability_o = {{96'd0, {own}}};",
        "  assign push_data_o  = '0;  // there are no rules",
        "  assign push_valid_o = 1'b0;",
        "",
        "  // Packets that leave: counted at their first flit.",
        "  always_comb begin",
        "    event_o           = '0;",
        "    event_o.forwarded = out_valid_o && out_ready_i && out_data_o.sop;",
        "    event_o.to_host   = to_host_valid_o && to_host_ready_i && to_host_data_o.sop;",
        "  end",
    ]


def _idle(
    graph: Graph, to_lanes: tuple[Edge, ...], to_host: tuple[Edge, ...], from_host: tuple[Edge, ...], flow_table: bool
) -> list[str]:
    quiet = QUIET_CYCLES + graph.depth
    bits = quiet.bit_length()
    visible = ["active", "out_valid_o", "to_host_valid_o", "host_valid_i", "lane_valid != '0"]
    visible += [f"{way}_store_valid != '0" for way, edges in (("lane", to_lanes), ("host", to_host)) if edges]
    visible += ["from_valid != '0"] if from_host else []
    visible += ["!flows_idle"] if flow_table else ["!lane_join_empty"] if to_lanes else []
    visible += ["!host_join_empty"] if to_host else []
    unused = ["own_ready[3:1]", "own_response[3:1]", "own_response_valid[3:1]"] if flow_table else ["push_ready_i"]
    return [
        "",
        "  // Nothing is in flight when no token was seen for longer than an element can have one inside.",
        f"  logic [{bits - 1}:0] quiet_q;",
        "  logic seen;",
        f"  assign seen = {' || '.join(visible)};",
        "  assign idle_o = !seen && quiet_q == '0;",
        "  always_ff @(posedge clk_i) begin",
        f"    quiet_q <= seen ? {bits}'d{quiet} : quiet_q - {bits}'(quiet_q != '0);",
        "    if (rst_i) quiet_q <= '0;",
        "  end",
        "",
        "  logic unused;",
        "  assign unused = &{1'b0, tick_i, time_i, lane_data, lane_valid, host_data_i, host_valid_i, out_ready_i, to_host_ready_i,",
        f"    {', '.join(unused)},",
        "    LpmEntries4, LpmEntries6, ExactEntries4, ExactEntries6, FlowGroups, FlowGroupEntries, FlowTernaryEntries,",
        "    PipelineUnits, PipelineExactEntries, StatefulUnits};",
    ]
