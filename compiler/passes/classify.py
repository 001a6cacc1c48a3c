# SPDX-License-Identifier: Apache-2.0
"""How every state is updated: its row of the table "State updates" (the guide), and the way from reading it to its new value.

With the places in the source. Data for the scheduler and for the report; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, MemoryWrite, Node, Transition
from compiler.ir.rewrite import order, roots
from compiler.passes.recurrences import FREE, MOST_VALUES, reachable
from compiler.passes.writes import exclusive


class Pattern(Enum):
    """In the order from easy to hard; an element's state is as its hardest transition makes it."""

    CONSTANT = "never written"
    LAST_WRITER = "last writer: the new value does not need the old one"
    MACHINE = "state machine with few states"
    COMPOSABLE = "composable update"
    SAME_INDEX = "read-modify-write at one index"
    EXCLUSIVE = "several mutually exclusive writes"
    SEVERAL = "several writes that may coincide"
    OTHER = "unknown update pattern"


@dataclass(frozen=True)
class StateUpdate:
    """`cycle`: the longest way from reading the state to what decides its next value, the read first. `operation`: of a
    composable update (also where the pattern is SAME_INDEX), else "". `values`: of a machine."""

    name: str
    label: str
    is_memory: bool
    pattern: Pattern
    operation: str
    is_guarded: bool
    reads: int
    writes: int
    values: int
    cycle: tuple[Node, ...]

    @property
    def length(self) -> int:
        """Operators in the cycle that take time."""
        return sum(node.op not in FREE and node.op != "read" for node in self.cycle)

    def describe(self) -> str:
        """A line for the report, and one for every step of the cycle."""
        what = f"{self.pattern.value}{f' ({self.operation})' if self.operation else ''}{', guarded' if self.is_guarded else ''}"
        steps = [f"    {node.op}{f' {node.label}' if node.label else ''} at {node.span}" for node in self.cycle if node.span]
        return "\n".join([f"{self.label or self.name}: {what}; {self.length} operators in its cycle", *steps])


def classify(element: ElementIr) -> dict[str, StateUpdate]:
    """Every register and memory, by its name."""
    transitions = (element.handler, *element.signals)
    found = {}
    for name in element.registers:
        each = [_register(element, t, name) for t in transitions]
        found[name] = max(each, key=_hardness)
    for name in element.memories:
        found[name] = max((_memory(element, t, name) for t in transitions), key=_hardness)
    return found


def _hardness(update: StateUpdate) -> tuple[int, int]:
    return list(Pattern).index(update.pattern), len(update.cycle)


# Registers


def _register(element: ElementIr, transition: Transition, name: str) -> StateUpdate:
    new = transition.next.get(name)
    nodes = order(roots(transition))
    state = [node for node in nodes if node.op == "register" and node.name == name]
    cycle = longest(state, [new]) if new is not None else ()
    operation, values = "", 0
    if new is None:
        pattern = Pattern.CONSTANT
    elif not cycle:
        pattern = Pattern.LAST_WRITER
    else:
        operation = operation_of(state, new)
        values = len(reachable(Builder(), element, transition, state[0])) if len(state) == 1 else 0
        few = values or (1 << state[0].width if 1 << state[0].width <= MOST_VALUES else 0)
        kept = {"keep": Pattern.CONSTANT, "set": Pattern.LAST_WRITER}
        pattern = kept.get(operation, Pattern.COMPOSABLE if operation else Pattern.MACHINE if few else Pattern.OTHER)
        operation, values = ("", few) if pattern is Pattern.MACHINE else (operation, 0)
        operation = "" if operation in kept else operation
    label = element.registers[name].label
    guarded = new is not None and new.op == "mux" and any(arm in state for arm in new.args[1:])
    return StateUpdate(name, label, False, pattern, operation, guarded, len(state), int(new is not None), values, cycle)


# Memories


def _memory(element: ElementIr, transition: Transition, name: str) -> StateUpdate:
    reads = [node for node in order(roots(transition)) if node.op == "read" and node.name == name]
    writes = [write for write in transition.writes if write.memory == name]
    cycle = longest(reads, [node for write in writes for node in (write.data, write.enable, write.index)])
    pattern, operation = _pattern(reads, writes, bool(cycle))
    guarded = any(write.enable.op != "const" for write in writes)
    return StateUpdate(name, element.memories[name].label, True, pattern, operation, guarded, len(reads), len(writes), 0, cycle)


