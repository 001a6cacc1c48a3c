# SPDX-License-Identifier: Apache-2.0
"""Proves of an element that what it does with a packet does not depend on packets before it: several threads can then have an
element each, and the packets leave as from one.

A state is *changed* where the handler writes it, or a signal does from what is changed. It is *looked at* where what leaves depends
on it, or what is behind it. The claim is that no first flit (`sop` 1) looks at what is changed: neither in what it sends, nor in
what it leaves behind for the flits that follow. Counters that only signals read are changed, but nobody looks at them; a decision
that is kept from the first flit to the last is both, but new with each packet. What a `select` remembers is the order of packets of
several inputs, which is free; rules, and what signals set, are the same in all threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from compiler.frontend import typed
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.lower import lower_states
from compiler.ir.memories import LowerError
from compiler.ir.rewrite import order
from compiler.passes.headers_only import with_sop


def why_not(element: typed.Element, ir: ElementIr | None = None) -> str | None:
    """What keeps threads from having an element each; None where nothing does."""
    try:
        ir = ir or lower_states(element)[0]
    except LowerError as error:
        return f"its transition is not known: {error.text}"
    states = _States(ir)
    firsts = with_sop(element, ir, 1) or [ir.handler]
    found = next((name for first in firsts for name in states.remembered(first)), None)
    return f"what it does with a packet depends on '{states.label(found)}', which packets before it changed" if found else None


@dataclass(frozen=True)
class _States:
    """Registers and memories of an element, by name."""

    ir: ElementIr

    def label(self, name: str) -> str:
        """As the source calls it."""
        known = self.ir.registers.get(name) or self.ir.memories.get(name)
        return (known.label if known else "") or name

    def remembered(self, first: Transition) -> Iterator[str]:
        """What a first flit looks at of what is changed."""
        changed, looked_at = self._changed(), self._looked_at()
        sends = [node for put in first.puts.values() for node in (put.enable, put.data)]
        for name in sorted(_read([*sends, *first.takes.values()]) & changed):
            yield name
        for name in sorted(looked_at & changed):
            if name in self.ir.memories or name not in first.next or _read([first.next[name]]) & changed:
                yield name

    def _changed(self) -> set[str]:
        free = {name for select in self.ir.handler.selects for name in (select.last, select.inside)}
        changed = {name for name, _ in _written(self.ir.handler)} - free
        size = -1
        while size != len(changed):
            size = len(changed)
            for signal in self.ir.signals:
                changed |= {name for name, values in _written(signal) if _read(values) & changed}
        return changed

    def _looked_at(self) -> set[str]:
        """By any flit."""
        handler = self.ir.handler
        seen = _read([*(n for put in handler.puts.values() for n in (put.enable, put.data)), *handler.takes.values()])
        seen |= _read([*handler.needs.values(), *([handler.any_of] if handler.any_of else [])])
        size = -1
        while size != len(seen):
            size = len(seen)
            for name, values in _written(handler):
                if name in seen:
                    seen |= _read(values)
        return seen


def _written(transition: Transition) -> Iterator[tuple[str, list[Node]]]:
    """States that it writes, and what of."""
    for name, node in transition.next.items():
        if not (node.op == "register" and node.name == name):
            yield name, [node]
    for write in transition.writes:
        yield write.memory, [write.enable, write.index, write.data]


def _read(nodes: Iterable[Node]) -> set[str]:
    return {node.name for node in order(nodes) if node.op in ("register", "read")}
