# SPDX-License-Identifier: Apache-2.0
"""Native bodies: an element's SystemVerilog written by hand, with the ports checked, in the module that the compiler would emit.

For `.native sv "FILE.sv"` the file has the module FILE. Its ports are `clk_i`, `rst_i`, and `PORT_data`, `PORT_valid`, `PORT_ready`
(`_i`, `_o`) for every port of the element; for an array of ports also one packed vector of each, the lowest index lowest. It takes
parameters of the element's names: of a type, its bits, and `NAMEIsPacket`. Behind every output stands a register, so that the body
needs none there, and its ready may go through it. One iteration is one cycle: tokens that move in a cycle
are one iteration's. A signal waits while `signal_valid_i` is 1; the body takes it (`signal_take_o`) in a cycle in which no token
moves in, and answers some time later (`result_valid_o`, `result_o`). `signal_kind_i` says which of several, `signal_arguments_i`
has the arguments, the first lowest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from compiler.backends.sv_element import SIGNAL_WORD, module_name
from compiler.backends.sv_start import argument_bits
from compiler.certificate import parts
from compiler.compile import Compiled, HardwareError
from compiler.ir.ir import ElementIr
from toolchain.simulate import SOURCES
from toolchain.synth.flow import SynthesisError
from toolchain.synth.generated import ports_of

Ports = dict[str, tuple[str, int]]  # "input" or "output", and bits


def has_native(compiled: Compiled) -> bool:
    """Whether the element has a body in SystemVerilog."""
    return any(language == "sv" for language, _ in compiled.element.native)


def native(compiled: Compiled) -> dict[str, str]:
    """The element's module around its native body, by file name. Raises HardwareError where the body does not fit."""
    name = next(file for language, file in compiled.element.native if language == "sv")
    path = next(found for folder in (SOURCES, Path.cwd()) if (found := folder / name).is_file())
    body = _Body(compiled, path)
    return {f"{compiled.module}.sv": body.wrapper(), path.name: body.text}


