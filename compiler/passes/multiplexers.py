# SPDX-License-Identifier: Apache-2.0
"""Multiplexers: arms that a neighbour has too are chosen once, and what the condition says is known inside the arms."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node
from compiler.ir.rewrite import rewrite, same

DEPTH = 6  # multiplexers and conditions inside an arm that are looked through


def run(element: ElementIr) -> ElementIr:
    """Every `mux`."""
    return rewrite(element, _remake)


def _remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
    made = same(b, node, args)
    if made.op != "mux":
        return made
    c, x, y = made.args
    x, y = assume(b, x, c, True, DEPTH), assume(b, y, c, False, DEPTH)
    return _shared(b, c, x, y) or b.mux(c, x, y)


def assume(
    b: Builder, node: Node, condition: Node, holds: bool, depth: int, known: dict[tuple[Node, int], Node] | None = None
) -> Node:
    """The node where a condition is known, looking through multiplexers, logic, and parts. `known`: what was found already."""
    known = {} if known is None else known
    if (node, depth) not in known:
        known[node, depth] = _assumed(b, node, condition, holds, depth, known)
    return known[node, depth]


def _assumed(b: Builder, node: Node, condition: Node, holds: bool, depth: int, known: dict[tuple[Node, int], Node]) -> Node:
    if node is condition:
        return b.const(int(holds), 1)
    if condition.op == "and" and holds and node in condition.args:
        return b.const(1, 1)
    if condition.op == "or" and not holds and node in condition.args:
        return b.const(0, 1)
    looked = node.op == "mux" or node.op in ("concat", "zext", "extract") or (node.width == 1 and node.op in ("and", "or", "not"))
    if depth == 0 or not looked:
        return node
    args = [assume(b, arg, condition, holds, depth - 1, known) for arg in node.args]
    return same(b, node, args) if any(new is not old for new, old in zip(args, node.args, strict=True)) else node


def _shared(b: Builder, c: Node, x: Node, y: Node) -> Node | None:
    """Two multiplexers that share an arm are one, with both conditions."""
    if c.op == "eq" and {*c.args} == {x, y}:  # x == y ? x : y
        return y
    if y.op == "mux":
        d, p, q = y.args
        if x is p:
            return b.mux(b.or_(c, d), x, q)
        if x is q:
            return b.mux(b.and_(b.not_(c), d), p, x)
    if x.op == "mux":
        d, p, q = x.args
        if y is p:
            return b.mux(b.and_(c, b.not_(d)), q, y)
        if y is q:
            return b.mux(b.and_(c, d), p, y)
    return None
