# SPDX-License-Identifier: Apache-2.0
"""Runs transitions, and elements over streams of tokens: what checks every pass, against the interpreter and against itself.

A transition becomes one Python function, an assignment a node. Values are as in the IR: unsigned integers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.interpreter.flows import FlowSet
from compiler.interpreter.tables import Rules
from compiler.ir.ir import ElementIr, Node, Transition, updates
from compiler.ir.operators import SOURCES, expression, mask, sdiv, signed, srem
from compiler.ir.rewrite import order, roots

DEFAULT_LIMIT = 1_000_000  # iterations, for elements that never wait


@dataclass
class State:
    """Registers and memories between two iterations."""

    registers: dict[str, int]
    memories: dict[str, list[int]]
    tables: dict[str, Rules] = field(default_factory=dict)
    flows: dict[tuple[str, int], FlowSet] = field(default_factory=dict)  # the sets of flow tables that were asked, by their number


def reset(element: ElementIr) -> State:
    """Behind `.init`."""
    memories = {}
    for name, memory in element.memories.items():
        memories[name] = [memory.reset.get(index, 0) for index in range(memory.entries)]
    tables = {name: Rules(table.kind, table.key, table.entries) for name, table in element.tables.items()}
    return State({name: register.reset for name, register in element.registers.items()}, memories, tables)


@dataclass(frozen=True)
class Inputs:
    """What an iteration sees of the world. `heads` has the ports with a token, `available` the ports that say so."""

    heads: Mapping[str, int] = field(default_factory=dict)
    available: Mapping[str, int] = field(default_factory=dict)
    arguments: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What an iteration does; of a blocked one (`ready` false) only that. `selects`: the index that each select took, or None."""

    ready: bool
    takes: tuple[str, ...] = ()
    puts: Mapping[str, int] = field(default_factory=dict)
    registers: Mapping[str, int] = field(default_factory=dict)
    writes: tuple[tuple[str, int, int], ...] = ()
    messages: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    selects: tuple[int | None, ...] = ()
    result: int | None = None
    updates: tuple[tuple[str, bool, tuple[int, ...]], ...] = ()  # of tables: which, whether an insert, with what
    flows: Mapping[tuple[str, int], FlowSet] = field(default_factory=dict)  # the sets that were asked, as they became


class CompiledTransition:
    """A transition that can be run often."""

    def __init__(self, element: ElementIr, transition: Transition) -> None:
        self._element, self.transition = element, transition
        self._updates = updates(order(roots(transition)))
        self._roots = list(dict.fromkeys([*roots(transition), *(arg for node in self._updates for arg in node.args)]))
        self._run = _compiled(element, transition, self._roots)

    def run(self, state: State, inputs: Inputs, may_wait: bool = True) -> Outcome:
        """One iteration; the state stays as it is (`commit` changes it). Without `may_wait` it is known that it can begin."""
        asked = _Asked(self._element, state.flows)
        found = self._run(
            state.registers, state.memories, inputs.heads, inputs.available, inputs.arguments, inputs.choices, state.tables, asked
        )
        value = dict(zip(self._roots, found, strict=True))
        t = self.transition
        waits = any(value[need] and port not in inputs.heads for port, need in t.needs.items())
        if may_wait and (waits or (t.any_of is not None and not value[t.any_of])):
            return Outcome(False)
        return Outcome(
            True,
            tuple(port for port, take in t.takes.items() if value[take]),
            {port: value[put.data] for port, put in t.puts.items() if value[put.enable]},
            {name: value[node] for name, node in t.next.items()},
            tuple((w.memory, value[w.index], value[w.data]) for w in t.writes if value[w.enable]),
            tuple(_shown(m.text, m.arguments, m.signed, value) for m in t.messages if value[m.enable]),
            tuple(a.text for a in t.assertions if value[a.enable] and not value[a.condition]),
            tuple(value[s.index] if value[s.enable] else None for s in t.selects),
            value[t.result] if t.result is not None else None,
            tuple((node.name, node.op == "insert", tuple(value[arg] for arg in node.args)) for node in self._updates),
            asked.sets,
        )


def commit(state: State, outcome: Outcome) -> None:
    """The state behind the iteration."""
    state.registers.update(outcome.registers)
    for memory, index, data in outcome.writes:
        if index < len(state.memories[memory]):
            state.memories[memory][index] = data
    for table, is_insert, arguments in outcome.updates:
        state.tables[table].update(is_insert, arguments)
    state.flows.update(outcome.flows)


