# SPDX-License-Identifier: Apache-2.0
"""A test bench around generated elements: streams from files through each of them with random pauses, all in one simulation.

Files of a run, in its folder: `INSTANCE.PORT.in` and `INSTANCE.PORT.out` (a token a line, hexadecimal), `INSTANCE.signal.in`
and `.out` (words of the signal chain). What the elements print of choices and state goes to standard output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.backends.sv_element import SIGNAL_WORD, module_name
from compiler.backends.sv_graph import Graph
from compiler.backends.sv_start import ONE
from compiler.ir.ir import ElementIr

ZERO = "1'b0"
STUCK_CYCLES = 20000  # without a token while sources still have some: a deadlock, or a loop that waits; besides sweeps of memories
QUIET_CYCLES = 200  # without a token, behind which signals that come last begin
DRAIN_CYCLES = 2000  # for what is under way when the elements stop
TICK_CYCLES = 8  # from one microsecond of timers to the next
IDLE_CYCLES = 400  # without a token anywhere, after which the run is at its end


@dataclass(frozen=True)
class Design:
    """What is tested: a module, its channels (name, width, whether an input), and what else it has."""

    module: str
    channels: tuple[tuple[str, int, bool], ...]
    has_signals: bool
    has_now: bool
    has_timers: bool
    is_element: bool  # its number on the signal chain is a parameter; 1 here
    search: int = 0  # cycles in which an update of a table looks for its rule, and nothing moves


def of_element(element: ElementIr, has_now: bool) -> Design:
    """An element alone."""
    inputs = tuple((port.name, port.width, True) for port in element.inputs)
    outputs = tuple((port.name, port.width, False) for port in element.outputs)
    search = max((table.entries for table in element.tables.values()), default=0)
    return Design(module_name(element), inputs + outputs, bool(element.host_signals), has_now, bool(element.timers), True, search)


def of_graph(graph: Graph) -> Design:
    """A configuration."""
    channels = tuple((edge.name, edge.width, edge.is_input) for edge in graph.edges)
    search = max((table.entries for instance in graph.instances for table in instance.element.tables), default=0)
    return Design(graph.module, channels, graph.has_signals, graph.has_now, graph.has_timers, False, search)


def testbench(designs: Mapping[str, Design]) -> str:
    """The module `tb` with all of them, each under its name."""
    search = max((design.search for design in designs.values()), default=0)
    idle = IDLE_CYCLES + search
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated: every design with a source or sink on each of its channels.",
        "module tb (input logic clk);",
        "  logic rst = 1'b1;",
        "  int unsigned in_pause, out_pause, limit, sweep, cycle = 0, idle = 0, stopped = 0;",
        "  logic stop = 1'b0;  // elements that wait for nothing begin nothing any more",
        "  logic [63:0] now = '0;",
        "  logic [31:0] tick = '1;  // faster than microseconds, so that short runs have timers; wraps at once",
        "  logic signals_wait = 1'b0;  // until nothing else moves",
        "  initial begin",
        '    if ($test$plusargs("signals_last")) signals_wait = 1\'b1;',
        '    if (!$value$plusargs("in_pause=%d", in_pause)) in_pause = 64;',
        '    if (!$value$plusargs("out_pause=%d", out_pause)) out_pause = 64;',
        '    if (!$value$plusargs("limit=%d", limit)) limit = 1000000;',
        '    if (!$value$plusargs("sweep=%d", sweep)) sweep = 0;',
        "  end",
    ]
    moves: list[str] = []
    done: list[str] = []
    signals_done: list[str] = []
    for name, design in designs.items():
        lines += _instance(name, design, moves, done, signals_done)
    lines += [
        "  logic moved, all_done, inputs_done;",
        f"  assign moved = {' || '.join(moves) or ZERO};",
        f"  assign inputs_done = {' && '.join(done) or ONE};",
        f"  assign all_done = {' && '.join(['inputs_done', *signals_done])};",
        "  always_ff @(posedge clk) begin",
        "    cycle <= cycle + 1;",
        "    now   <= now + 64'd1;",
        f"    if (cycle % {TICK_CYCLES} == 0) tick <= tick + 32'd1;",
        "    rst   <= cycle < 4;",
        f"    if (inputs_done && idle > {QUIET_CYCLES}) signals_wait <= 1'b0;",
        "    idle  <= rst || moved ? 0 : idle + 1;",
        f"    if (!stop && ((all_done && idle > {idle}) || idle > {STUCK_CYCLES + search} + sweep || cycle > limit)) begin",
        "      stop    <= 1'b1;",
        "      stopped <= cycle;",
        "    end",
        f"    if (stop && cycle > stopped + {DRAIN_CYCLES}) begin",
        '      $display("@end %0d %0d", stopped, idle < 100);',
        "      $finish;",
        "    end",
        "  end",
        "endmodule\n",
    ]
    return "\n".join(lines)


def _instance(name: str, design: Design, moves: list[str], done: list[str], signals_done: list[str]) -> list[str]:
    lines = []
    connections = [".clk_i(clk)", ".rst_i(rst)"] + ([".now_i(now)"] if design.has_now else [])
    connections += [".tick_i(tick)"] if design.has_timers else []
    channels = list(design.channels)
    if design.has_signals:
        channels += [("signal", SIGNAL_WORD, True), ("signal", SIGNAL_WORD, False)]
    for port, width, is_input in channels:
        side, other = ("i", "o") if is_input else ("o", "i")
        wire = f"u_{name}_{port}_{side}"
        lines.append(f"  logic [{width - 1}:0] {wire}_data; logic {wire}_valid, {wire}_ready;")
        connections += [
            f".{port}_data_{side}({wire}_data)",
            f".{port}_valid_{side}({wire}_valid)",
            f".{port}_ready_{other}({wire}_ready)",
        ]
        parameters = f'#(.Width({width}), .Name("{name}.{port}"))'
        if is_input:
            hold = "signals_wait" if port == "signal" else ZERO
            lines += [
                f"  logic {wire}_done;",
                f"  tb_source {parameters} {wire}_source (.clk_i(clk), .rst_i(rst), .pause_i(in_pause), .hold_i({hold}),",
                f"    .out_data_o({wire}_data), .out_valid_o({wire}_valid), .out_ready_i({wire}_ready), .done_o({wire}_done));",
            ]
            (done if port != "signal" else signals_done).append(f"{wire}_done")
        else:
            lines += [
                f"  tb_sink {parameters} {wire}_sink (.clk_i(clk), .rst_i(rst), .pause_i(out_pause), .in_data_i({wire}_data),",
                f"    .in_valid_i({wire}_valid), .in_ready_o({wire}_ready));",
            ]
        moves.append(f"({wire}_valid && {wire}_ready)")
    parameter = "#(.Instance(16'd1)) " if design.has_signals and design.is_element else ""
    joined = ", ".join(connections)
    lines.append(f"  {design.module} {parameter}u_{name} (\n    {joined}\n  );")
    return lines
