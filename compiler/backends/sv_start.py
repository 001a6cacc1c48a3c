# SPDX-License-Identifier: Apache-2.0
"""Who may begin in a module: iterations of its handler, and those of signals and timers, one in a cycle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from compiler.backends.sv_expressions import is_one
from compiler.ir.ir import Transition

if TYPE_CHECKING:
    from compiler.backends.sv_element import Module

ONE = "1'b1"
NODE = ("pending", "kind", "arguments", "take", "result_valid")  # between a signal node and timers


def argument_bits(signals: Iterable[Transition]) -> int:
    """Of the signal with the most arguments; at least 1."""
    return max([1, *(sum(width for _, width in signal.arguments) for signal in signals)])


class Start:
    """What the module of `module` says about the start of iterations."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []

    def text(self) -> list[str]:
        """Who may begin, and the valid bits."""
        lines, pipeline = self.lines, self.module.pipeline
        lines.append("\n  // Who may begin")
        rooms = [f"{name}_room" for name in pipeline.puts]
        ready = [*(f"{instance}_ready" for instance, _ in self.module.memories.read_ports()), *self.module.tables.ready()]
        ready += self.module.flows.ready()
        conditions: list[str] = []
        if ready:
            lines += [
                "  logic ready_q;  // memories and tables are swept",
                f"  always_ff @(posedge clk_i) ready_q <= !rst_i && {' && '.join(ready)};",
            ]
            conditions.append("ready_q")
        earliest = min([0, *(self.module.memories.asked(node) for _, node in self.module.memories.read_ports())])
        if earliest < 0:
            last = max(-earliest, 2) - 1
            lines += [
                f"  logic [{last}:0] settled_q;  // what is read before it is known who begins was read from ready memories",
                f"  always_ff @(posedge clk_i) settled_q <= rst_i ? '0 : {{settled_q[{last - 1}:0], ready_q}};",
            ]
            conditions.append(f"settled_q[{last}]")
        if text := self._wait():
            lines += text
            conditions.append("!waits_q" if pipeline.pauses else "wait_q == '0")
        if self._may_spin():
            lines += [
                "`ifdef SLUICE_TRACE",
                "  logic held;  // the run is at its end",
                f"  assign held = {self.module.stop};",
                "`else",
                "  localparam logic held = 1'b0;",
                "`endif",
            ]
            conditions.append("!held")
        if self.module.has_signals:
            self._signal_control(" && ".join(conditions) or ONE)
        signal_start = [*conditions, "signal_pending", *self.module.tables.signal_conditions()]
        conditions += rooms
        for name, node in pipeline.needs.items():
            if not (node.op == "const" and node.value == 0):
                conditions.append(f"{name}_valid_i" if is_one(node) else f"(!{self.module.ref(node, 0)} || {name}_valid_i)")
        if pipeline.any_of is not None and not is_one(pipeline.any_of):
            conditions.append(self.module.ref(pipeline.any_of, 0))
        if self.module.has_signals:
            conditions.append(self.module.tables.no_signal())
        lines.append(f"  assign start_handler = {' && '.join(conditions) or ONE};")
        if self.module.has_signals:
            lines.append(f"  assign start_signal = {' && '.join(signal_start)};")
            lines.append("  assign start = start_handler || start_signal;")
        else:
            lines.append("  assign start = start_handler;")
        for port in self.module.element.inputs:
            take = pipeline.takes.get(port.name)
            if take is None or (take.op == "const" and take.value == 0):
                lines.append(f"  assign {port.name}_ready_o = 1'b0;")
            else:
                extra = "" if is_one(take) else f" && {self.module.ref(take, 0)}"
                lines.append(f"  assign {port.name}_ready_o = start_handler{extra};")
        lines.append("  assign valid[0] = start;")
        if self.module.depth:
            lines += [
                "  always_ff @(posedge clk_i) begin",
                f"    valid[{self.module.depth}:1] <= rst_i ? '0 : valid[{self.module.depth - 1}:0];",
                "  end",
            ]
        else:
            lines.append("  assign valid[1] = 1'b0;")
        return lines

    def _wait(self) -> list[str]:
        """Counts the stages until the next iteration may begin; where they are many, a register of its own says whether any are."""
        interval, pauses = self.module.schedule.interval, self.module.pipeline.pauses
        most = interval - 1 + max(pauses.values(), default=0)
        if not most:
            return []
        bits = most.bit_length()
        alone = [(f"start_signal && signal_kind == 8'd{number}", interval - 1 + more) for number, more in pauses.items()]
        counts = "".join(f"{condition} ? {bits}'d{wait} : " for condition, wait in alone)
        lines = [
            f"  logic [{bits - 1}:0] wait_q;  // stages until the next iteration may begin",
            *(["  logic waits_q;  // wait_q is not 0"] if pauses else []),
            "  always_ff @(posedge clk_i) begin",
            f"    wait_q <= {counts}start ? {bits}'d{interval - 1} : wait_q == '0 ? '0 : wait_q - 1'b1;",
        ]
        if pauses:
            waits = "".join(f"{condition} ? 1'b1 : " for condition, _ in alone)
            lines.append(f"    waits_q <= {waits}start ? 1'b{int(interval > 1)} : wait_q > {bits}'d1;")
        lines.append(f"    if (rst_i) {'{wait_q, waits_q}' if pauses else 'wait_q'} <= '0;")
        return [*lines, "  end"]

    def _may_spin(self) -> bool:
        """Whether iterations can go on without taking a token, as timers do."""
        if self.module.element.timers:
            return True
        takes = {name for name, node in self.module.pipeline.takes.items() if is_one(node)}
        return not any(is_one(node) and name in takes for name, node in self.module.pipeline.needs.items())

    def _signal_control(self, may_begin: str) -> None:
        """The signal node, and the timers behind it. `may_begin`: that neither memories nor the interval hold an iteration back."""
        element, timers = self.module.element, self.module.element.timers
        result = self.module.pipeline.result.width if self.module.pipeline.result is not None else 1
        stage = self.module.schedule.other.get(("result",), 0)
        enable = f"valid[{stage}] && !{self.module.kind_at(stage)}"
        pending, kind, arguments, take, valid = "signal_pending", "signal_kind", "signal_arguments", "start_signal", enable
        if timers:
            pending, kind, arguments, take, valid = (f"node_{name}" for name in NODE)
            self._timers(may_begin, enable)
        if not element.host_signals:
            return
        self.lines += [
            f"\n  sl_signal_node #(.Signals({len(element.host_signals)}), .ArgumentBits({argument_bits(element.host_signals)}), "
            f".ResultBits({result})) u_signals (",
            "    .clk_i, .rst_i, .instance_i(Instance),",
            "    .in_data_i(signal_data_i), .in_valid_i(signal_valid_i), .in_ready_o(signal_ready_o),",
            "    .out_data_o(signal_data_o), .out_valid_o(signal_valid_o), .out_ready_i(signal_ready_i),",
            f"    .pending_o({pending}), .kind_o({kind}), .arguments_o({arguments}),",
            f"    .take_i({take}),",
            f"    .result_valid_i({valid}), .result_i({self._result(stage)})",
            "  );",
        ]

    def _timers(self, may_begin: str, enable: str) -> None:
        element, bits = self.module.element, self.module.argument_bits
        every = ", ".join(f"32'd{timer.every}" for timer in reversed(element.timers))
        self.lines += [
            "\n  logic node_pending, node_take, node_result_valid;",
            "  logic [7:0] node_kind;",
            f"  logic [{argument_bits(element.host_signals) - 1}:0] node_arguments;",
        ]
        if not element.host_signals:
            self.lines += [
                "  assign node_pending = 1'b0;",
                "  assign {node_kind, node_arguments} = '0;",
                "  logic unused_node;",
                "  assign unused_node = &{1'b0, node_take, node_result_valid};",
            ]
        self.lines += [
            f"  sl_timers #(.Timers({len(element.timers)}), .Signals({len(element.host_signals)}), .ArgumentBits({bits}),",
            f"    .Every({{{every}}})) u_timers (",
            f"    .clk_i, .rst_i, .tick_i, .may_begin_i({may_begin}),",
            f"    .signal_pending_i(node_pending), .signal_kind_i(node_kind), .signal_arguments_i({bits}'(node_arguments)),",
            "    .signal_take_o(node_take), .signal_result_valid_o(node_result_valid),",
            "    .pending_o(signal_pending), .kind_o(signal_kind), .arguments_o(signal_arguments),",
            f"    .take_i(start_signal), .result_valid_i({enable})",
            "  );",
        ]

    def _result(self, stage: int) -> str:
        return self.module.ref(self.module.pipeline.result, stage) if self.module.pipeline.result is not None else "1'b0"
