# SPDX-License-Identifier: Apache-2.0
"""A scheduled element as one SystemVerilog module (`docs/design/compiler.md`, the shape of a generated element).

Values keep the names that they have in the source, with the source line behind; a value of stage k that is used in stage n is
`name_sn` there. The pipeline never stalls: an iteration begins only with room for what it may write (`sl_pipe_output`). Wide
registers are written under their valid, but for those behind stage 0.
With SLUICE_TRACE defined the module also prints its choices, messages and, at the end, its state, for the differential tests.
"""

from __future__ import annotations

import re

from compiler.backends.sv_copies import Copies
from compiler.backends.sv_expressions import expression, is_one, literal, register_names
from compiler.backends.sv_flows import FlowTables
from compiler.backends.sv_memories import Memories
from compiler.backends.sv_start import Start, argument_bits
from compiler.backends.sv_tables import Tables
from compiler.backends.sv_trace import trace
from compiler.backends.sv_unused import unused
from compiler.ir.ir import ElementIr, Node, PortInfo, Put
from compiler.schedule.carried import Line, carried, effects, taken
from compiler.schedule.schedule import Schedule

OWN = ("ready_q", "settled_q", "wait_q", "waits_q", "update_stop_q", "iteration_q", "cycle_q", "last_q")  # registers of a module
SIGNAL_WORD = 33  # bits of the signal chain: last, and 32 of data


class BackendError(Exception):
    """A message for the user: the RTL back end does not support this yet."""


def module_name(element: ElementIr) -> str:
    """`el_NAME` in lower case with underscores."""
    return "el_" + re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", element.name)).strip("_").lower()


TEST_BENCH_STOP = "tb.stop"


def generate(schedule: Schedule, stop: str = TEST_BENCH_STOP) -> str:
    """The module's text. `stop`: the signal that ends a traced run, by which an element that needs no input is held."""
    return Module(schedule, stop).text()


