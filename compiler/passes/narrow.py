# SPDX-License-Identifier: Apache-2.0
"""Widths: no operator computes bits that nobody reads, or that repeat what its operands' width already says.

Backwards: how many low bits of every node are used (a sum that is cut to 8 bits is a sum of 8 bits). Forwards: from how many
bits a value is extended (the sum of two bytes has 9 bits, whatever C promoted it to).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.operators import SOURCES, signed
from compiler.ir.rewrite import each, order, replaced, roots, same

PREFIX = frozenset({"add", "sub", "mul", "and", "or", "xor", "not"})  # whose low bits depend on low bits alone


def run(element: ElementIr) -> ElementIr:
    """Handler and signals."""
    return each(element, _transition)


def _transition(transition: Transition) -> Transition:
    nodes = order(roots(transition))
    used = demanded(nodes, roots(transition))
    made: dict[Node, Node] = {}
    extents = Extents()
    b = Builder()
    for node in nodes:
        if used[node]:
            b.span, b.label = node.span, node.label
            made[node] = _made(b, extents, node, made, used[node])
    return replaced(transition, lambda root: made[root])


def demanded(nodes: Sequence[Node], results: Iterable[Node]) -> dict[Node, int]:
    """Low bits of each node that something uses."""
    used = dict.fromkeys(nodes, 0)
    for root in results:
        used[root] = root.width
    for node in reversed(nodes):
        if used[node]:
            for arg, bits in zip(node.args, _arguments(node, used[node]), strict=True):
                used[arg] = max(used[arg], bits)
    return used


def _arguments(node: Node, bits: int) -> list[int]:
    """Low bits of each argument that the low `bits` of a node need."""
    widths = [arg.width for arg in node.args]
    if node.op in PREFIX:
        return [bits] * len(widths)
    match node.op:
        case "mux":
            return [1, bits, bits]
        case "extract":
            return [node.low + bits]
        case "zext" | "sext":
            return [min(bits, widths[0])]
        case "shl":
            return [bits, widths[1]]
        case "concat":
            needed, at = [], 0
            for width in reversed(widths):
                needed.append(max(0, min(width, bits - at)))
                at += width
            return needed[::-1]
    return widths


def _made(b: Builder, extents: Extents, node: Node, made: dict[Node, Node], bits: int) -> Node:
    """The low `bits` of a node."""
    if node.op in SOURCES:
        return b.extract(b.exact(node.op, (), node.width, value=node.value, name=node.name), 0, bits)
    needed = _arguments(node, bits)
    args = [b.extract(made[arg], 0, count) for arg, count in zip(node.args, needed, strict=True) if count]
    match node.op:
        case "extract":
            return b.extract(args[0], node.low, bits)
        case "zext" | "sext":
            return b.make(node.op, args, bits)
        case "concat":
            return b.concat(*args)
        case "mux":
            return _least(b, extents, "mux", args, bits)
        case "shl" if bits < node.width:
            return b.make("shl", args, bits)
        case op if op in PREFIX:
            return _least(b, extents, op, args, bits)
    return b.extract(same(b, node, args), 0, bits)


def _least(b: Builder, extents: Extents, op: str, args: Sequence[Node], width: int) -> Node:
    """The operator on as many bits as its result can have, and extended."""
    unsigned = extents.result(op, args, False, width)
    by_sign = extents.result(op, args, True, width)
    bits = min(unsigned, by_sign)
    if bits >= width:
        return b.make(op, args, width)
    cut = [arg if op == "mux" and i == 0 else b.extract(arg, 0, bits) for i, arg in enumerate(args)]
    return b.make("zext" if unsigned <= by_sign else "sext", (b.make(op, cut, bits),), width)


class Extents:
    """From how many low bits a node is extended: by zeros, or by its sign."""

    def __init__(self) -> None:
        self._known: dict[tuple[Node, bool], int] = {}

    def of(self, node: Node, by_sign: bool) -> int:
        """At least 1."""
        key = (node, by_sign)
        if key not in self._known:
            self._known[key] = self._extent(node, by_sign)
        return self._known[key]

    def _extent(self, node: Node, by_sign: bool) -> int:
        match node.op:
            case "const":
                value = signed(node.value, node.width) if by_sign else node.value
                return max(1, (value if value >= 0 else ~value).bit_length() + by_sign)
            case "zext":
                return min(node.width, self.of(node.args[0], False) + by_sign)
            case "sext" if by_sign:
                return self.of(node.args[0], True)
            case "lshr" | "udiv" if not by_sign and node.op == "lshr":
                return self.of(node.args[0], False)
            case "urem" if not by_sign:
                return self.of(node.args[0], False)
            case "mux" | "add" | "sub" | "mul" | "and" | "or" | "xor" | "not":
                return self.result(node.op, node.args, by_sign, node.width)
        return node.width

    def result(self, op: str, args: Sequence[Node], by_sign: bool, width: int) -> int:
        """Of an operator on these arguments; `width` where nothing is known."""
        extent = [self.of(arg, by_sign) for arg in (args[1:] if op == "mux" else args)]
        match op:
            case "mux" | "or" | "xor":
                bits = max(extent)
            case "and":
                bits = max(extent) if by_sign else min(extent)
            case "add":
                bits = max(extent) + 1
            case "mul":
                bits = sum(extent)
            case "sub" if by_sign:
                bits = max(extent) + 1
            case "not" if by_sign:
                bits = extent[0]
            case _:
                bits = width
        return min(bits, width)
