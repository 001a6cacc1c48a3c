# SPDX-License-Identifier: Apache-2.0
"""Algebra over words: what cancels, and comparisons that move to a smaller operand."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node
from compiler.ir.local import is_zero
from compiler.ir.operators import mask, signed
from compiler.ir.rewrite import rewrite, same


def run(element: ElementIr) -> ElementIr:
    """Sums, differences and comparisons."""
    return rewrite(element, _remake)


def _remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
    made = same(b, node, args)
    match made.op:
        case "add":
            return _add(b, *made.args) or made
        case "sub":
            return _sub(b, *made.args) or made
        case "eq":
            return _eq(b, *made.args) or made
        case "slt":
            return _slt(b, *made.args) or made
        case "ult":
            return _choice(b, made) or made
    return made


def _add(b: Builder, x: Node, y: Node) -> Node | None:
    for p, q in ((x, y), (y, x)):  # p + (q - p), p + ~q + 1
        if q.op == "sub" and q.args[1] is p:
            return q.args[0]
    if x.op == "not" and y.op == "const" and y.value == 1:
        return b.binary("sub", b.const(0, x.width), x.args[0])
    if x is y and x.width > 1:
        return b.concat(b.extract(x, 0, x.width - 1), b.const(0, 1))
    return None


def _sub(b: Builder, x: Node, y: Node) -> Node | None:
    if x.op == "add" and y in x.args:
        return x.args[1] if x.args[0] is y else x.args[0]
    if x.op == "sub" and x.args[0] is y:
        return b.binary("sub", b.const(0, x.width), x.args[1])
    if y.op == "sub" and y.args[0] is x:
        return y.args[1]
    if is_zero(x) and y.op == "sub":
        return b.binary("sub", y.args[1], y.args[0])
    return None


def _eq(b: Builder, x: Node, y: Node) -> Node | None:
    if y.op == "const":
        return _eq_const(b, x, y)
    for op in ("add", "xor"):  # p + q == p + r
        if x.op == y.op == op:
            shared = [arg for arg in x.args if arg in y.args]
            if shared:
                rest = [n.args[1] if n.args[0] is shared[0] else n.args[0] for n in (x, y)]
                return b.eq(*rest)
    if x.op == y.op == "sext":
        bits = max(x.args[0].width, y.args[0].width)
        return b.eq(b.extract(x, 0, bits), b.extract(y, 0, bits)) if bits < x.width else None
    return None


def _eq_const(b: Builder, x: Node, y: Node) -> Node | None:
    value, width = y.value, x.width
    match x.op:
        case "add" | "xor" if x.args[1].op == "const":
            moved = value - x.args[1].value if x.op == "add" else value ^ x.args[1].value
            return b.eq(x.args[0], b.const(moved, width))
        case "sub" | "xor" if value == 0:
            return b.eq(x.args[0], x.args[1])
        case "not":
            return b.eq(x.args[0], b.const(~value, width))
        case "sext":
            inner = x.args[0]
            fits = signed(value, width) == signed(value & mask(inner.width), inner.width)
            return b.eq(inner, b.const(value, inner.width)) if fits else b.const(0, 1)
        case "concat" if any(part.op == "const" for part in x.args):
            return _eq_parts(b, x, value)
        case "mux":
            return _choice(b, b.exact("eq", (x, y), 1))
    return None


def _eq_parts(b: Builder, x: Node, value: int) -> Node:
    """The constant parts are compared now."""
    result, at = b.const(1, 1), 0
    for part in reversed(x.args):
        result = b.and_(result, b.eq(part, b.const(value >> at, part.width)))
        at += part.width
    return result


def _slt(b: Builder, x: Node, y: Node) -> Node | None:
    """Of values that were extended: on the bits before."""

    def bits(node: Node) -> int:
        if node.op in ("sext", "zext"):
            return node.args[0].width + (node.op == "zext")
        if node.op == "const":
            value = signed(node.value, node.width)
            return (value if value >= 0 else ~value).bit_length() + 1
        return node.width

    needed = max(bits(x), bits(y))
    if needed < x.width:
        return b.binary("slt", b.extract(x, 0, needed), b.extract(y, 0, needed))
    if x.op == "zext" and y.op == "zext":
        return b.binary("ult", x, y)
    return _choice(b, b.exact("slt", (x, y), 1))


def _choice(b: Builder, made: Node) -> Node | None:
    """(c ? 3 : x) == 3 is c or x == 3: a comparison with an arm that folds."""
    x, y = made.args
    if x.op != "mux" or y.op != "const" or not any(arm.op == "const" for arm in x.args[1:]):
        return None
    return b.mux(x.args[0], b.binary(made.op, x.args[1], y), b.binary(made.op, x.args[2], y))