class Module:
    """A module that is being written."""

    def __init__(self, schedule: Schedule, stop: str = TEST_BENCH_STOP) -> None:
        self.schedule = schedule
        self.stop = stop
        self.pipeline = schedule.pipeline
        self.element = schedule.pipeline.element
        self.stage = schedule.stage
        self.names = _names(schedule)
        states = (*self.element.registers, *self.element.memories)
        self.registers = register_names(states, (*OWN, *(f"{table}_status_q" for table in self.element.tables)))
        self.carried = carried(schedule)
        self.copies = Copies(schedule, self.carried)
        self.lines: list[str] = []
        self.tables = Tables(self)
        self.flows = FlowTables(self)
        self.memories = Memories(self)

    # References

    def ref(self, node: Node, stage: int) -> str:
        """The name that the value has in `stage`, or the constant. Raises BackendError where it is not carried to there."""
        if node.op == "const":
            return literal(node.value, node.width)
        name = self.names[node]
        if stage not in self.carried.there[node]:
            raise BackendError(f"{name} is not carried to stage {stage}")
        return name if stage == self.stage[node] else f"{name}_s{stage}"

    @property
    def depth(self) -> int:
        """Stages that a valid bit must reach."""
        ends = [*effects(self.schedule), *((node, taken(self.schedule, node)) for node in self.pipeline.nodes)]
        return max([0, *(stage for _, stage in ends), *(max(needed, default=0) for needed in self.carried.needed.values())])

    @property
    def has_signals(self) -> bool:
        """Whether there are other iterations than the handler's."""
        return bool(self.element.signals)

    @property
    def argument_bits(self) -> int:
        """Of the signal or timer with the most arguments."""
        return argument_bits(self.element.signals)

    @property
    def has_now(self) -> bool:
        return any(node.op == "choice" and node.name == "now" for node in self.pipeline.nodes)

    # Text

    def text(self) -> str:
        self._head()
        self._declare()
        for stage in range(self.depth + 1):
            self._stage(stage)
        self._ahead()
        self.lines += Start(self).text()
        self._registers()
        self.lines += self.memories.text()
        self.lines += [*self.tables.text(), *self.flows.text()]
        self._outputs()
        self.lines += [*unused(self), *trace(self)]
        self.lines.append("endmodule\n")
        return "\n".join(self.lines)

    def _head(self) -> None:
        element, schedule = self.element, self.schedule
        place = f"{element.span.source.name}:{element.span.line}"
        ports = ["  input  logic clk_i", "  input  logic rst_i  /* synchronous, active high */"]
        if self.has_now:
            ports.append("  input  logic [63:0] now_i")
        if element.timers:
            ports.append("  input  logic [31:0] tick_i  /* microseconds */")
        for port in element.inputs:
            ports += [
                f"  input  logic [{port.width - 1}:0] {port.name}_data_i",
                f"  input  logic {port.name}_valid_i",
                f"  output logic {port.name}_ready_o",
            ]
        for port in element.outputs:
            ports += [
                f"  output logic [{port.width - 1}:0] {port.name}_data_o",
                f"  output logic {port.name}_valid_o",
                f"  input  logic {port.name}_ready_i",
            ]
        if element.host_signals:
            ports += [
                f"  input  logic [{SIGNAL_WORD - 1}:0] signal_data_i",
                "  input  logic signal_valid_i",
                "  output logic signal_ready_o",
                f"  output logic [{SIGNAL_WORD - 1}:0] signal_data_o",
                "  output logic signal_valid_o",
                "  input  logic signal_ready_i",
            ]
        parameter = (
            " #(\n  parameter logic [15:0] Instance = 16'd0  // its number on the signal chain\n)" if element.host_signals else ""
        )
        self.lines += [
            "// SPDX-License-Identifier: Apache-2.0",
            f"// Element {element.name}, generated from {place}.",
            f"// II = {schedule.interval}, {self.depth + 1} stages for {schedule.clock:g} ns.",
            f"module {module_name(element)}{parameter} (",
            ",\n".join(ports),
            ");",
        ]

    def _declare(self) -> None:
        """What several stages refer to."""
        lines, element = self.lines, self.element
        lines += [
            f"  logic {name}_room;  // there is a place for a token of an iteration that begins" for name in self.pipeline.puts
        ]
        lines += [f"  logic {instance}_ready;" for instance, _ in self.memories.read_ports()]
        lines += [*self.tables.declarations(), *self.flows.declarations()]
        lines += [
            "  logic start, start_handler;",
            f"  logic [{max(self.depth, 1)}:0] valid;  // bit n: an iteration in stage n",
        ]
        if self.has_signals:
            lines += [
                "  logic start_signal, signal_pending, is_handler_iteration;",
                "  logic [7:0] signal_kind;",
                f"  logic [{self.argument_bits - 1}:0] signal_arguments;",
            ]
        for name in self.live_registers():
            register = element.registers[name]
            lines.append(f"  logic [{register.width - 1}:0] {self.registers[name]};  // {register.label or name}")
        for node in self.pipeline.nodes:
            if node.op == "register":
                lines.append(f"  logic [{node.width - 1}:0] {self.names[node]};")
                lines.append(f"  assign {self.names[node]} = {self.registers[node.name]};")
            elif node.op in ("read", "lookup", "place", "ahead"):
                lines.append(f"  logic [{node.width - 1}:0] {self.names[node]};")

    def live_registers(self) -> list[str]:
        """Registers that are read or written."""
        read = {node.name for node in self.pipeline.nodes if node.op == "register"}
        return [name for name in self.element.registers if name in read or name in self.pipeline.next]

    def kind_until(self) -> int:
        """The last stage that asks whether the iteration is the handler's; -1 where there is none."""
        ports = [self.schedule.port[name] for name in self.pipeline.puts]
        return max([self.schedule.other.get(("result",), 0), *ports]) if self.has_signals else -1

    def kind_at(self, stage: int) -> str:
        return "is_handler_iteration" if stage == 0 else f"is_handler_iteration_s{stage}"

    def _stage(self, stage: int) -> None:
        """What is computed in a stage, and what the next stage needs of it."""
        here = [node for node in self.pipeline.nodes if node.op != "const" and self.stage[node] == stage]
        self.lines.append(f"\n  // Stage {stage}")
        if self.has_signals and stage == 0:
            self.lines.append(f"  assign is_handler_iteration = {self.tables.is_handler()};")
        for line in self.carried.lines:
            if line.last == stage:
                self._line(line)
        for node in here:
            if node.op not in ("read", "lookup", "place", "register", "ahead"):
                self._value(node, stage)
                self.lines += self.copies.text(node, stage, self.ref)
        onward = self.carried.steps.get(stage, [])
        if stage < self.kind_until():
            self.lines.append(f"  logic {self.kind_at(stage + 1)};")
        for node in onward:
            self.lines.append(f"  logic [{node.width - 1}:0] {self.ref(node, stage + 1)};")
        moved = [f"{self.ref(node, stage + 1)} <= {self.ref(node, stage)};" for node in onward]
        if stage < self.kind_until():
            moved.append(f"{self.kind_at(stage + 1)} <= {self.kind_at(stage)};")
        if moved:
            enable = f" if (valid[{stage}])" if stage else ""  # that of stage 0 is known late, and would reach every one of them
            self.lines.append(f"  always_ff @(posedge clk_i){enable} begin")
            self.lines += [f"    {line}" for line in moved]
            self.lines.append("  end")
        for node in onward:
            self.lines += self.copies.text(node, stage + 1, self.ref)

    def _line(self, line: Line) -> None:
        """A delay line."""
        names = [self.ref(node, line.last) for node in line.nodes]
        self.lines += [f"  logic [{node.width - 1}:0] {name};" for node, name in zip(line.nodes, names, strict=True)]
        given = ", ".join(self.ref(node, line.first) for node in line.nodes)
        self.lines += [
            f"  sl_delay_line #(.Width({line.bits}), .Cycles({line.last - line.first})) u_line_{names[0]} (",
            f"    .clk_i, .rst_i, .data_i({{{given}}}), .data_o({{{', '.join(names)}}})",
            "  );",
        ]

    def _value(self, node: Node, stage: int) -> None:
        name, width = self.names[node], node.width
        match node.op:
            case "head":
                need = self.pipeline.needs.get(node.name)
                data = f"{node.name}_data_i"
                text = data if need is not None and is_one(need) else f"{node.name}_valid_i ? {data} : '0"
            case "available":
                text = f"{node.name}_valid_i"
            case "kind":
                text = "is_handler_iteration" if node.value == 0 else f"!is_handler_iteration && signal_kind == 8'd{node.value - 1}"
            case "argument":
                text = self._argument(node)
            case "insert" | "remove":
                text = self.tables.status(node)
            case "choice":
                if node.name != "now":
                    raise BackendError(f"the choice '{node.name}' is not supported in hardware")
                text = "now_i"
            case _:
                text = expression(node, [self.ref(argument, stage) + self.copies.suffix(argument, node) for argument in node.args])
        comment = f"  // {node.span.source.name}:{node.span.line}" if node.span is not None else ""
        self.lines.append(f"  logic [{width - 1}:0] {name};{comment}\n  assign {name} = {text};")

    def _ahead(self) -> None:
        """What iterations take from those in front of them."""
        for node in self.pipeline.nodes:
            if node.op == "ahead":
                stage = taken(self.schedule, node)
                value = self.ref(node.args[0], stage)
                live = f"valid[{stage}] && " if node.name == "live" else ""
                self.lines.append(f"  assign {self.names[node]} = {live}{value};")

    def _argument(self, node: Node) -> str:
        for signal in self.element.signals:
            low = 0
            for name, width in signal.arguments:
                if f"{signal.name}.{name}" == node.name:
                    return f"signal_arguments[{low + width - 1}:{low}]"
                low += width
        raise BackendError(f"unknown signal argument '{node.name}'")

    def _registers(self) -> None:
        """State registers, each written in its stage."""
        for name in self.live_registers():
            target, register = self.registers[name], self.element.registers[name]
            following = self.pipeline.next.get(name)
            self.lines.append("\n  always_ff @(posedge clk_i) begin")
            if following is not None:
                stage = self.schedule.register[name]
                enable = "" if is_one(following.enable) else f" && {self.ref(following.enable, stage)}"
                self.lines.append(f"    if (valid[{stage}]{enable}) {target} <= {self.ref(following.data, stage)};")
            self.lines += [f"    if (rst_i) {target} <= {literal(register.reset, register.width)};", "  end"]

    def _outputs(self) -> None:
        for port in self.element.outputs:
            put = self.pipeline.puts.get(port.name)
            self.lines.append("")
            if put is None:
                self.lines += [f"  assign {port.name}_valid_o = 1'b0;", f"  assign {port.name}_data_o = '0;"]
            else:
                self._output(port, put)

    def _output(self, port: PortInfo, put: Put) -> None:
        name, stage = port.name, self.schedule.port[port.name]
        done = f"valid[{stage}]" + (f" && {self.kind_at(stage)}" if self.has_signals else "")
        writes, data = self.ref(put.enable, stage), self.ref(put.data, stage)
        if port.guard is not None:
            guarded = f"{name}_guarded"
            self.lines += [
                f"  logic [{port.width - 1}:0] {guarded}_data;",
                f"  logic {guarded}_valid;",
                f"  sl_packet_guard u_{name}_guard (",
                f"    .clk_i, .rst_i, .in_data_i({data}), .in_valid_i(valid[{stage}] && {writes}),",
                f"    .out_data_o({guarded}_data), .out_valid_o({guarded}_valid)",
                "  );",
            ]
            writes, data = f"{guarded}_valid", f"{guarded}_data"
        interval = f", .Interval({self.schedule.interval})" if self.schedule.interval > 1 else ""
        self.lines += [
            f"  sl_pipe_output #(.Width({port.width}), .Latency({stage}){interval}) u_{name}_output (",
            f"    .clk_i, .rst_i, .credit_o({name}_room), .take_i(start_handler), .done_i({done}),",
            f"    .write_i({writes}), .data_i({data}),",
            f"    .out_data_o({name}_data_o), .out_valid_o({name}_valid_o), .out_ready_i({name}_ready_i)",
            "  );",
        ]


def _names(schedule: Schedule) -> dict[Node, str]:
    """A name for every node, from its label; unique, and none of the module's own."""
    taken: set[str] = set()
    last: dict[str, int] = {}  # number behind a name that was tried
    names: dict[Node, str] = {}
    for node in schedule.pipeline.nodes:
        if node.op == "const":
            continue
        label = node.label or (f"{node.name}_head" if node.op == "head" else node.name) or node.op
        base = "v_" + (re.sub(r"\W+", "_", label).strip("_").lower() or node.op)
        if re.search(r"_s\d+$", base):  # that is how a value is called in a later stage
            base += "_"
        name, number = base, last.get(base, 0)
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        last[base] = number
        taken.add(name)
        names[node] = name
    return names
