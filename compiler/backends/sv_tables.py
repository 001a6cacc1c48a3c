# SPDX-License-Identifier: Apache-2.0
"""The tables of an element in its module: a `sl_lookup_table` for every lookup, and a register of its answer.

An update is a signal. The table looks for its rule while iterations go on; then no iteration begins until the pipeline is empty and
the rule is changed; the update's own iteration is the next. Copies of a table, one for each lookup, get every update at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.ir import Node, Table, updates
from compiler.schedule.tables import ANSWER, KINDS, lookup_latency

if TYPE_CHECKING:
    from compiler.backends.sv_element import Module


class Tables:
    """What the module of `module` says about its tables; nothing where it has none."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.tables = list(module.element.tables.values())
        self.copies: dict[str, list[tuple[str, Node | None]]] = {}  # of a table: instance, and the lookup it answers
        for table in self.tables:
            lookups = [node for node in module.pipeline.nodes if node.op == "lookup" and node.name == table.name]
            found: list[tuple[str, Node | None]] = [(f"u_{module.names[node]}", node) for node in lookups]
            self.copies[table.name] = found or [(f"u_{table.name}_rules", None)]
        self.signals = {signal.name: number for number, signal in enumerate(module.element.signals)}

    def _kinds(self, table: Table) -> dict[str, str]:
        """Of each update, that the pending signal is it."""
        return {word: f"signal_kind == 8'd{self.signals[f'signal {table.name}_{word}']}" for word in ("insert", "remove")}

    def declarations(self) -> list[str]:
        """What several stages refer to."""
        if not self.tables:
            return []
        instances = [instance for copies in self.copies.values() for instance, _ in copies]
        return [
            *(f"  logic {instance}_ready;" for instance in instances),
            "  logic update_pending;  // the signal that waits is an update of a table",
            "  logic update_stop_q;   // no iteration may begin before it",
            "  logic update_go;       // the pipeline is empty",
            "  logic update_done;     // the table is changed, or has refused it",
            *(f"  logic [7:0] {table.name}_status_q;" for table in self.tables),
        ]

    def ready(self) -> list[str]:
        """What must hold before any iteration begins."""
        return [f"{instance}_ready" for copies in self.copies.values() for instance, _ in copies]

    def no_signal(self) -> str:
        """That no signal keeps the handler from beginning."""
        return "!(signal_pending && (!update_pending || update_stop_q))" if self.tables else "!signal_pending"

    def signal_conditions(self) -> list[str]:
        """What else must hold before a signal begins."""
        return ["(!update_pending || update_done)"] if self.tables else []

    def is_handler(self) -> str:
        """That what begins is the handler."""
        return "!(signal_pending && (!update_pending || update_done))" if self.tables else "!signal_pending"

    def status(self, node: Node) -> str:
        """What an update is answered with."""
        return f"{node.name}_status_q"

    def unused(self) -> list[str]:
        """Of all copies the first answers."""
        others = [instance for copies in self.copies.values() for instance, _ in copies[1:]]
        results = [instance for copies in self.copies.values() for instance, node in copies if node is None]
        return [f"{instance}_status" for instance in others] + [
            f"{instance}_{what}" for instance in results for what in ("result", "result_valid")
        ]

    def text(self) -> list[str]:
        """The tables, and when an update is applied."""
        if not self.tables:
            return []
        lines = ["\n  // Rule tables"]
        for table in self.tables:
            lines += self._table(table)
        kinds = [kind for table in self.tables for kind in self._kinds(table).values()]
        done = [" && ".join(f"{instance}_done_q" for instance, _ in copies) for copies in self.copies.values()]
        want = [f"{instance}_want" for copies in self.copies.values() for instance, _ in copies]
        depth = max(self.module.depth, 1)
        # What a host sends has its kind cycles before it is pending; what `sl_timers` hands on has it in the same cycle.
        at_once, registered = "assign update_pending = ", "always_ff @(posedge clk_i) update_pending <= "
        return [
            *lines,
            f"  {at_once if self.module.element.timers else registered}({' || '.join(f'({kind})' for kind in kinds)});",
            f"  assign update_done    = {' || '.join(f'({text})' for text in done)};",
            f"  assign update_go = update_stop_q && !(|valid[{depth}:1]);",
            "  always_ff @(posedge clk_i) begin",
            f"    if ({' || '.join(want)}) update_stop_q <= 1'b1;",
            "    if (rst_i || start_signal) update_stop_q <= 1'b0;",
            "  end",
        ]

    def _table(self, table: Table) -> list[str]:
        kinds = self._kinds(table)
        lines = [f"  // {table.kind} table {table.name}, {table.entries} rules", f"  logic {table.name}_update;"]
        lines.append(f"  assign {table.name}_update = signal_pending && ({' || '.join(kinds.values())});")
        for number, (instance, node) in enumerate(self.copies[table.name]):
            lines += self._copy(table, instance, node, number == 0)
        return lines

    def _copy(self, table: Table, instance: str, node: Node | None, is_first: bool) -> list[str]:
        module = self.module
        latency = lookup_latency(table.kind, table.key, table.entries)
        asked = module.stage[node] - latency - ANSWER if node is not None else 0
        valid = f"valid[{asked}]" if node is not None else "1'b0"
        key = module.ref(node.args[0], asked) if node is not None else f"{table.key}'d0"
        given = self._given(table)
        lines = [
            f"  logic {instance}_result_valid, {instance}_want, {instance}_take, {instance}_done_q;",
            f"  logic [7:0] {instance}_status;",
            f"  logic [{table.value}:0] {instance}_result;",
            f"  sl_lookup_table #(.Kind({KINDS.index(table.kind)}), .KeyBits({table.key}), .ValueBits({table.value}),"
            f" .Entries({table.entries}), .Latency({latency})) {instance} (",
            f"    .clk_i, .rst_i, .ready_o({instance}_ready), .key_valid_i({valid}), .key_i({key}),",
            f"    .result_valid_o({instance}_result_valid), .result_o({instance}_result),",
            f"    .update_valid_i({table.name}_update && !{instance}_done_q), .update_insert_i({self._kinds(table)['insert']}),",
            f"    .update_key_i({given['key']}), .update_mask_i({given['mask']}),",
            f"    .update_number_i({given['number']}), .update_value_i({given['value']}),",
            f"    .want_o({instance}_want), .go_i(update_go), .take_o({instance}_take), .status_o({instance}_status)",
            "  );",
            "  always_ff @(posedge clk_i) begin",
            f"    if ({instance}_take) {instance}_done_q <= 1'b1;",
            *([f"    if ({instance}_take) {table.name}_status_q <= {instance}_status;"] if is_first else []),
            f"    if (rst_i || start_signal) {instance}_done_q <= 1'b0;",
            "  end",
        ]
        if node is not None:
            lines += [
                f"  always_ff @(posedge clk_i) if ({instance}_result_valid) {module.names[node]} <= {instance}_result;",
            ]
        return lines

    def _given(self, table: Table) -> dict[str, str]:
        """Arguments of the pending update, by port of the part."""
        names = {"exact": ["key"], "lpm": ["key", "number"], "ternary": ["key", "mask", "number"]}[table.kind]
        widths = {"key": table.key, "mask": table.key, "number": 16, "value": table.value}
        found = {name: f"{width}'d0" for name, width in widths.items()}
        is_insert = self._kinds(table)["insert"]
        for node in sorted(updates(self.module.pipeline.nodes), key=lambda update: update.op, reverse=True):  # removes first
            if node.name == table.name:
                wanted = [*names, "value"] if node.op == "insert" else names[-1:] if table.kind == "ternary" else names
                for name, argument in zip(wanted, node.args, strict=True):
                    text = self.module.ref(argument, 0)
                    is_shared = node.op == "insert" and found[name] != f"{widths[name]}'d0"
                    found[name] = f"{is_insert} ? {text} : {found[name]}" if is_shared else text
        return found