class _Body:
    def __init__(self, compiled: Compiled, path: Path) -> None:
        self.compiled = compiled
        self.ir: ElementIr = compiled.plan.pipeline.element
        self.path, self.text, self.module = path, path.read_text(), path.stem
        if any(node.op == "choice" for node in compiled.plan.pipeline.nodes):
            raise self._error("the element uses the time, which a native body does not have")
        if compiled.ir.timers:
            raise self._error("the element has timers, which a native body does not have")
        known = re.findall(r"\bparameter\b[^=,)]*?(\w+)\s*=", self.text)
        self.parameters = {name: value for name, value in compiled.element.parameters if name in known}
        self.ports = self._elaborated()
        self.connections = self._connections()

    def _error(self, text: str) -> HardwareError:
        hint = f"{self.path.name} must have the ports of the element (docs/guide/language.md, native bodies)"
        return HardwareError("E0806", f"{self.path.name}: {text}", self.compiled.element.span, hint)

    def _elaborated(self) -> Ports:
        if not re.search(rf"\bmodule\s+{self.module}\b", self.text):
            raise self._error(f"module '{self.module}' not found")
        try:
            return ports_of(self.module, {self.path.name: self.text, **parts(self.text)}, self.parameters)
        except SynthesisError as error:
            raise self._error(_first_error(str(error))) from error

    # What is connected to what

    def _connections(self) -> list[str]:
        """All ports of the body with what is behind them. Raises HardwareError: a port too many, too few, or of another width."""
        wanted: Ports = {"clk_i": ("input", 1), "rst_i": ("input", 1)}
        found = [".clk_i", ".rst_i"]
        for group, names in self._groups():
            for kind, side, wire in self._wires(names):
                port = f"{group}_{kind}_{'i' if side == 'input' else 'o'}"
                wanted[port] = (side, sum(bits for _, bits in wire))
                found.append(f".{port}({{{', '.join(name for name, _ in reversed(wire))}}})")
        for port, side, bits in self._signal_ports():
            wanted[port] = (side, bits)
            found.append(f".{port}({port[:-2]})")
        for port, (side, bits) in wanted.items():
            if self.ports.get(port) != (side, bits):
                have = self.ports.get(port)
                instead = f", not an {have[0]} of {have[1]}" if have else ", but it is missing"
                raise self._error(f"port '{port}' must be an {side} of {bits} bit{'s' if bits > 1 else ''}{instead}")
        for port in self.ports:
            if port not in wanted:
                raise self._error(f"the element has no port '{port}'")
        return found

    def _groups(self) -> list[tuple[str, list[str]]]:
        """Ports as the body has them: by themselves, or those of an array together."""
        groups: dict[str, list[str]] = {}
        for port in (*self.ir.inputs, *self.ir.outputs):
            array = re.sub(r"_\d+$", "", port.name)
            is_alone = any(name.startswith(f"{port.name}_data_") for name in self.ports)
            groups.setdefault(port.name if is_alone or array == port.name else array, []).append(port.name)
        return list(groups.items())

    def _wires(self, names: list[str]) -> list[tuple[str, str, list[tuple[str, int]]]]:
        """Of a group: data, valid and ready, each with its direction in the body and the wires with their bits, lowest first."""
        inputs = {port.name for port in self.ir.inputs}
        widths = {port.name: port.width for port in (*self.ir.inputs, *self.ir.outputs)}
        out, back = ("input", "output") if names[0] in inputs else ("output", "input")
        return [
            ("data", out, [(f"{name}_data", widths[name]) for name in names]),
            ("valid", out, [(f"{name}_valid", 1) for name in names]),
            ("ready", back, [(f"{name}_ready", 1) for name in names]),
        ]

    @property
    def _argument_bits(self) -> int:
        return argument_bits(self.ir.signals)

    @property
    def _result_bits(self) -> int:
        result = self.compiled.plan.pipeline.result
        return 1 if result is None else result.width

    def _signal_ports(self) -> list[tuple[str, str, int]]:
        signals = self.ir.signals
        found = [("signal_valid_i", "input", 1), ("signal_take_o", "output", 1), ("result_valid_o", "output", 1)]
        if len(signals) > 1:
            found.append(("signal_kind_i", "input", 8))
        if any(signal.arguments for signal in signals):
            found.append(("signal_arguments_i", "input", self._argument_bits))
        if self.compiled.plan.pipeline.result is not None:
            found.append(("result_o", "output", self._result_bits))
        return found if signals else []

    # The module

    def wrapper(self) -> str:
        """The text of the element's module."""
        element, lines = self.ir, list[str]()
        ports = ["  input  logic clk_i", "  input  logic rst_i  /* synchronous, active high */"]
        for port in (*element.inputs, *element.outputs):
            way, back, side, other = ("input ", "output", "i", "o") if port in element.inputs else ("output", "input ", "o", "i")
            ports += [
                f"  {way} logic [{port.width - 1}:0] {port.name}_data_{side}",
                f"  {way} logic {port.name}_valid_{side}",
                f"  {back} logic {port.name}_ready_{other}",
            ]
            lines += [f"  logic [{port.width - 1}:0] {port.name}_data;", f"  logic {port.name}_valid, {port.name}_ready;"]
        for port in element.inputs:
            lines += [
                f"  assign {port.name}_data    = {port.name}_data_i;",
                f"  assign {port.name}_valid   = {port.name}_valid_i;",
                f"  assign {port.name}_ready_o = {port.name}_ready;",
            ]
        if element.signals:
            for side, way, back in (("i", "input ", "output"), ("o", "output", "input ")):
                other = "o" if side == "i" else "i"
                ports += [
                    f"  {way} logic [{SIGNAL_WORD - 1}:0] signal_data_{side}",
                    f"  {way} logic signal_valid_{side}",
                    f"  {back} logic signal_ready_{other}",
                ]
            lines += self._signals()
        values = ", ".join(f".{name}({value})" for name, value in self.parameters.items())
        lines.append(
            f"  {self.module} {f'#({values}) ' if values else ''}u_body (\n    " + ",\n    ".join(self.connections) + "\n  );"
        )
        for port in element.outputs:
            lines += self._output(port.name, port.width, port.guard is not None)
        lines += self._trace()
        number = " #(\n  parameter logic [15:0] Instance = 16'd0  // its number on the signal chain\n)" if element.signals else ""
        return "\n".join(
            [
                "// SPDX-License-Identifier: Apache-2.0",
                f"// Element {element.name}, generated around its native body {self.path.name}.",
                f"module {module_name(element)}{number} (",
                ",\n".join(ports),
                ");",
                *lines,
                "endmodule\n",
            ]
        )

    def _signals(self) -> list[str]:
        bits, results = self._argument_bits, self._result_bits
        has_result = self.compiled.plan.pipeline.result is not None
        return [
            f"  logic signal_valid, signal_take, result_valid; logic [7:0] signal_kind; logic [{bits - 1}:0] signal_arguments;",
            f"  logic [{results - 1}:0] result;{'' if has_result else ' assign result = 1' + chr(39) + 'b0;'}",
            f"  sl_signal_node #(.Signals({len(self.ir.signals)}), .ArgumentBits({bits}), .ResultBits({results})) u_signals (",
            "    .clk_i, .rst_i, .instance_i(Instance),",
            "    .in_data_i(signal_data_i), .in_valid_i(signal_valid_i), .in_ready_o(signal_ready_o),",
            "    .out_data_o(signal_data_o), .out_valid_o(signal_valid_o), .out_ready_i(signal_ready_i),",
            "    .pending_o(signal_valid), .kind_o(signal_kind), .arguments_o(signal_arguments), .take_i(signal_take),",
            "    .result_valid_i(result_valid), .result_i(result)",
            "  );",
            "  logic unused_signal;",
            "  assign unused_signal = &{1'b0, signal_kind, signal_arguments};",
        ]

    def _output(self, name: str, width: int, guarded: bool) -> list[str]:
        """The register that every output has, behind a packet guard where it needs one."""
        kept, guard = name, list[str]()
        if guarded:
            kept = f"{name}_guarded"
            guard = [
                f"  logic [{width - 1}:0] {kept}_data;",
                f"  logic {kept}_valid;",
                f"  sl_packet_guard u_{name}_guard (",
                f"    .clk_i, .rst_i, .in_data_i({name}_data), .in_valid_i({name}_valid && {name}_ready),",
                f"    .out_data_o({kept}_data), .out_valid_o({kept}_valid)",
                "  );",
            ]
        return [
            *guard,
            f"  sl_skid #(.Width({width})) u_{name}_skid (",
            f"    .clk_i, .rst_i, .in_data_i({kept}_data), .in_valid_i({kept}_valid), .in_ready_o({name}_ready),",
            f"    .out_data_o({name}_data_o), .out_valid_o({name}_valid_o), .out_ready_i({name}_ready_i)",
            "  );",
        ]

    def _trace(self) -> list[str]:
        """What the differential tests read: iterations, and the choices in them."""
        moves = [f"{port.name}_valid && {port.name}_ready" for port in self.ir.inputs]
        signal = "signal_take" if self.ir.signals else "1'b0"
        available = ", ".join(f"{port.name}_valid" for port in reversed(self.ir.inputs)) or "1'b0"
        select = "-1"
        if self.compiled.plan.pipeline.selects:
            for n, move in enumerate(moves):
                select = f"{move} ? {n} : {select}"
        kind, arguments = ("int'(signal_kind) + 1", "signal_arguments") if self.ir.signals else ("0", "1'b0")
        return [
            "`ifdef SLUICE_TRACE",
            "  int unsigned iteration_q = 0, cycle_q = 0, last_q = 0;",
            "  logic moves;",
            f"  assign moves = {' || '.join(f'({move})' for move in moves) or signal};",
            "  always_ff @(posedge clk_i) cycle_q <= rst_i ? 0 : cycle_q + 1;",
            f"  always_ff @(posedge clk_i) if (!rst_i && (moves || {signal})) begin",
            "    iteration_q <= iteration_q + 1;",
            "    last_q      <= cycle_q;",
            f'    if ({signal} && moves) $display("@law %m takes a signal and a token in one cycle");',
            f'    $display("@choice %m %0d %0d %0h %0h 0 %0d", iteration_q, {signal} ? {kind} : 0,',
            f"      {{{available}}}, {arguments}, {signal} ? -1 : {select});",
            "  end",
            '  final $display("@iterations %m %0d %0d", iteration_q, last_q);',
            "`endif",
        ]


def _first_error(text: str) -> str:
    """What the tool complained about first, in the log that the text of a SynthesisError names."""
    log = re.search(r"log: (\S+)", text)
    lines = Path(log[1]).read_text().splitlines() if log else []
    return next((line.split("/")[-1] for line in lines if re.search(r"sv:\d+: ERROR", line)), text.splitlines()[-1])


def with_parts(texts: Mapping[str, str]) -> dict[str, str]:
    """Module and body with the parts that they are made of."""
    return {**texts, **parts("\n".join(texts.values()))}
