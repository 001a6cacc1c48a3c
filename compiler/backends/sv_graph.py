# SPDX-License-Identifier: Apache-2.0
"""The device part of a configuration as one module: elements, the channels between them, and the chain of their signals.

Channels that leave the module: `lane_in_N`, `lane_out_N`, and one for every channel between host and device, named after its
end on the host (`to_INSTANCE_PORT`, `from_INSTANCE_PORT`). Signals visit the instances in topological order; instance n has
the number n + 1.

A channel is a FIFO where its depth is given, where it is lossy, or where two ways meet again; else it is the register that every
output has anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from compiler.backends.sv_element import SIGNAL_WORD, BackendError, module_name
from compiler.frontend.typed import Channel, Endpoint, Instance, Program
from compiler.ir.ir import ElementIr
from compiler.schedule.schedule import Schedule

FIFO_DEPTH = 16  # tokens, where ways meet again and the program says nothing
BLOCK_DEPTH = 64  # from here on, block RAM


@dataclass(frozen=True)
class Edge:
    """A channel that leaves the module."""

    name: str
    width: int
    is_input: bool
    end: Endpoint  # on the other side: a lane, or a port on the host
    is_packet: bool


@dataclass(frozen=True)
class Graph:
    """The module and what a test bench or a shell must know of it."""

    module: str
    text: str
    edges: tuple[Edge, ...]
    instances: tuple[Instance, ...]  # on the device, in the order of the signal chain
    has_signals: bool
    has_now: bool
    has_timers: bool
    depth: int  # stages of the deepest element


class Store(StrEnum):
    """What a channel holds its tokens in."""

    REGISTER = "register"  # that of the output
    FIFO = "FIFO"
    PACKETS = "packet FIFO"  # whole packets


def store_of(channel: Channel, rejoins: bool) -> tuple[Store, int]:
    """What a channel is between elements, and its depth in tokens; `rejoins`: of the configuration."""
    if channel.lossy:
        return Store.PACKETS, max(channel.depth, 512)
    if channel.depth or rejoins:
        return Store.FIFO, max(channel.depth or FIFO_DEPTH, 4)
    return Store.REGISTER, 0


def wires_of(channel: Channel) -> str:
    """The name of a channel inside the module."""
    source, target = channel.source, channel.target
    return f"{source.instance or 'lane'}_{source.port}_to_{target.instance or 'lane'}_{target.port}"


def generate(name: str, program: Program, plans: Mapping[str, Schedule], in_shell: bool = False) -> Graph:
    """The module `cfg_NAME`; `plans` by element name. `in_shell`: with `active_o` and without the test bench's monitors."""
    return _Graph(name, program, plans, in_shell).graph()


