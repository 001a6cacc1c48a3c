# SPDX-License-Identifier: Apache-2.0
"""Simplifications that one node shows: constants are folded, and identities that never make the result larger.

Normal forms: the constant stands right; a shift by a constant is `concat`, `zext` or `sext` of a part; zeros at the top are `zext`;
`concat` has no `concat` in it; a negated condition of `mux` swaps the arms.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from compiler.ir.ir import Node
from compiler.ir.operators import COMMUTATIVE, function, mask

if TYPE_CHECKING:
    from compiler.ir.build import Builder

DEPTH = 8  # operators between a part that is asked for and the value that it is a part of

Rule = Callable[["Builder", tuple[Node, ...], int, int], Node | None]


def simplify(b: Builder, op: str, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    """A simpler node than `op` of `args`, or None."""
    if all(arg.op == "const" for arg in args):
        value = function(op, width, low, tuple(arg.width for arg in args))(*(arg.value for arg in args))
        return b.const(value, width)
    if op in COMMUTATIVE and args[0].op == "const":
        return b.make(op, (args[1], args[0]), width)
    rule = RULES.get(op)
    return rule(b, args, width, low) if rule else None


def is_const(node: Node, value: int) -> bool:
    return node.op == "const" and node.value == value


def is_zero(node: Node) -> bool:
    return node.op == "const" and node.value == 0


def is_ones(node: Node) -> bool:
    return node.op == "const" and node.value == mask(node.width)


def opposite(a: Node, b: Node) -> bool:
    """Whether one is the `not` of the other."""
    return (a.op == "not" and a.args[0] is b) or (b.op == "not" and b.args[0] is a)


def _regroup(b: Builder, op: str, args: tuple[Node, ...], width: int) -> Node | None:
    """(x op c) op d -> x op (c op d) for constants c, d."""
    x, d = args
    if d.op == "const" and x.op == op and x.args[1].op == "const":
        return b.make(op, (x.args[0], b.make(op, (x.args[1], d), width)), width)
    return None


def _and(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if is_zero(y) or opposite(x, y):
        return b.const(0, width)
    if is_ones(y) or x is y or (x.op == "and" and y in x.args):
        return x
    if y.op == "and" and x in y.args:
        return y
    for p, q in ((x, y), (y, x)):  # p & (!p & z) = 0, p & (p | z) = p, p & (!p | z) = p & z
        if q.op == "and" and any(opposite(p, arg) for arg in q.args):
            return b.const(0, width)
        if q.op == "or" and p in q.args:
            return p
        if q.op == "or" and any(opposite(p, arg) for arg in q.args):
            return b.and_(p, q.args[1] if opposite(p, q.args[0]) else q.args[0])
    return _low_mask(b, x, y, width) or _regroup(b, "and", args, width)


def _low_mask(b: Builder, x: Node, y: Node, width: int) -> Node | None:
    """x & 0..01..1 is the low part of x; zeros at the top of a constant are `zext`."""
    bits = y.value.bit_length() if y.op == "const" else width
    return b.zext(b.make("and", (b.extract(x, 0, bits), b.const(y.value, bits)), bits), width) if bits < width else None


def _or(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if is_ones(y) or opposite(x, y):
        return b.const(mask(width), width)
    if is_zero(y) or x is y or (x.op == "or" and y in x.args):
        return x
    if y.op == "or" and x in y.args:
        return y
    for p, q in ((x, y), (y, x)):  # p | (!p | z) = 1, p | (p & z) = p, p | (!p & z) = p | z
        if q.op == "or" and any(opposite(p, arg) for arg in q.args):
            return b.const(mask(width), width)
        if q.op == "and" and p in q.args:
            return p
        if q.op == "and" and any(opposite(p, arg) for arg in q.args):
            return b.or_(p, q.args[1] if opposite(p, q.args[0]) else q.args[0])
    return _regroup(b, "or", args, width)


def _xor(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if is_zero(y):
        return x
    if x is y:
        return b.const(0, width)
    if is_ones(y):
        return b.not_(x)
    return _regroup(b, "xor", args, width)


def _not(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    return args[0].args[0] if args[0].op == "not" else None


def _add(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    return args[0] if is_zero(args[1]) else _regroup(b, "add", args, width)


def _sub(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if x is y:
        return b.const(0, width)
    return b.make("add", (x, b.const(-y.value, width)), width) if y.op == "const" else None


def _mul(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if is_zero(y):
        return y
    return x if is_const(y, 1) else None


def _udiv(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    return args[0] if is_const(args[1], 1) else None


def _urem(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    return b.const(0, width) if is_const(args[1], 1) else args[0] if is_zero(args[1]) else None


def _shl(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, n = args
    if is_zero(x) or (n.op == "const" and n.value >= width):
        return b.const(0, width)
    if n.op != "const":
        return None
    return x if n.value == 0 else b.concat(b.extract(x, 0, width - n.value), b.const(0, n.value))


def _lshr(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, n = args
    if is_zero(x) or (n.op == "const" and n.value >= width):
        return b.const(0, width)
    return b.zext(b.extract(x, n.value, width - n.value), width) if n.op == "const" else None


def _ashr(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, n = args
    if n.op != "const":
        return None
    shift = min(n.value, width - 1)
    return b.sext(b.extract(x, shift, width - shift), width)


def _eq(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if x is y:
        return b.const(1, 1)
    if opposite(x, y):
        return b.const(0, 1)
    if y.op == "const" and x.width == 1:
        return x if y.value else b.not_(x)
    if x.op == y.op == "zext":
        bits = max(x.args[0].width, y.args[0].width)
        return b.eq(b.extract(x, 0, bits), b.extract(y, 0, bits)) if bits < x.width else None
    if y.op == "const" and x.op == "zext":
        inner = x.args[0]
        return b.eq(inner, b.const(y.value, inner.width)) if y.value <= mask(inner.width) else b.const(0, 1)
    return None


def _ult(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if x is y or is_zero(y) or is_ones(x):
        return b.const(0, 1)
    if is_const(y, 1):
        return b.eq(x, b.const(0, x.width))
    if is_zero(x):
        return b.not_(b.eq(y, x))
    if is_ones(y):
        return b.not_(b.eq(x, y))
    bits = max(x.args[0].width if x.op == "zext" else _bits(x), y.args[0].width if y.op == "zext" else _bits(y))
    return b.binary("ult", b.extract(x, 0, bits), b.extract(y, 0, bits)) if bits < x.width else None


def _bits(node: Node) -> int:
    """Bits that are not known to be 0."""
    return max(1, node.value.bit_length()) if node.op == "const" else node.width


def _slt(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    x, y = args
    if x is y:
        return b.const(0, 1)
    return b.extract(x, x.width - 1, 1) if is_zero(y) else None


def _mux(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    c, x, y = args
    if c.op == "const" or x is y:
        return x if is_const(c, 1) or x is y else y
    if c.op == "not":
        return b.mux(c.args[0], y, x)
    if x.op == "mux" and x.args[0] is c:
        return b.mux(c, x.args[1], y)
    if y.op == "mux" and y.args[0] is c:
        return b.mux(c, x, y.args[2])
    return _mux_bit(b, c, x, y) if width == 1 else _mux_parts(b, c, x, y)


def _mux_bit(b: Builder, c: Node, x: Node, y: Node) -> Node | None:
    """With a constant arm, or an arm that is the condition: `and`, `or`."""
    if is_const(x, 1) or x is c:
        return b.or_(c, y)
    if is_zero(x):
        return b.and_(b.not_(c), y)
    if is_zero(y) or y is c:
        return b.and_(c, x)
    return b.or_(b.not_(c), x) if is_const(y, 1) else None


def cuts(b: Builder, node: Node) -> list[int]:
    """Where its parts begin, the lowest (0) left out, rising."""
    if node.op == "zext":
        return [*cuts(b, node.args[0]), node.args[0].width]
    return b.begins(node)[1:] if node.op == "concat" else []


def _mux_parts(b: Builder, c: Node, x: Node, y: Node) -> Node | None:
    """Arms that agree in some of their parts: choose the others only."""
    where = sorted({*cuts(b, x), *cuts(b, y)})
    if not where:
        return None
    ranges = list(zip([0, *where], [*where, x.width], strict=True))
    pairs = [(b.extract(x, at, end - at), b.extract(y, at, end - at)) for at, end in ranges]
    if all(p is not q for p, q in pairs):
        return None
    return b.concat(*(b.mux(c, p, q) for p, q in _joined(b, x, y, ranges, pairs)))


def _joined(b: Builder, x: Node, y: Node, ranges: list[tuple[int, int]], pairs: list[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
    """Neighbours that differ become one pair again, unless both sides are made of parts there. From the highest down."""
    result: list[tuple[Node, Node]] = []
    shared = {*cuts(b, x)} & {*cuts(b, y)}
    at, end = ranges[0]
    for (start, stop), (p, q) in zip(ranges[1:], pairs[1:], strict=True):
        before = b.extract(x, at, end - at) is b.extract(y, at, end - at)
        if before or p is q or start in shared:
            result.append((b.extract(x, at, end - at), b.extract(y, at, end - at)))
            at = start
        end = stop
    result.append((b.extract(x, at, end - at), b.extract(y, at, end - at)))
    return result[::-1]


def _concat(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    if any(arg.op == "concat" for arg in args):
        return b.concat(*(part for arg in args for part in (arg.args if arg.op == "concat" else (arg,))))
    parts: list[Node] = []
    for arg in args:
        merged = _neighbours(b, parts[-1], arg) if parts else None
        if merged is not None:
            parts[-1] = merged
        else:
            parts.append(arg)
    if len(parts) == 1:
        return parts[0]
    if is_zero(parts[0]):
        return b.zext(b.concat(*parts[1:]), width)
    if parts[0].op == "zext":
        return b.zext(b.concat(parts[0].args[0], *parts[1:]), width)
    inner = [p for arg in parts for p in ((b.const(0, arg.width - arg.args[0].width), arg.args[0]) if arg.op == "zext" else (arg,))]
    return b.concat(*inner) if len(inner) != len(args) else None


def _neighbours(b: Builder, high: Node, low: Node) -> Node | None:
    """Two parts that are one: constants, or adjacent bits of one value."""
    if high.op == low.op == "const":
        return b.const(high.value << low.width | low.value, high.width + low.width)
    if high.op == low.op == "extract" and high.args[0] is low.args[0] and high.low == low.low + low.width:
        return b.extract(high.args[0], low.low, high.width + low.width)
    return None


def _extract(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    (a,) = args
    if width == a.width:
        return a
    match a.op:
        case "extract":
            return b.extract(a.args[0], a.low + low, width)
        case "concat":
            return _extract_concat(b, a, width, low)
        case "zext" | "sext":
            return _extract_extended(b, a, width, low)
        case "and" | "or" | "xor" | "not" | "mux" if b.depth < DEPTH:
            operands = a.args[1:] if a.op == "mux" else a.args
            if any(_is_part(b, operand, low, width) for operand in operands):
                b.depth += 1
                parts = [b.extract(operand, low, width) for operand in operands]
                b.depth -= 1
                return b.make(a.op, (*a.args[: len(a.args) - len(parts)], *parts), width)
    return None


def _is_part(b: Builder, node: Node, low: int, width: int) -> bool:
    """Whether bits of a node are a whole part of it, or constant."""
    if node.op == "zext":
        inner = node.args[0]
        return low >= inner.width or (low == 0 and width == inner.width) or _is_part(b, inner, low, width)
    if node.op != "concat":
        return node.op == "const"
    begins = b.begins(node)
    place = bisect_right(begins, low) - 1
    part = node.args[-1 - place]
    if part.op == "const":
        return low + width <= begins[place] + part.width
    return begins[place] == low and part.width == width


def _extract_concat(b: Builder, a: Node, width: int, low: int) -> Node:
    begins = b.begins(a)
    parts: list[Node] = []
    for place in range(bisect_right(begins, low) - 1, len(begins)):
        at, part = begins[place], a.args[-1 - place]
        if at >= low + width:
            break
        start = max(low, at)
        parts.append(b.extract(part, start - at, min(low + width, at + part.width) - start))
    return b.concat(*reversed(parts))


def _extract_extended(b: Builder, a: Node, width: int, low: int) -> Node:
    inner = a.args[0]
    if low + width <= inner.width:
        return b.extract(inner, low, width)
    if a.op == "sext":
        start = min(low, inner.width - 1)
        return b.sext(b.extract(inner, start, inner.width - start), width)
    return b.zext(b.extract(inner, low, inner.width - low), width) if low < inner.width else b.const(0, width)


def _zext(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    (a,) = args
    if a.width == width:
        return a
    return b.zext(a.args[0], width) if a.op == "zext" else None


def _sext(b: Builder, args: tuple[Node, ...], width: int, low: int) -> Node | None:
    (a,) = args
    if a.width == width:
        return a
    if a.op == "zext":
        return b.zext(a.args[0], width)
    return b.sext(a.args[0], width) if a.op == "sext" else None


RULES: dict[str, Rule] = {
    "and": _and, "or": _or, "xor": _xor, "not": _not, "add": _add, "sub": _sub, "mul": _mul, "udiv": _udiv, "urem": _urem,
    "shl": _shl, "lshr": _lshr, "ashr": _ashr, "eq": _eq, "ult": _ult, "slt": _slt, "mux": _mux, "concat": _concat,
    "extract": _extract, "zext": _zext, "sext": _sext,
}  # fmt: skip
