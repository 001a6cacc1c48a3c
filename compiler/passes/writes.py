# SPDX-License-Identifier: Apache-2.0
"""Write ports: writes to one memory that go to the same index, or that exclude each other, become one write.

In the order of the source the later write wins, so it is chosen first. Writes in between must not be able to meet the moved one.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, MemoryWrite, Node, Transition
from compiler.ir.local import opposite
from compiler.ir.rewrite import each, rewrite_transition, same
from compiler.passes.conditions import literals

MOST_CASES = 8  # of a disjunction that is looked into


def run(element: ElementIr) -> ElementIr:
    """Handler and signals."""
    return each(element, _transition)


def _transition(transition: Transition) -> Transition:
    if not transition.writes:
        return transition
    b = Builder()
    made = rewrite_transition(transition, same, b)
    merged: list[MemoryWrite] = []
    for write in made.writes:
        at = next((i for i, other in enumerate(merged) if other.memory == write.memory and _can_join(merged, i, write)), None)
        if at is None:
            merged.append(write)
        else:
            merged[at] = _joined(b, merged[at], write)
    return replace(made, writes=tuple(_unasked(b, write, merged) for write in merged))


def _unasked(b: Builder, write: MemoryWrite, writes: list[MemoryWrite]) -> MemoryWrite:
    """`if (m[i] != x) m[i] = x` may write x whatever was there, and needs no read. Of a memory with one write."""
    if sum(other.memory == write.memory for other in writes) > 1:
        return write
    conditions = literals(write.enable, "and")
    kept = [condition for condition in conditions if not _asks(condition, write)]
    if len(kept) == len(conditions):
        return write
    return replace(write, enable=b.and_(b.const(1, 1), *kept))


def _asks(condition: Node, write: MemoryWrite) -> bool:
    """Whether this says that the entry is not yet what is written."""
    if condition.op != "not" or condition.args[0].op != "eq":
        return False
    compared = condition.args[0].args
    entries = [n for n in compared if n.op == "read" and n.name == write.memory and n.args[0] is write.index]
    return bool(entries) and write.data in compared


def exclusive(a: Node, b: Node) -> bool:
    """Whether two conditions are seen to exclude each other."""
    for one, other in ((a, b), (b, a)):
        cases = literals(one, "or")
        if 1 < len(cases) <= MOST_CASES:
            return all(exclusive(case, other) for case in cases)
    first, second = literals(a, "and"), literals(b, "and")
    return any(opposite(x, y) or _differ(x, y) for x in first for y in second)


def _differ(x: Node, y: Node) -> bool:
    """x == 1, x == 2."""
    constants = x.op == y.op == "eq" and x.args[1].op == y.args[1].op == "const"
    return constants and x.args[0] is y.args[0] and x.args[1] is not y.args[1]


def _can_join(merged: list[MemoryWrite], at: int, write: MemoryWrite) -> bool:
    """Whether `write` may move up to `merged[at]`."""
    between = [other for other in merged[at + 1 :] if other.memory == write.memory]
    if any(not exclusive(other.enable, write.enable) for other in between):
        return False
    return merged[at].index is write.index or exclusive(merged[at].enable, write.enable)


def _joined(b: Builder, first: MemoryWrite, second: MemoryWrite) -> MemoryWrite:
    enable = b.or_(first.enable, second.enable)
    index = b.mux(second.enable, second.index, first.index)
    return MemoryWrite(first.memory, enable, index, b.mux(second.enable, second.data, first.data))
