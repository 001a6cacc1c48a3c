# SPDX-License-Identifier: Apache-2.0
"""Whether an output sends whole packets because each is sent, or not, as a whole.

Such a handler takes a flit of one input in every iteration, and what it writes is framed as that. Either the first flit decides:
`if (x.sop) passes = ...; if (passes) write(out, x);`. At later flits, whether it writes must depend on states alone, which no
later flit and no signal changes; at the first flit, it must be what these states say behind it. Or the last flit does, for the next
packet: `write(out[turn], x); if (x.eop) turn += 1;`. Then it must depend on states alone that nothing else changes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import Node, Put, Transition
from compiler.ir.operators import SOURCES
from compiler.ir.rewrite import order, same, substituted

KEPT = frozenset({"const", "register"})
NAMED = frozenset({"read", "lookup", "place"})


def sends_whole_packets(handler: Transition, signals: Sequence[Transition], put: Put, source: str, sop: int, eop: int) -> bool:
    """Of a packet output whose flits are framed as those of the input `source`, with `sop` and `eop` at these bits."""
    takes, needs = handler.takes.get(source), handler.needs.get(source)
    if takes is None or needs is None or not (_is_one(takes) and _is_one(needs)):
        return False
    changed = frozenset(name for signal in signals for name in signal.next)
    b = Builder()
    later, following = _at(b, handler, put, source, sop, 0)
    if _keeps(later, following, changed):
        first, behind = _at(b, handler, put, source, sop, 1)
        states = [node for node in order([later]) if node.op == "register"]
        if substituted(b, later, {node: behind.get(node.name, node) for node in states}) is first:
            return True
    whole, _ = _at(b, handler, put, source, eop, None)
    inside, following = _at(b, handler, put, source, eop, 0)
    return inside is whole and _keeps(inside, following, changed)


def _keeps(enable: Node, following: Mapping[str, Node], changed: Container[str]) -> bool:
    """Whether it depends on states alone, and these stay as they are."""
    below = order([enable])
    if any((node.op in SOURCES or node.op in NAMED) and node.op not in KEPT for node in below):
        return False
    states = {node.name: node for node in below if node.op == "register"}
    return all(name not in changed and following.get(name, node) is node for name, node in states.items())


def _is_one(node: Node) -> bool:
    return node.op == "const" and node.value == 1


def _at(b: Builder, handler: Transition, put: Put, source: str, bit: int, value: int | None) -> tuple[Node, dict[str, Node]]:
    """Whether it is written, and the states behind the iteration, where the bit of the flit has a value, if any."""
    made: dict[Node, Node] = {}
    for node in order([put.enable, *handler.next.values()]):
        is_bit = node.op == "extract" and node.args[0].op == "head" and node.args[0].name == source
        is_known = is_bit and value is not None and (node.low, node.width) == (bit, 1)
        made[node] = b.const(value or 0, 1) if is_known else same(b, node, [made[arg] for arg in node.args])
    return made[put.enable], {name: made[node] for name, node in handler.next.items()}
