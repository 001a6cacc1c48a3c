# SPDX-License-Identifier: Apache-2.0
"""An element with its parameters known becomes a `typed.Element`."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from compiler.frontend import ast, tables, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.calls import Body
from compiler.frontend.constants import Bad
from compiler.frontend.flows import Flows
from compiler.frontend.paths import WritePaths
from compiler.frontend.resolve import describe
from compiler.frontend.scope import Broken, FunctionName, Number, Ports, Scope, TypeName
from compiler.frontend.source import Diagnostics, Note, Span

MAX_PORTS = 32
MAX_STATE_BITS = 1 << 32
MOST_MICROSECONDS = (1 << 31) - 1  # of a period: half of what the 32-bit tick counts (`rtl/ctrl/sl_timers.sv`)
PERIODS = typed.Integer(16)  # what `periods()` gives
MOST_ENTRIES = {  # of a table, as far as numbers of rules reach; targets may have room for fewer
    typed.TableKind.EXACT: 1 << 25,
    typed.TableKind.LPM: 1 << 24,
    typed.TableKind.TERNARY: 1 << 16,  # a priority has 16 bits, and each rule its own
}
ROOT = Path(__file__).parents[2]
PLACEMENTS = {"": typed.Placement.AUTO, "register": typed.Placement.REGISTER, "local": typed.Placement.LOCAL}
Parameters = Mapping[str, Number | TypeName]


class ElementBuilder(Flows):
    """Builds one element; `scope` is the file's."""

    def __init__(
        self, node: tree.Element, parameters: Parameters, scope: Scope, diagnostics: Diagnostics, instance: Span | None = None
    ) -> None:
        super().__init__(diagnostics, Scope(scope))
        self.node, self.given, self.instance = node, parameters, instance
        self.states: list[typed.Variable] = []
        self.tables: list[typed.Table] = []
        for parameter in node.parameters:
            self.declare(parameter.name, parameters[parameter.name.text])

    def build(self, name: str) -> typed.Element:
        """The element, under the name that it has in the program."""
        node = self.node
        self._ports(node.ports)
        for function in node.functions:
            self.declare(function.name, FunctionName(function, self.scope))
        initial = self._states(node.states)
        for table in node.tables:
            with suppress(Bad):
                self._table(table)
        for flow in node.flows:
            with suppress(Bad):
                self.states += self.flow(flow)
        init = self.in_body(Body("init"), node.init, self.scope) if node.init else typed.Block(())
        if node.handler is None and all(native.language.text == "packet" for native in node.natives):
            raise self.error("E0506", f"element '{node.name.text}' has no handler", node.name.span, "add .handler { … }")
        handler = self.in_body(Body("handler"), node.handler, self.scope) if node.handler else typed.Block(())
        signals = self._signals()
        for function in node.functions:
            with suppress(Bad):
                self._check_function(function)
        numbered = node.ports.is_numbered or bool(self.form.is_numbered)
        self._check_form()
        self._check_writes(handler, numbered)
        self._check_reads(numbered)
        init = typed.Block((*initial, *init.statements))
        return typed.Element(
            name, node.name.text, self.inputs, self.outputs, numbered, tuple(self.states), tuple(self.tables), init, handler,
            signals, self._natives(), zlib.crc32(name.encode()) or 1, node.span, tuple(_values(self.given)), self.flow_tables(),
        )  # fmt: skip

    def _check_function(self, node: tree.Function) -> None:
        found = self.scope.names[node.name.text]
        if isinstance(found, FunctionName):
            self.function(found, node.span)

    # Ports

    def _ports(self, ports: tree.Ports) -> None:
        if ports.is_numbered:
            assert ports.input_count is not None and ports.output_count is not None
            self.inputs = self._numbered(ports.input_count, True)
            self.outputs = self._numbered(ports.output_count, False)
        else:
            self.inputs = self._named(ports.inputs, True)
            self.outputs = self._named(ports.outputs, False)

    def _numbered(self, node: ast.Expression, is_input: bool) -> tuple[typed.Port, ...]:
        count = self.value(node)
        if not 0 <= count <= MAX_PORTS:
            raise self._wrong_count(f"{count} ports", node, node.span, f"0 to {MAX_PORTS}")
        flit = self.scope.find("flit")
        assert isinstance(flit, TypeName)
        prefix = "in" if is_input else "out"
        return tuple(typed.Port(f"{prefix}_{n + 1}", flit.type, n, is_input, True, node.span) for n in range(count))

    def _named(self, nodes: tuple[tree.PortDeclaration, ...], is_input: bool) -> tuple[typed.Port, ...]:
        found: list[typed.Port] = []
        for node in nodes:
            kind = self.channel_type(node.type)
            count = 1 if node.count is None else self.value(node.count)
            if not 1 <= count <= MAX_PORTS - len(found):
                hint = f"an element has 1 to {MAX_PORTS} ports in each direction"
                raise self._wrong_count(f"'{node.name.text}' would have {count} ports", node.count, node.span, hint)
            names = [node.name.text] if node.count is None else [f"{node.name.text}_{n}" for n in range(count)]
            ports = tuple(
                typed.Port(name, kind.type, len(found) + n, is_input, kind.is_packet, node.name.span)
                for n, name in enumerate(names)
            )
            self.declare(node.name, Ports(ports, node.count is not None))
            found += ports
        return tuple(found)

    def _wrong_count(self, text: str, count: ast.Expression | None, ports: Span, hint: str) -> Bad:
        """At the instance, where a parameter may decide the number."""
        if self.instance is None or count is None or isinstance(count, ast.Number):
            return self.error("E0317", text, ports, hint)
        return self.error("E0317", text, self.instance, hint, (Note("the ports", ports),))

    # States, tables, signals

    def _states(self, nodes: tuple[tree.Statement, ...]) -> list[typed.Statement]:
        """Declares them; gives the assignments of their initial values."""
        outer, self.out = self.out, []
        for node in nodes:
            try:
                self._state(node)
            except Bad:
                if isinstance(node, tree.Declaration):
                    self.scope.names.setdefault(node.name.text, Broken())
        initial, self.out = self.out, outer
        return initial

    def _state(self, node: tree.Statement) -> None:
        if isinstance(node, tree.TypeDeclaration):
            self.statement(node)
            return
        if not isinstance(node, tree.Declaration):
            raise self.error("E0418", "this is not a state declaration", node.span, "declare a state: ulong count = 0;")
        if node.is_view:
            raise self.error("E0411", "a state cannot be a view", node.span, "declare the view in the handler")
        if node.word == "constexpr":
            self.constexpr(node)
            return
        if node.word == "global":
            hint = "use local, which is block RAM; put a table that is too large into an element of its own, used only on a miss"
            text = "'global' (memory outside the device) is not supported yet: each access would take many cycles"
            raise self.error("E0418", text, node.span, hint)
        kind = self.array_type(self.type(node.type), node.counts)
        variable = typed.Variable(node.name.text, kind, node.name.span, True, PLACEMENTS[node.word])
        value = self.initial(node.initial, kind, f"'{node.name.text}'") if node.initial is not None else None
        self.declare(node.name, variable)
        self.states.append(variable)
        if value is not None and not (isinstance(value, typed.Constant) and value.value == 0):
            self.out.append(typed.Assign(typed.Place(variable, (), node.name.span), value, node.span))

    def _table(self, node: tree.Table) -> None:
        kinds = {kind.value: kind for kind in typed.TableKind}
        if node.kind.text not in kinds:
            raise self.error("E0316", f"unknown kind of table '{node.kind.text}'", node.kind.span, "use exact, ternary or lpm")
        kind = kinds[node.kind.text]
        key, value = self.type(node.key), self.type(node.value)
        if kind is typed.TableKind.LPM and not isinstance(key, typed.Integer):
            raise self.error(
                "E0405", f"an lpm table cannot match {describe(key)}", node.key.span, "the key of an lpm table must be an integer"
            )
        entries = self.positive(node.entries, "the number of entries", MOST_ENTRIES[kind])
        table = typed.Table(node.name.text, kind, key, value, entries, node.span)
        self.declare(node.name, table)
        self.tables.append(table)

    def _signals(self) -> tuple[typed.Signal, ...]:
        found: dict[str, typed.Signal] = {}
        for node in self.node.signals:
            try:
                signal = self._plain_signal(node) if isinstance(node, tree.PlainSignal) else self._typed_signal(node)
            except Bad:
                continue
            if signal.name in found:
                notes = (Note("the first", found[signal.name].span),)
                what = f"'{signal.name}'" if signal.name else "without a name"
                self.diagnostics.error("E0402", f"duplicate signal {what}", signal.span, "rename or remove one of them", notes)
            found[signal.name] = signal
        for signal in (made for table in self.tables for made in tables.signals(table)):
            if signal.name in found:
                hint = f"the table defines a signal '{signal.name}'; rename the table or this signal"
                notes = (Note("the table", signal.span),)
                self.diagnostics.error("E0402", f"duplicate signal '{signal.name}'", found[signal.name].span, hint, notes)
            found[signal.name] = signal
        for written in self.node.timers:
            with suppress(Bad):
                timer = self._timer(written)
                if timer.name in found:
                    notes = (Note("the first", found[timer.name].span),)
                    self.diagnostics.error("E0402", f"duplicate signal or timer '{timer.name}'", timer.span, "rename one", notes)
                found[timer.name] = timer
        return tuple(found.values())

    def _timer(self, node: tree.Timer) -> typed.Signal:
        every = self.positive(node.every, "the period of a timer in microseconds", MOST_MICROSECONDS)
        parameter = typed.Variable("periods", PERIODS, node.span)
        body = self.in_body(Body("timer", periods=parameter), node.body, self.scope)
        return typed.Signal(node.name.text, (parameter,), None, body, node.span, every)

    def _plain_signal(self, node: tree.PlainSignal) -> typed.Signal:
        found = self.scope.find("ClSignal")
        if not isinstance(found, TypeName):
            raise self.error("E0403", "'ClSignal' is hidden by another name", node.span, "rename that declaration")
        parameter = typed.Variable("signal", found.type, node.span)
        body = self.in_body(Body("signal", parameter=parameter), node.body, self.scope)
        return typed.Signal("", (parameter,), found.type, body, node.span)

    def _typed_signal(self, node: tree.Function) -> typed.Signal:
        for parameter in node.parameters:
            if parameter.is_view:
                raise self.error(
                    "E0411", "a signal cannot change its arguments", parameter.span, "return a value: a struct, for several"
                )
        parameters, scope = self.parameters(node, self.scope)
        result = self.type(node.result) if node.result else None
        body = self.in_body(Body("signal", result), node.body, scope)
        return typed.Signal(node.name.text, parameters, result, body, node.span)

    def _natives(self) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for node in self.node.natives:
            path = Path(node.span.source.name).parent / node.file
            if not any(os.path.isfile(folder / path) for folder in (Path.cwd(), ROOT)):  # noqa: PTH113 - of any length
                self.diagnostics.error(
                    "E0609", f"cannot find file '{path}'", node.span, "a native body must be in the folder of the program"
                )
            found.append((node.language.text, str(path)))
        return tuple(found)

    # Checks of the whole

    def _check_form(self) -> None:
        if self.node.ports.is_numbered and self.form.is_numbered is False:
            hint = "give the ports names: (packet in -> packet out)"
            self.diagnostics.error("E0503", "this element has numbered ports", self.form.where, hint)

    def _check_reads(self, numbered: bool) -> None:
        """Of ports with names, and of handlers that were read whole: what a numbered element waits for is known when it runs."""
        if numbered or self.node.natives or self.diagnostics.errors:
            return
        for port in self.inputs:
            if port not in self.read:
                text = f"the handler never reads '{port.name}'"
                self.diagnostics.warning("W0507", text, port.span, f"call read({port.name}), or remove the port")

    def _check_writes(self, handler: typed.Block, numbered: bool) -> None:
        def report(second: typed.Write, first: typed.Write) -> None:
            notes = (Note("the first write", first.span),)
            if numbered:
                text = f"'{second.port.name}' may already be set in this iteration; the last value wins"
                self.diagnostics.warning("W0504", text, second.span, "an iteration writes at most one token to a port", notes)
                return
            hint = "an iteration writes at most one token to a port: choose the value first, then write once"
            self.diagnostics.error("E0504", f"'{second.port.name}' may already be written on this path", second.span, hint, notes)

        WritePaths(self.exempt, report).block(handler, {})


def _values(parameters: Parameters) -> Iterator[tuple[str, int]]:
    """As a native body gets them."""
    for name, value in parameters.items():
        if isinstance(value, Number):
            yield name, value.value
        else:
            yield name, value.type.bits
            yield f"{name}IsPacket", int(value.is_packet)


def mangled(node: tree.Element, parameters: Parameters) -> str:
    """The element's name with the values of its parameters."""
    parts = [node.name.text]
    for name in (parameter.name.text for parameter in node.parameters):
        value = parameters[name]
        if isinstance(value, Number):
            parts.append(str(value.value).replace("-", "m"))
        else:
            shown = "packet" if value.is_packet else describe(value.type)
            parts.append("".join(char if char.isalnum() else "_" for char in shown).strip("_"))
    return "_".join(parts)
