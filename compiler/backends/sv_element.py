# SPDX-License-Identifier: Apache-2.0
"""A scheduled element as one SystemVerilog module (`docs/design/compiler.md`, the shape of a generated element).

Values keep the names that they have in the source, with the source line behind; a value of stage k that is used in stage n is
`name_sn` there. The pipeline stands still as a whole while an output has no room; wide registers are written under their valid.
With SLUICE_TRACE defined the module also prints its choices, messages and, at the end, its state, for the differential tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.backends.sv_expressions import expression, literal
from compiler.backends.sv_tables import Tables
from compiler.ir.ir import ElementIr, Memory, Node
from compiler.schedule.pipeline import effect_nodes
from compiler.schedule.schedule import READ_LATENCY, Schedule, latency

ONE = "1'b1"
SIGNAL_WORD = 33  # bits of the signal chain: last, and 32 of data


class BackendError(Exception):
    """What the RTL back end cannot express yet, said to the user."""


def module_name(element: ElementIr) -> str:
    """`el_NAME` in lower case with underscores."""
    return "el_" + re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", element.name)).strip("_").lower()


def generate(schedule: Schedule) -> str:
    """The module's text."""
    return Module(schedule).text()


class Module:
    """A module that is being written."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.pipeline = schedule.pipeline
        self.element = schedule.pipeline.element
        self.stage = schedule.stage
        self.names = _names(schedule)
        self.last_use = self._last_uses()
        self.lines: list[str] = []
        self.tables = Tables(self)

    # References

    def ref(self, node: Node, stage: int) -> str:
        """The name that the value has in `stage`, or the constant."""
        if node.op == "const":
            return literal(node.value, node.width)
        name = self.names[node]
        return name if stage == self.stage[node] else f"{name}_s{stage}"

    def _last_uses(self) -> dict[Node, int]:
        last: dict[Node, int] = {node: self.stage[node] for node in self.pipeline.nodes}

        def use(node: Node, stage: int) -> None:
            last[node] = max(last[node], stage)

        for node in self.pipeline.nodes:
            for argument in node.args:
                use(argument, self._taken(node))
        for node, stage in self._effects():
            use(node, stage)
        return last

    def _taken(self, node: Node) -> int:
        """The stage in which a node takes its arguments."""
        return self.stage[node] - latency(self.pipeline, node)

    def _effects(self) -> Iterable[tuple[Node, int]]:
        schedule, pipeline = self.schedule, self.pipeline
        for port, put in pipeline.puts.items():
            yield put.enable, schedule.port[port]
            yield put.data, schedule.port[port]
        for name, put in pipeline.next.items():
            yield put.enable, schedule.register[name]
            yield put.data, schedule.register[name]
        for write, slot in zip(pipeline.writes, pipeline.slots, strict=True):
            for node in (write.enable, write.index, write.data):
                yield node, schedule.memory[write.memory] + slot
        for message in pipeline.messages:
            for node in (message.enable, *message.arguments):
                yield node, schedule.other[("message",)]
        for assertion in pipeline.assertions:
            for node in (assertion.enable, assertion.condition):
                yield node, schedule.other[("message",)]
        if pipeline.result is not None:
            yield pipeline.result, schedule.other[("result",)]

    @property
    def depth(self) -> int:
        """Stages that a valid bit must reach."""
        effects = (stage for _, stage in self._effects())
        return max([0, *effects, *self.last_use.values(), *map(self._taken, self.pipeline.nodes)])

    @property
    def has_signals(self) -> bool:
        return bool(self.element.signals)

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
        self._control()
        self._registers()
        self._memories()
        self.lines += self.tables.text()
        self._outputs()
        self._unused()
        self._trace()
        self.lines.append("endmodule\n")
        return "\n".join(self.lines)

    def _head(self) -> None:
        element, schedule = self.element, self.schedule
        place = f"{element.span.source.name}:{element.span.line}"
        ports = ["  input  logic clk_i", "  input  logic rst_i  /* synchronous, active high */"]
        if self.has_now:
            ports.append("  input  logic [63:0] now_i")
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
        if self.has_signals:
            ports += [
                f"  input  logic [{SIGNAL_WORD - 1}:0] signal_data_i",
                "  input  logic signal_valid_i",
                "  output logic signal_ready_o",
                f"  output logic [{SIGNAL_WORD - 1}:0] signal_data_o",
                "  output logic signal_valid_o",
                "  input  logic signal_ready_i",
            ]
        parameter = (
            " #(\n  parameter logic [15:0] Instance = 16'd0  // its number on the signal chain\n)" if self.has_signals else ""
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
        lines += [f"  logic {port.name}_room;  // the output can take a token" for port in element.outputs]
        lines += [f"  logic {instance}_ready;" for instance, _ in self._read_ports()]
        lines += self.tables.declarations()
        lines += [
            "  logic advance, start, start_handler;",
            f"  logic [{max(self.depth, 1)}:0] valid;  // bit n: an iteration in stage n",
        ]
        if self.has_signals:
            arguments = max([1, *(sum(width for _, width in signal.arguments) for signal in element.signals)])
            lines += [
                "  logic start_signal, signal_pending, is_handler_iteration;",
                "  logic [7:0] signal_kind;",
                f"  logic [{arguments - 1}:0] signal_arguments;",
            ]
        for name in self._live_registers():
            register = element.registers[name]
            lines.append(f"  logic [{register.width - 1}:0] {_register_name(name)};  // {register.label or name}")
        for node in self.pipeline.nodes:
            if node.op == "register":
                lines.append(f"  logic [{node.width - 1}:0] {self.names[node]};")
                lines.append(f"  assign {self.names[node]} = {_register_name(node.name)};")
            elif node.op in ("read", "lookup", "ahead"):
                lines.append(f"  logic [{node.width - 1}:0] {self.names[node]};")

    def _live_registers(self) -> list[str]:
        read = {node.name for node in self.pipeline.nodes if node.op == "register"}
        return [name for name in self.element.registers if name in read or name in self.pipeline.next]

    def _control(self) -> None:
        """Who may begin, and the valid bits."""
        lines, schedule, pipeline = self.lines, self.schedule, self.pipeline
        lines.append("\n  // Who may begin")
        rooms = [f"{port.name}_room" for port in self.element.outputs]
        memories = [f"{instance}_ready" for instance, _ in self._read_ports()]
        if self.has_signals:
            self._signal_control()
        lines.append(f"  assign advance = {' && '.join(rooms) or ONE};")
        conditions = [*memories, *self.tables.ready()]
        if any(self._asked(node) < 0 for _, node in self._read_ports()):
            lines += [
                "  logic [1:0] settled_q;  // what is read before it is known who begins was read from ready memories",
                "  always_ff @(posedge clk_i) begin",
                f"    if (advance) settled_q <= {{settled_q[0], {' && '.join(memories)}}};",
                "    if (rst_i) settled_q <= '0;",
                "  end",
            ]
            conditions.append("settled_q[1]")
        if schedule.interval > 1:
            bits = (schedule.interval - 1).bit_length()
            lines += [
                f"  logic [{bits - 1}:0] wait_q;  // stages until the next iteration may begin",
                "  always_ff @(posedge clk_i) begin",
                f"    if (advance) wait_q <= start ? {bits}'d{schedule.interval - 1} : wait_q == '0 ? '0 : wait_q - 1'b1;",
                "    if (rst_i) wait_q <= '0;",
                "  end",
            ]
            conditions.append("wait_q == '0")
        if self._may_spin():
            lines += [
                "`ifdef SLUICE_TRACE",
                "  logic held;  // the run is at its end",
                "  assign held = tb.stop;",
                "`else",
                "  localparam logic held = 1'b0;",
                "`endif",
            ]
            conditions.append("!held")
        signal_start = [*conditions, "signal_pending", *self.tables.signal_conditions()]
        for name, node in pipeline.needs.items():
            if not (node.op == "const" and node.value == 0):
                conditions.append(f"{name}_valid_i" if _one(node) else f"(!{self.ref(node, 0)} || {name}_valid_i)")
        if pipeline.any_of is not None and not _one(pipeline.any_of):
            conditions.append(self.ref(pipeline.any_of, 0))
        if self.has_signals:
            conditions.append(self.tables.no_signal())
        lines.append(f"  assign start_handler = {' && '.join(conditions) or ONE};")
        if self.has_signals:
            lines.append(f"  assign start_signal = {' && '.join(signal_start)};")
            lines.append("  assign start = start_handler || start_signal;")
        else:
            lines.append("  assign start = start_handler;")
        for port in self.element.inputs:
            take = pipeline.takes.get(port.name)
            if take is None or (take.op == "const" and take.value == 0):
                lines.append(f"  assign {port.name}_ready_o = 1'b0;")
            else:
                extra = "" if _one(take) else f" && {self.ref(take, 0)}"
                lines.append(f"  assign {port.name}_ready_o = advance && start_handler{extra};")
        lines.append("  assign valid[0] = start;")
        if self.depth:
            lines += [
                "  always_ff @(posedge clk_i) begin",
                f"    if (advance) valid[{self.depth}:1] <= valid[{self.depth - 1}:0];",
                f"    if (rst_i) valid[{self.depth}:1] <= '0;",
                "  end",
            ]
        else:
            lines.append("  assign valid[1] = 1'b0;")

    def _may_spin(self) -> bool:
        """Whether iterations can go on without taking a token."""
        takes = {name for name, node in self.pipeline.takes.items() if _one(node)}
        return not any(_one(node) and name in takes for name, node in self.pipeline.needs.items())

    def _signal_control(self) -> None:
        signals = self.element.signals
        arguments = max([1, *(sum(width for _, width in signal.arguments) for signal in signals)])
        result = self.pipeline.result.width if self.pipeline.result is not None else 1
        stage = self.schedule.other.get(("result",), 0)
        enable = f"advance && valid[{stage}] && !{self._kind_at(stage)}"
        self.lines += [
            f"\n  sl_signal_node #(.Signals({len(signals)}), .ArgumentBits({arguments}), .ResultBits({result})) u_signals (",
            "    .clk_i, .rst_i, .instance_i(Instance),",
            "    .in_data_i(signal_data_i), .in_valid_i(signal_valid_i), .in_ready_o(signal_ready_o),",
            "    .out_data_o(signal_data_o), .out_valid_o(signal_valid_o), .out_ready_i(signal_ready_i),",
            "    .pending_o(signal_pending), .kind_o(signal_kind), .arguments_o(signal_arguments),",
            "    .take_i(advance && start_signal),",
            f"    .result_valid_i({enable}), .result_i({self._result(stage)})",
            "  );",
        ]

    def _kind_at(self, stage: int) -> str:
        return "is_handler_iteration" if stage == 0 else f"is_handler_iteration_s{stage}"

    def _result(self, stage: int) -> str:
        return self.ref(self.pipeline.result, stage) if self.pipeline.result is not None else "1'b0"

    def _stage(self, stage: int) -> None:
        """What is computed in a stage, and what the next stage needs of it."""
        here = [node for node in self.pipeline.nodes if node.op != "const" and self.stage[node] == stage]
        self.lines.append(f"\n  // Stage {stage}")
        if self.has_signals and stage == 0:
            self.lines.append(f"  assign is_handler_iteration = {self.tables.is_handler()};")
        for node in here:
            if node.op not in ("read", "lookup", "register", "ahead"):
                self._value(node, stage)
        onward = [node for node in self.pipeline.nodes if node.op != "const" and self.stage[node] <= stage < self.last_use[node]]
        if self.has_signals and stage < self.schedule.other.get(("result",), 0):
            self.lines.append(f"  logic {self._kind_at(stage + 1)};")
        for node in onward:
            self.lines.append(f"  logic [{node.width - 1}:0] {self.ref(node, stage + 1)};")
        moved = [f"{self.ref(node, stage + 1)} <= {self.ref(node, stage)};" for node in onward]
        if self.has_signals and stage < self.schedule.other.get(("result",), 0):
            moved.append(f"{self._kind_at(stage + 1)} <= {self._kind_at(stage)};")
        if moved:
            self.lines.append(f"  always_ff @(posedge clk_i) if (advance && valid[{stage}]) begin")
            self.lines += [f"    {line}" for line in moved]
            self.lines.append("  end")

    def _value(self, node: Node, stage: int) -> None:
        name, width = self.names[node], node.width
        match node.op:
            case "head":
                need = self.pipeline.needs.get(node.name)
                data = f"{node.name}_data_i"
                text = data if need is not None and _one(need) else f"{node.name}_valid_i ? {data} : '0"
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
                    raise BackendError(f"the choice '{node.name}' has no hardware")
                text = "now_i"
            case _:
                text = expression(node, [self.ref(argument, stage) for argument in node.args])
        comment = f"  // {node.span.source.name}:{node.span.line}" if node.span is not None else ""
        self.lines.append(f"  logic [{width - 1}:0] {name};{comment}\n  assign {name} = {text};")

    def _ahead(self) -> None:
        """What iterations take from those in front of them."""
        for node in self.pipeline.nodes:
            if node.op == "ahead":
                stage = self._taken(node)
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
        raise BackendError(f"there is no signal argument '{node.name}'")

    def _registers(self) -> None:
        """State registers, each written in its stage."""
        for name in self._live_registers():
            target, register = _register_name(name), self.element.registers[name]
            following = self.pipeline.next.get(name)
            self.lines.append("\n  always_ff @(posedge clk_i) begin")
            if following is not None:
                stage = self.schedule.register[name]
                enable = "" if _one(following.enable) else f" && {self.ref(following.enable, stage)}"
                self.lines.append(f"    if (advance && valid[{stage}]{enable}) {target} <= {self.ref(following.data, stage)};")
            self.lines += [f"    if (rst_i) {target} <= {literal(register.reset, register.width)};", "  end"]

    def _read_ports(self) -> list[tuple[str, Node]]:
        """Name and node of every read of a memory."""
        return [(f"u_{self.names[node]}", node) for node in self.pipeline.nodes if node.op == "read"]

    def _asked(self, node: Node) -> int:
        """The stage in which a read is asked for: below 0 where the index is known, and who begins depends on it."""
        return self.stage[node] - READ_LATENCY

    def _memories(self) -> None:
        for instance, node in self._read_ports():
            self._memory(instance, node, self.element.memories[node.name])

    def _memory(self, instance: str, node: Node, memory: Memory) -> None:
        name, index, asked = self.names[node], node.args[0], self._asked(node)
        enable = ONE if asked < 0 else f"valid[{asked}]"
        write = self._write_port(memory, index.width)
        address = max(1, (memory.entries - 1).bit_length())
        self.lines += [
            f"\n  logic [{address - 1}:0] {instance}_reset_address;",
            f"  sl_forward_ram #(.Width({memory.width}), .Entries({max(memory.entries, 2)}), .IndexBits({write[3]})) {instance} (",
            f"    .clk_i, .rst_i, .ready_o({instance}_ready), .reset_address_o({instance}_reset_address),",
            f"    .reset_data_i({self._reset_word(memory, instance)}), .advance_i(advance),",
            f"    .read_valid_i({enable}), .read_index_i({_widen(self.ref(index, asked), index.width, write[3])}),",
            f"    .read_data_o({name}),",
            f"    .write_valid_i({write[0]}), .write_index_i({write[1]}), .write_data_i({write[2]})",
            "  );",
        ]

    def _reset_word(self, memory: Memory, instance: str) -> str:
        text = "'0"
        for index, value in memory.reset.items():
            text = f"{instance}_reset_address == {index} ? {literal(value, memory.width)} : {text}"
        return text

    def _write_port(self, memory: Memory, least: int) -> tuple[str, str, str, int]:
        """Valid, index, data and the bits of an index; writes that exclude each other share a stage, others take turns."""
        pairs = zip(self.pipeline.writes, self.pipeline.slots, strict=True)
        writes = [(write, self.schedule.memory[memory.name] + slot) for write, slot in pairs if write.memory == memory.name]
        bits = max([least, *(write.index.width for write, _ in writes)])
        if not writes:
            return "1'b0", f"{bits}'d0", f"{memory.width}'d0", bits
        enables, index, data = [], "", ""
        for write, stage in writes:
            here = _widen(self.ref(write.index, stage), write.index.width, bits), self.ref(write.data, stage)
            enable = f"valid[{stage}]" + ("" if _one(write.enable) else f" && {self.ref(write.enable, stage)}")
            index = f"{enable} ? {here[0]} : {index}" if index else here[0]
            data = f"{enable} ? {here[1]} : {data}" if data else here[1]
            enables.append(f"({enable})")
        return " || ".join(enables), index, data, bits

    def _outputs(self) -> None:
        for port in self.element.outputs:
            put = self.pipeline.puts.get(port.name)
            if put is None:
                valid, data = "1'b0", f"{port.width}'d0"
            else:
                stage = self.schedule.port[port.name]
                enable = "" if _one(put.enable) else f" && {self.ref(put.enable, stage)}"
                valid, data = f"advance && valid[{stage}]{enable}", self.ref(put.data, stage)
            self.lines.append("")
            if port.guard is not None and put is not None:
                guarded = f"{port.name}_guarded"
                self.lines += [
                    f"  logic [{port.width - 1}:0] {guarded}_data;",
                    f"  logic {guarded}_valid;",
                    f"  sl_packet_guard u_{port.name}_guard (",
                    f"    .clk_i, .rst_i, .in_data_i({data}), .in_valid_i({valid}),",
                    f"    .out_data_o({guarded}_data), .out_valid_o({guarded}_valid)",
                    "  );",
                ]
                valid, data = f"{guarded}_valid", f"{guarded}_data"
            self.lines += [
                f"  sl_skid #(.Width({port.width})) u_{port.name}_skid (",
                f"    .clk_i, .rst_i, .in_data_i({data}), .in_valid_i({valid}), .in_ready_o({port.name}_room),",
                f"    .out_data_o({port.name}_data_o), .out_valid_o({port.name}_valid_o), .out_ready_i({port.name}_ready_i)",
                "  );",
            ]

    def _unused(self) -> None:
        """Bits that nobody reads are said to be so."""
        used = self._used_bits()
        partly = [
            f"{port.name}_data_i"
            for port in self.element.inputs
            if not any(n.op == "head" and n.name == port.name for n in self.pipeline.nodes)
        ]
        partly += [f"{port.name}_valid_i" for port in self.element.inputs if not self._valid_is_used(port.name)]
        sliced = {argument for node in self.pipeline.nodes if node.op == "extract" for argument in node.args}
        for node in self.pipeline.nodes:
            is_whole = used.get(node, 0) == (1 << node.width) - 1
            if node.op != "const" and (not is_whole or (node in sliced and self.last_use[node] > self.stage[node])):
                partly += [self.ref(node, stage) for stage in range(self.stage[node], self.last_use[node] + 1)]
                if node.op == "head" and not is_whole:
                    partly.append(f"{node.name}_data_i")
        partly += [
            f"{instance}_reset_address" for instance, node in self._read_ports() if not self.element.memories[node.name].reset
        ]
        if not self._uses_last_valid():
            partly.append(f"valid[{self.depth}]")
        if self.depth == 0:
            partly.append("valid[1]")
        read = {node.name for node in self.pipeline.nodes if node.op == "register"}
        partly += [_register_name(name) for name in self._live_registers() if name not in read]
        partly += self._unread_writes()
        if not (self.has_signals or self.depth or self.element.outputs or self._live_registers() or self._read_ports()):
            partly += ["clk_i", "rst_i"]
        if self.has_signals:
            partly += ["signal_kind", "signal_arguments"]
        partly += self.tables.unused()
        printed = [node for m in self.pipeline.messages for node in (m.enable, *m.arguments)]
        printed += [node for a in self.pipeline.assertions for node in (a.enable, a.condition)]
        partly += [self.ref(node, self.schedule.other[("message",)]) for node in printed if node.op != "const"]
        self.lines += [
            "\n  logic unused;",
            f"  assign unused = &{{1'b0, {', '.join(dict.fromkeys(partly))}}};" if partly else "  assign unused = 1'b0;",
        ]

    def _unread_writes(self) -> list[str]:
        """What only writes of memories use that nobody reads."""
        unread = {memory.name for memory in self._unread()}
        pairs = zip(self.pipeline.writes, self.pipeline.slots, strict=True)
        found = [(write, self.schedule.memory[write.memory] + slot) for write, slot in pairs if write.memory in unread]
        nodes = [(node, stage) for write, stage in found for node in (write.enable, write.index, write.data)]
        return [self.ref(node, stage) for node, stage in nodes if node.op != "const"]

    def _uses_last_valid(self) -> bool:
        bit = f"valid[{self.depth}]"
        return any(bit in line and not line.startswith("  assign valid") for line in self.lines)

    def _valid_is_used(self, port: str) -> bool:
        need = self.pipeline.needs.get(port)
        if need is not None and not (need.op == "const" and need.value == 0):
            return True
        return any(node.op in ("available", "head") and node.name == port for node in self.pipeline.nodes)

    def _used_bits(self) -> dict[Node, int]:
        """Of every node, which bits something reads."""
        used: dict[Node, int] = {}
        for node in self.pipeline.nodes:
            for argument in node.args:
                bits = (1 << node.width) - 1 << node.low if node.op == "extract" else (1 << argument.width) - 1
                used[argument] = used.get(argument, 0) | bits
        for node in effect_nodes(self.pipeline):
            used[node] = (1 << node.width) - 1
        return used

    def _trace(self) -> None:
        """For the differential tests: the log of choices, messages, and the state at the end."""
        choices = [node for node in self.pipeline.nodes if node.op in ("available", "choice")]
        lines = [
            "\n`ifdef SLUICE_TRACE",
            "  int unsigned iteration_q = 0, cycle_q = 0, last_q = 0;",
            "  always_ff @(posedge clk_i) cycle_q <= rst_i ? 0 : cycle_q + 1;",
            "  always_ff @(posedge clk_i) if (!rst_i && advance && start) begin",
        ]
        lines += ["    iteration_q <= iteration_q + 1;", "    last_q <= cycle_q;"]
        if choices or self.has_signals:
            available = ", ".join(f"{port.name}_valid_i" for port in reversed(self.element.inputs)) or "1'b0"
            kind = "start_signal ? int'(signal_kind) + 1 : 0" if self.has_signals else "0"
            arguments = "signal_arguments" if self.has_signals else "1'b0"
            now = "now_i" if self.has_now else "64'd0"
            select = "-1"
            for taken in self.pipeline.selects:
                select = f"{self.ref(taken.enable, 0)} ? int'({self.ref(taken.index, 0)}) : {select}"
            only = "" if choices or self.pipeline.selects else "if (start_signal) "
            lines.append(f'    {only}$display("@choice %m %0d %0d %0h %0h %0d %0d", iteration_q, {kind},')
            lines.append(f"      {{{available}}}, {arguments}, {now}, {select});")
        lines.append("  end")
        lines += self._messages()
        unread = self._unread()
        for memory in unread:
            lines += self._unread_memory(memory)
        lines += ["  final begin", '    $display("@iterations %m %0d %0d", iteration_q, last_q);']
        lines += [f'    $display("@register %m {name} %0h", {_register_name(name)});' for name in self._live_registers()]
        words = {node.name: f"{instance}.u_ram.memory" for instance, node in self._read_ports()}
        words |= {memory.name: f"{_register_name(memory.name)}_unread" for memory in unread}
        for name, array in words.items():
            entries = self.element.memories[name].entries
            lines += [
                f'    $display("@dump %m {name}");',
                f"    for (int i = 0; i < {entries}; i++) if ({array}[i] != '0)",
                f'      $display("@memory %m {name} %0d %0h", i, {array}[i]);',
            ]
        lines += ["  end", "`endif"]
        self.lines += lines

    def _unread(self) -> list[Memory]:
        """Memories that are written and never read: no hardware, but state all the same."""
        read = {node.name for _, node in self._read_ports()}
        return [self.element.memories[name] for name in dict.fromkeys(w.memory for w in self.pipeline.writes) if name not in read]

    def _unread_memory(self, memory: Memory) -> list[str]:
        valid, index, data, _ = self._write_port(memory, 1)
        array = f"{_register_name(memory.name)}_unread"
        lines = [f"  logic [{memory.width - 1}:0] {array} [{memory.entries}] = '{{default: '0}};"]
        lines += [f"  initial {array}[{at}] = {literal(value, memory.width)};" for at, value in memory.reset.items()]
        write = f"{array}[{index}] <= {data}"
        return [
            *lines,
            f"  always_ff @(posedge clk_i) if (!rst_i && advance && ({valid}) && 64'({index}) < {memory.entries}) {write};",
        ]

    def _messages(self) -> list[str]:
        """What the element prints, in one process, so that the order of the source holds."""
        stage = self.schedule.other.get(("message",), 0)
        lines = [f"  always_ff @(posedge clk_i) if (!rst_i && advance && valid[{stage}]) begin"]
        for message in self.pipeline.messages:
            text = _escaped(message.text).replace("{}", "%0d")
            shown = [
                _shown_signed(self.ref(node, stage), node.width) if is_signed else self.ref(node, stage)
                for node, is_signed in zip(message.arguments, message.signed, strict=True)
            ]
            given = "".join(f", {name}" for name in shown)
            lines.append(f'    if ({self.ref(message.enable, stage)}) $display("@print %m {text}"{given});')
        for assertion in self.pipeline.assertions:
            wrong = f"{self.ref(assertion.enable, stage)} && !{self.ref(assertion.condition, stage)}"
            lines.append(f'    if ({wrong}) $display("@assert %m {_escaped(assertion.text)}");')
        return [*lines, "  end"] if len(lines) > 1 else []


def _escaped(text: str) -> str:
    """For a format string of `$display`."""
    return text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _one(node: Node) -> bool:
    return node.op == "const" and node.value == 1


def _widen(name: str, width: int, wanted: int) -> str:
    return name if width == wanted else f"{{{wanted - width}'d0, {name}}}"


def _register_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_") + "_q"


def _names(schedule: Schedule) -> dict[Node, str]:
    """A name for every node, from its label; unique, and none of the module's own."""
    taken: set[str] = set()
    names: dict[Node, str] = {}
    for node in schedule.pipeline.nodes:
        if node.op == "const":
            continue
        label = node.label or (f"{node.name}_head" if node.op == "head" else node.name) or node.op
        base = "v_" + (re.sub(r"\W+", "_", label).strip("_").lower() or node.op)
        if re.search(r"_s\d+$", base):  # that is how a value is called in a later stage
            base += "_"
        name, number = base, 0
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[node] = name
    return names


def _shown_signed(text: str, width: int) -> str:
    """As an argument of $display: Verilator prints bits above a signed value that does not fill its words."""
    return f"$signed({-(-width // 32) * 32}'($signed({text})))"
