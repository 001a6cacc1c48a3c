# SPDX-License-Identifier: Apache-2.0
"""Registers and memories that never change become their reset value: by induction over iterations, all registers at once.

The compiler's own registers (without label) go altogether; the states of the source stay, as final states are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.local import is_zero
from compiler.ir.rewrite import each, order, rewrite_transition, roots, same


def run(element: ElementIr) -> ElementIr:
    """Assume that every register is constant; drop those for which that is refuted, until none is."""
    values = {name: register.reset for name, register in element.registers.items()}
    while True:
        assumed = each(element, partial(_with, values=values))
        kept = {name: value for name, value in values.items() if _keeps(assumed, name, value)}
        if len(kept) == len(values):
            break
        values = kept
    if not values and not _silent(element):
        return element
    return _without(_memories(assumed), values)


def _with(transition: Transition, values: dict[str, int]) -> Transition:
    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        if node.op == "register" and node.name in values:
            return b.const(values[node.name], node.width)
        return same(b, node, args)

    return rewrite_transition(transition, remake)


def _keeps(element: ElementIr, name: str, value: int) -> bool:
    following = [t.next[name] for t in (element.handler, *element.signals) if name in t.next]
    return all(node.op == "const" and node.value == value for node in following)


def _silent(element: ElementIr) -> set[str]:
    """Memories that are never written."""
    written = {w.memory for t in (element.handler, *element.signals) for w in t.writes if not is_zero(w.enable)}
    return {name for name, memory in element.memories.items() if name not in written and not memory.reset}


def _memories(element: ElementIr) -> ElementIr:
    """A memory of zeros that is never written reads 0."""
    silent = _silent(element)

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        return b.const(0, node.width) if node.op == "read" and node.name in silent else same(b, node, args)

    return each(element, lambda transition: rewrite_transition(transition, remake)) if silent else element


def _without(element: ElementIr, values: dict[str, int]) -> ElementIr:
    """No `next` for what is constant, and no register where nothing names it."""
    made = each(element, lambda t: replace(t, next={name: node for name, node in t.next.items() if name not in values}))
    used = {node.name for t in (made.handler, *made.signals) for node in order(roots(t)) if node.op == "register"}
    used |= {name for t in (made.handler, *made.signals) for select in t.selects for name in (select.last, select.inside)}
    gone = {name for name in values if name not in used and not made.registers[name].label}
    return replace(made, registers={name: r for name, r in made.registers.items() if name not in gone})