class _Graph:
    def __init__(self, name: str, program: Program, plans: Mapping[str, Schedule], in_shell: bool) -> None:
        self.module = "cfg_" + re.sub(r"\W+", "_", name).lower()
        self.program = program
        self.plans = plans
        self.in_shell = in_shell
        self.on_device = {i.name: i for i in program.instances if not i.on_host}
        self.edges: list[Edge] = []
        self.lines: list[str] = []
        self.rejoins = rejoins(program)

    def _device(self, end: Endpoint) -> bool:
        return end.instance in self.on_device

    def graph(self) -> Graph:
        channels = [c for c in self.program.channels if self._device(c.source) or self._device(c.target)]
        straight = [c for c in self.program.channels if not c.source.instance and not c.target.instance]
        if self.in_shell:  # there between lanes and the host too
            straight = [c for c in self.program.channels if c not in channels and not (c.source.instance and c.target.instance)]
        signalled = [i for i in self.on_device.values() if self._ir(i).host_signals and i.takes_signals]
        has_now = any(self._has_now(i) for i in self.on_device.values())
        has_timers = any(self._ir(i).timers for i in self.on_device.values())
        for channel in [*channels, *straight]:
            self._channel(channel)
        if self.in_shell:
            valid = [f"{wires_of(c)}_{side}_valid" for c in [*channels, *straight] for side in "st"]
            self.lines.append("\n  assign active_o = " + "\n    || ".join(valid or ["1'b0"]) + ";")
        self._signals(signalled)
        for instance in self.on_device.values():
            self._instance(instance, signalled)
        header = self._header(bool(signalled), has_now, has_timers)
        text = "\n".join([*header, *self.lines, "endmodule\n"])
        depth = max([0, *(self.plans[i.element.name].depth for i in self.on_device.values())])
        instances = tuple(self.on_device.values())
        return Graph(self.module, text, tuple(self.edges), instances, bool(signalled), has_now, has_timers, depth)

    def _ir(self, instance: Instance) -> ElementIr:
        return self.plans[instance.element.name].pipeline.element

    def _has_now(self, instance: Instance) -> bool:
        return any(node.op == "choice" for node in self.plans[instance.element.name].pipeline.nodes)

    def _header(self, has_signals: bool, has_now: bool, has_timers: bool) -> list[str]:
        ports = ["  input  logic clk_i", "  input  logic rst_i"]
        ports += ["  input  logic [63:0] now_i"] if has_now else []
        ports += ["  input  logic [31:0] tick_i"] if has_timers else []  # microseconds
        ports += ["  output logic active_o"] if self.in_shell else []  # a token moves, or waits
        for edge in self.edges:
            way, back, side, other = ("input ", "output", "i", "o") if edge.is_input else ("output", "input ", "o", "i")
            ports += [
                f"  {way} logic [{edge.width - 1}:0] {edge.name}_data_{side}",
                f"  {way} logic {edge.name}_valid_{side}",
                f"  {back} logic {edge.name}_ready_{other}",
            ]
        if has_signals:
            ports += [
                f"  input  logic [{SIGNAL_WORD - 1}:0] signal_data_i",
                "  input  logic signal_valid_i",
                "  output logic signal_ready_o",
                f"  output logic [{SIGNAL_WORD - 1}:0] signal_data_o",
                "  output logic signal_valid_o",
                "  input  logic signal_ready_i",
            ]
        return [
            "// SPDX-License-Identifier: Apache-2.0",
            f"// Configuration {self.module.removeprefix('cfg_')}, generated: {len(self.on_device)} elements.",
            f"module {self.module} (",
            ",\n".join(ports),
            ");",
        ]

    def _edge(self, end: Endpoint, channel: Channel, is_input: bool) -> Edge:
        if not end.instance:
            name = f"lane_{'in' if is_input else 'out'}_{end.port}"
        else:
            name = f"{'from' if is_input else 'to'}_{end.instance}_{end.port}"
        edge = Edge(name, channel.type.bits, is_input, end, channel.is_packet)
        self.edges.append(edge)
        return edge

    def _channel(self, channel: Channel) -> None:
        """Wires `NAME_s` from the source and `NAME_t` to the target, and what is between."""
        name, width, lines = wires_of(channel), channel.type.bits, self.lines
        arrow = "=>" if channel.lossy else "->"
        lines.append(
            f"\n  // {end_name(self.program, channel.source, True)} {arrow} {end_name(self.program, channel.target, False)}"
        )
        for side in "st":
            lines.append(f"  logic [{width - 1}:0] {name}_{side}_data;")
            lines.append(f"  logic {name}_{side}_valid, {name}_{side}_ready;")
        if not self._device(channel.source):
            edge = self._edge(channel.source, channel, True).name
            lines.append(f"  assign {name}_s_data = {edge}_data_i;")
            lines.append(f"  assign {name}_s_valid = {edge}_valid_i;")
            lines.append(f"  assign {edge}_ready_o = {name}_s_ready;")
        if not self._device(channel.target):
            edge = self._edge(channel.target, channel, False).name
            lines.append(f"  assign {edge}_data_o = {name}_t_data;")
            lines.append(f"  assign {edge}_valid_o = {name}_t_valid;")
            lines.append(f"  assign {name}_t_ready = {edge}_ready_i;")
        self._between(channel, name, width)
        for side in "" if self.in_shell else "st":
            moves = f"{name}_{side}_valid && {name}_{side}_ready"
            lines += [
                "`ifdef SLUICE_TRACE",
                f'  tb_monitor #(.Width({width}), .Name("{name}_{side}")) u_{name}_{side} (',
                f"    .clk_i, .rst_i, .data_i({name}_{side}_data), .moves_i({moves}));",
                "`endif",
            ]

    def _between(self, channel: Channel, name: str, width: int) -> None:
        lines = self.lines
        store, depth = store_of(channel, self.rejoins)
        if store is Store.PACKETS:
            if not channel.is_packet:
                raise BackendError(
                    f"'=>' from {end_name(self.program, channel.source, True)}: dropping is supported only for packets"
                )
            lines += [
                f"  sl_packet_fifo #(.Flits({depth}), .Exact(1'b1)) u_{name} (",
                "    .clk_i, .rst_i, .lossless_i(1'b0),",
                f"    .in_data_i({name}_s_data), .in_valid_i({name}_s_valid), .in_ready_o({name}_s_ready),",
                f"    .out_data_o({name}_t_data), .out_valid_o({name}_t_valid), .out_ready_i({name}_t_ready),",
                "    .empty_o(), .stored_o(), .stored_length_o(),",
                "    .drop_error_o(), .drop_oversize_o(), .drop_runt_o(), .drop_overflow_o()",
                "  );",
            ]
        elif store is Store.FIFO:
            lines += [
                f"  sl_fifo #(.Width({width}), .Depth({depth}), .Style({int(depth >= BLOCK_DEPTH)})) u_{name} (",
                f"    .clk_i, .rst_i, .in_data_i({name}_s_data), .in_valid_i({name}_s_valid), .in_ready_o({name}_s_ready),",
                f"    .out_data_o({name}_t_data), .out_valid_o({name}_t_valid), .out_ready_i({name}_t_ready), .count_o()",
                "  );",
            ]
        else:
            lines += [
                f"  assign {name}_t_data = {name}_s_data;",
                f"  assign {name}_t_valid = {name}_s_valid;",
                f"  assign {name}_s_ready = {name}_t_ready;",
            ]

    def _signals(self, signalled: list[Instance]) -> None:
        if not signalled:
            return
        lines, count = self.lines, len(signalled)
        lines += [
            "\n  // The signal chain",
            f"  logic [{SIGNAL_WORD - 1}:0] chain_data [{count + 1}];",
            f"  logic [{count}:0] chain_valid, chain_ready;",
            "  assign chain_data[0] = signal_data_i;",
            "  assign chain_valid[0] = signal_valid_i;",
            "  assign signal_ready_o = chain_ready[0];",
            f"  assign signal_data_o = chain_data[{count}];",
            f"  assign signal_valid_o = chain_valid[{count}];",
            f"  assign chain_ready[{count}] = signal_ready_i;",
        ]

    def _instance(self, instance: Instance, signalled: list[Instance]) -> None:
        element = self._ir(instance)
        connections = [".clk_i", ".rst_i"] + ([".now_i"] if self._has_now(instance) else [])
        connections += [".tick_i"] if element.timers else []
        for port, info in enumerate(element.inputs):
            wire = self._wire(instance.name, port, False)
            connections += [
                f".{info.name}_data_i({wire}_data)" if wire else f".{info.name}_data_i('0)",
                f".{info.name}_valid_i({wire}_valid)" if wire else f".{info.name}_valid_i(1'b0)",
                f".{info.name}_ready_o({wire}_ready)" if wire else f".{info.name}_ready_o()",
            ]
        for port, info in enumerate(element.outputs):
            wire = self._wire(instance.name, port, True)
            connections += [
                f".{info.name}_data_o({wire}_data)" if wire else f".{info.name}_data_o()",
                f".{info.name}_valid_o({wire}_valid)" if wire else f".{info.name}_valid_o()",
                f".{info.name}_ready_i({wire}_ready)" if wire else f".{info.name}_ready_i(1'b1)",
            ]
        parameter = ""
        if instance in signalled:
            at = signalled.index(instance)
            parameter = f"#(.Instance(16'd{number_of(list(self.on_device.values()), instance.name)})) "
            connections += [
                f".signal_data_i(chain_data[{at}])", f".signal_valid_i(chain_valid[{at}])", f".signal_ready_o(chain_ready[{at}])",
                f".signal_data_o(chain_data[{at + 1}])", f".signal_valid_o(chain_valid[{at + 1}])",
                f".signal_ready_i(chain_ready[{at + 1}])",
            ]  # fmt: skip
        elif element.host_signals:  # not marked with '@': nobody calls them
            connections += [
                ".signal_data_i('0)", ".signal_valid_i(1'b0)", ".signal_ready_o()",
                ".signal_data_o()", ".signal_valid_o()", ".signal_ready_i(1'b1)",
            ]  # fmt: skip
        joined = ",\n    ".join(connections)
        self.lines.append(f"\n  {module_name(element)} {parameter}u_{instance.name} (\n    {joined}\n  );")

    def _wire(self, instance: str, port: int, is_source: bool) -> str:
        for channel in self.program.channels:
            end = channel.source if is_source else channel.target
            if end == Endpoint(instance, port):
                return f"{wires_of(channel)}_{'s' if is_source else 't'}"
        return ""


def number_of(instances: list[Instance], name: str) -> int:
    """The number of an instance on the signal chain."""
    return 1 + [instance.name for instance in instances].index(name)


def end_name(program: Program, end: Endpoint, is_source: bool) -> str:
    """A channel's end as the source writes it."""
    if not end.instance:
        return f"{'from' if is_source else 'to'}_lane[{end.port}]"
    element = next(i.element for i in program.instances if i.name == end.instance)
    return f"{end.instance}.{(element.outputs if is_source else element.inputs)[end.port].name}"


def rejoins(program: Program) -> bool:
    """Whether two ways that part meet again, or the graph has a loop: then channels must be able to hold what one way is ahead."""
    parents: dict[str, str] = {}

    def find(name: str) -> str:
        while parents.setdefault(name, name) != name:
            name = parents[name]
        return name

    for channel in program.channels:
        if channel.source.instance and channel.target.instance:
            first, second = find(channel.source.instance), find(channel.target.instance)
            if first == second:
                return True
            parents[first] = second
    return False