def _pattern(reads: Sequence[Node], writes: Sequence[MemoryWrite], depends: bool) -> tuple[Pattern, str]:
    if not writes:
        return Pattern.CONSTANT, ""
    if len(writes) > 1:
        apart = all(exclusive(a.enable, b.enable) for a, b in combinations(writes, 2))
        return (Pattern.EXCLUSIVE if apart else Pattern.SEVERAL), ""
    write = writes[0]
    if not depends:
        return Pattern.LAST_WRITER, ""
    needed = [read for read in reads if longest([read], [write.data, write.enable, write.index])]
    if longest(needed, [write.index]) or any(read.args[0] is not write.index for read in needed):
        return Pattern.OTHER, ""
    operation = operation_of(needed, write.data)
    return Pattern.SAME_INDEX, "" if operation in ("keep", "set") else operation


# Both


def longest(starts: Sequence[Node], ends: Iterable[Node]) -> tuple[Node, ...]:
    """The way with the most operators from one of the starts to one of the ends; empty where there is none."""
    ends = list(ends)
    way: dict[Node, tuple[int, Node | None]] = dict.fromkeys(starts, (0, None))
    for node in order(ends):
        if node in way:
            continue
        before = [(way[arg][0], -i) for i, arg in enumerate(node.args) if arg in way]
        if before:
            length, place = max(before)
            way[node] = (length + (node.op not in FREE), node.args[-place])
    last = max((end for end in ends if end in way), key=lambda end: way[end][0], default=None)
    found: list[Node] = []
    while last is not None:
        found.append(last)
        last = way[last][1]
    return tuple(reversed(found))


def operation_of(state: Sequence[Node], new: Node) -> str:
    """As what function of the state the new value can be composed: "add", "min", "max", "and", "or", "xor", "set", "keep",
    "clamped add", or "set or" one of them; "" where it is none."""
    return _Operations(state, new).of(new)


class _Operations:
    def __init__(self, state: Sequence[Node], new: Node) -> None:
        self.state = set(state)
        self.late = set(state)
        for node in order([new]):
            if any(arg in self.late for arg in node.args):
                self.late.add(node)
        self.known: dict[Node, str] = {}
        for node in order([new]):
            self.known[node] = self._operation(node)

    def of(self, node: Node) -> str:
        return self.known[node]

    def _operation(self, node: Node) -> str:
        if node in self.state:
            return "keep"
        if node not in self.late:
            return "set"
        if node.op in ("add", "sub", "and", "or", "xor"):
            wanted = "add" if node.op == "sub" else node.op
            kinds = [self.known[arg] for arg in node.args]
            sides = [(kinds[0], kinds[1]), *([] if node.op == "sub" else [(kinds[1], kinds[0])])]
            return wanted if any(old in ("keep", wanted) and other == "set" for old, other in sides) else ""
        return self._chosen(node) if node.op == "mux" else ""

    def _chosen(self, node: Node) -> str:
        condition, x, y = node.args
        kinds = [self.known[x], self.known[y]]
        if condition not in self.late:
            return _joined(*kinds)
        negated = condition.op == "not"
        test = condition.args[0] if negated else condition
        if test.op not in ("eq", "ult", "slt") or "" in kinds:
            return ""
        if sorted(kinds) == ["keep", "set"] and test.op != "eq" and set(test.args) == {x, y}:
            return "min" if (test.args[0] is x) != negated else "max"
        compared = [self.known[arg] for arg in test.args]
        bounded = any(old in ("keep", "add") and other == "set" for old, other in (compared, compared[::-1]))
        return "clamped add" if bounded and set(kinds) <= {"keep", "set", "add", "clamped add"} and "add" in kinds else ""


def _joined(first: str, second: str) -> str:
    """One or the other, by what does not depend on the state."""
    if first == second or "keep" in (first, second):
        return second if first == "keep" else first
    parts = {part for kind in (first, second) for part in kind.split(" or ")}
    if "" in parts or len(parts - {"set"}) != 1:
        return ""
    return "set or " + next(iter(parts - {"set"}))