class _Asked:
    """What an iteration asks flow tables: the sets, as they become."""

    def __init__(self, element: ElementIr, flows: Mapping[tuple[str, int], FlowSet]) -> None:
        self.element, self.flows = element, flows
        self.sets: dict[tuple[str, int], FlowSet] = {}

    def place(self, name: str, enable: int, insert: int, forget: int, key: int, time: int, number: int) -> int:
        """The node `place`."""
        table = self.element.flows[name]
        first = number << table.way_bits
        if not enable:
            return first
        if (name, number) not in self.sets:
            before = self.flows.get((name, number))
            self.sets[name, number] = before.copy() if before else FlowSet(table.ways, table.timeout, table.evicts)
        found, is_new, way = self.sets[name, number].ask(key, time, bool(insert), bool(forget))
        return found << table.width - 1 | is_new << table.width - 2 | first | way


def _shown(text: str, arguments: Sequence[Node], is_signed: Sequence[bool], value: Mapping[Node, int]) -> str:
    """Each {} in turn replaced by a decimal number."""
    pieces = text.split("{}")
    shown = [str(signed(value[a], a.width) if s else value[a]) for a, s in zip(arguments, is_signed, strict=True)]
    return "".join(piece + (shown[i] if i < len(shown) and i + 1 < len(pieces) else "") for i, piece in enumerate(pieces))


def _compiled(element: ElementIr, transition: Transition, results: Sequence[Node]) -> Callable[..., tuple[int, ...]]:
    nodes = order(roots(transition))
    name = {node: f"v{i}" for i, node in enumerate(nodes)}
    lines = ["def run(R, M, H, A, G, C, T, F):"]
    lines += [f" {name[node]} = {_value(element, node, name)}" for node in nodes]
    lines.append(f" return ({''.join(name[node] + ', ' for node in results)})")
    scope: dict[str, Any] = {"signed": signed, "sdiv": sdiv, "srem": srem, "lookup": _lookup}
    exec("\n".join(lines), scope)
    run: Callable[..., tuple[int, ...]] = scope["run"]
    return run


def _lookup(rules: Rules, key: int, bits: int) -> int:
    found = rules.find(key)
    return 0 if found is None else 1 << bits | found


def _value(element: ElementIr, node: Node, name: Mapping[Node, str]) -> str:
    if node.op == "const":
        return str(node.value)
    if node.op == "read":
        index = name[node.args[0]]
        return f"M[{node.name!r}][{index}] if {index} < {element.memories[node.name].entries} else 0"
    if node.op == "lookup":
        return f"lookup(T[{node.name!r}], {name[node.args[0]]}, {node.width - 1})"
    if node.op in ("insert", "remove"):
        given = "".join(f"{name[arg]}, " for arg in node.args)
        return f"T[{node.name!r}].status({node.op == 'insert'}, ({given}))"
    if node.op == "place":
        return f"F.place({node.name!r}, {', '.join(name[arg] for arg in node.args)})"
    if node.op in SOURCES:
        table = {"register": "R", "head": "H", "available": "A", "argument": "G", "choice": "C"}[node.op]
        return f"{table}[{node.name!r}]" if table in "RG" else f"{table}.get({node.name!r}, 0)"
    return expression(node.op, node.width, node.low, [name[arg] for arg in node.args], [arg.width for arg in node.args])


class ChoiceError(Exception):
    """A log of choices that this element cannot have made."""


@dataclass
class Run:
    """What an element did: tokens per output, answers of signals in order, lines, failed assertions, the last state."""

    outputs: dict[str, list[int]]
    state: State
    answers: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    iterations: int = 0
    taken: dict[str, int] = field(default_factory=dict)  # tokens per input
    discarded: int = 0  # flits, by the packet guards
    mended: int = 0


class _Machine:
    def __init__(self, element: ElementIr, streams: Mapping[str, Sequence[int]]) -> None:
        self.inputs = [port.name for port in element.inputs]
        self.streams = {port: deque(streams.get(port, ())) for port in self.inputs}
        self.guards = {port.name: port.guard for port in element.outputs}
        self.inside: dict[str, bool] = {}
        self.handler = CompiledTransition(element, element.handler)
        self.signals = {signal.name: CompiledTransition(element, signal) for signal in element.signals}
        self.result = Run({port.name: [] for port in element.outputs}, reset(element), taken=dict.fromkeys(self.inputs, 0))

    def step(self, entry: Mapping[str, Any]) -> bool:
        """One iteration, by its entry in the log; whether it was not blocked."""
        kind = entry.get("kind", "handler")
        if kind not in ("handler", *self.signals):
            raise ChoiceError(f"unknown transition '{kind}'")
        compiled = self.signals.get(kind, self.handler)
        names = [name for name, _ in compiled.transition.arguments]
        arguments = dict(zip(names, entry.get("arguments", ()), strict=True))
        heads = {port: stream[0] for port, stream in self.streams.items() if stream} if compiled is self.handler else {}
        there = dict.fromkeys(heads, 1)
        inputs = Inputs(heads, self._available(entry, there), arguments, {"now": entry.get("now", 0)})
        before = self._turned(entry)
        outcome = compiled.run(before, inputs)
        if outcome.ready or compiled.run(before, replace(inputs, available=there)).ready:
            self._apply(compiled.run(before, inputs, may_wait=False), entry)
            return True
        return False

    def _available(self, entry: Mapping[str, Any], there: dict[str, int]) -> dict[str, int]:
        """By the log; where it says nothing, who has a token. What a `select` took has one."""
        if "available" not in entry:
            return there
        found = {port: entry["available"] >> n & 1 for n, port in enumerate(self.inputs)}
        for select in self.handler.transition.selects:
            if entry.get("select", len(select.ports)) < len(select.ports):
                found[select.ports[entry["select"]]] = 1
        return found

    def _turned(self, entry: Mapping[str, Any]) -> State:
        """The state, with each `select` turned so that it prefers what the log says it took."""
        registers = dict(self.result.state.registers)
        for select in self.handler.transition.selects if "select" in entry else ():
            if not (select.inside and registers[select.inside]):
                registers[select.last] = (entry["select"] - 1) % len(select.ports)
        return replace(self.result.state, registers=registers)

    def _apply(self, outcome: Outcome, entry: Mapping[str, Any]) -> None:
        for port in outcome.takes:
            if not self.streams[port]:
                raise ChoiceError(f"{port} has no token: {entry}")
            self.streams[port].popleft()
            self.result.taken[port] += 1
        if "select" in entry and entry["select"] not in outcome.selects:
            raise ChoiceError(f"the select took {outcome.selects}, not the input of the log: {entry}")
        for port, token in outcome.puts.items():
            self._put(port, token)
        commit(self.result.state, outcome)
        self.result.messages += outcome.messages
        self.result.failures += outcome.failures
        self.result.iterations += 1
        transition = self.signals.get(entry.get("kind", "handler"), self.handler).transition
        if transition is not self.handler.transition and not transition.every:
            self.result.answers.append(outcome.result or 0)

    def _put(self, port: str, token: int) -> None:
        """Behind the packet guard (docs/design/compiler.md), where there is one."""
        g = self.guards[port]
        if g is None:
            self.result.outputs[port].append(token)
            return
        sop, eop = token >> g.sop & 1, token >> g.eop & 1
        empty = mask(g.empty_width) << g.empty
        inside = self.inside.get(port, False)
        if not inside and not sop:
            self.result.discarded += 1
            return
        if (inside and sop) or (token & empty and not eop):
            token = token & ~(empty | 1 << g.sop) | int(not inside) << g.sop | 1 << g.eop | 1 << g.error
            self.result.mended += 1
            eop = 1
        self.inside[port] = not eop
        self.result.outputs[port].append(token)


def run_element(
    element: ElementIr,
    streams: Mapping[str, Sequence[int]],
    choices: Iterable[Mapping[str, Any]] = (),
    iterations: int = DEFAULT_LIMIT,
) -> Run:
    """Iterations until one is blocked and the log is at its end, or until so many. ChoiceError: the log does not fit."""
    machine = _Machine(element, streams)
    log = {entry["iteration"]: entry for entry in choices}
    last = max(log, default=-1)
    while machine.result.iterations < iterations:
        at = machine.result.iterations
        if not machine.step(log.get(at, {})):
            if at <= last:
                raise ChoiceError(f"iteration {at} is blocked, but the log continues to {last}")
            break
    return machine.result
