# SPDX-License-Identifier: Apache-2.0
"""Functions of one state as choices among sums: `x + k`, or what does not need x, chosen by comparisons of x alone.

Sums, differences, minima, maxima, clamped and guarded additions are such functions, and so is one of them behind another: a
comparison of `x + k` is one or two of `x` (an interval modulo 2^width), a sum of a sum is one sum. However many of them follow each
other, x goes through one comparison, or one addition beside it, and then only through multiplexers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from compiler.ir.build import Builder
from compiler.ir.ir import Node
from compiler.ir.operators import mask
from compiler.ir.rewrite import same

MOST_LEAVES = 12  # of a value


class NotPiecewise(Exception):
    """A function of another kind, or one with too many pieces: the text says what in it, for the report."""


@dataclass(frozen=True)
class Plain:
    """A value that does not need x; of one bit: any."""

    node: Node


@dataclass(frozen=True)
class Sum:
    """k + x, or k - x, modulo 2^bits of k; extended by zeros to `width`."""

    k: Node
    negative: bool
    width: int


@dataclass(frozen=True)
class Choice:
    """`a` where the condition, of one bit, holds; `b` where not."""

    condition: Node
    a: Value
    b: Value


Value = Plain | Sum | Choice


class Piecewise:
    """Functions of a state x: any of the nodes `states` in a function, `x` in what is made; never more than `bound`."""

    def __init__(self, b: Builder, states: Iterable[Node], x: Node, bound: int) -> None:
        self.b, self.x, self.bound = b, x, bound
        self._late: dict[Node, bool] = dict.fromkeys((*states, x), True)
        self._largest: dict[Node, int] = {}

    def identity(self) -> Value:
        """x itself."""
        return Sum(self.b.const(0, self.x.width), False, self.x.width)

    def is_late(self, node: Node) -> bool:
        """Whether a node needs x; not by way of an earlier iteration."""
        todo = [node]
        while todo:
            at = todo[-1]
            unknown = [arg for arg in at.args if arg not in self._late] if at.op != "ahead" and at not in self._late else []
            if unknown:
                todo += unknown
            else:
                todo.pop()
                if at not in self._late:
                    self._late[at] = at.op != "ahead" and any(self._late[arg] for arg in at.args)
        return self._late[node]

    def apply(self, function: Node, value: Value, lift: Callable[[Node], Node]) -> Value:
        """The function of another value of the state. `lift`: what stands in for a node that does not need the state."""
        done: dict[Node, Value] = {}
        todo = [function]
        while todo:
            node = todo[-1]
            if node in done:
                todo.pop()
                continue
            if not self.is_late(node):
                done[node] = Plain(lift(node))
            elif not node.args or node.op == "read":
                done[node] = value
            else:
                unknown = [arg for arg in node.args if arg not in done]
                if unknown:
                    todo += unknown
                    continue
                self.b.span, self.b.label = node.span, node.label
                done[node] = self._applied(node, [done[arg] for arg in node.args])
                if _leaves(done[node]) > MOST_LEAVES:
                    raise NotPiecewise(f"the composed update has more than {MOST_LEAVES} cases")
        return done[function]

    def node(self, value: Value) -> Node:
        """The value as nodes."""
        match value:
            case Plain(node):
                return node
            case Choice(condition, a, b):
                return self.b.mux(condition, self.node(a), self.node(b))
            case Sum(k, negative, width):
                x = self.b.resize(self.x, k.width)
                return self.b.zext(self.b.binary("sub", k, x) if negative else self.b.binary("add", x, k), width)

    # Operators

    def _applied(self, node: Node, args: list[Value]) -> Value:
        match node.op:
            case "mux":
                condition = self._bit(args[0])
                if node.width == 1:
                    return Plain(self.b.mux(condition, self._bit(args[1]), self._bit(args[2])))
                return self.choice(condition, args[1], args[2])
            case "add" | "sub" | "and" | "or" | "xor" | "eq" | "ult" | "slt":
                return self._each(lambda leaves: self._binary(node, leaves[0], leaves[1]), args)
            case "not" | "zext" | "sext" | "extract":
                return self._each(lambda leaves: self._unary(node, leaves[0]), args)
        return self._each(lambda leaves: self._plain(node, leaves), args)

    def _each(self, function: Callable[[list[Value]], Value], args: list[Value]) -> Value:
        """A function of leaves, of values."""
        at = next((i for i, arg in enumerate(args) if isinstance(arg, Choice)), None)
        if at is None:
            return function(args)
        chosen = args[at]
        assert isinstance(chosen, Choice)
        arms = (self._each(function, [*args[:at], arm, *args[at + 1 :]]) for arm in (chosen.a, chosen.b))
        return self._kept(chosen.condition, *arms)

    def _kept(self, condition: Node, a: Value, b: Value) -> Value:
        """A choice again; of bits, a bit."""
        if isinstance(a, Plain) and isinstance(b, Plain) and a.node.width == 1:
            return Plain(self.b.mux(condition, a.node, b.node))
        return self.choice(condition, a, b)

    def _bit(self, value: Value) -> Node:
        if isinstance(value, Choice):
            return self.b.mux(value.condition, self._bit(value.a), self._bit(value.b))
        if isinstance(value, Plain):
            return value.node
        raise NotPiecewise("a sum of the state is used as a condition")

    def _plain(self, node: Node, leaves: list[Value]) -> Value:
        nodes = [leaf.node for leaf in leaves if isinstance(leaf, Plain)]
        if len(nodes) != len(leaves) or any(n.width > 1 and self.is_late(n) for n in nodes):
            raise NotPiecewise(f"'{node.op}' of the state is not a sum, comparison or choice")
        if node.op in ("and", "or") and node.width == 1:
            free, late = sorted(nodes, key=self.is_late)
            return Plain((self._and if node.op == "and" else self._or)(free, late))
        made = same(self.b, node, nodes)
        return self._extended(made) if made.width > 1 and self.is_late(made) else Plain(made)

    def _extended(self, made: Node) -> Value:
        """Of a bit that needs the state, several."""
        if made.op not in ("zext", "sext") or made.args[0].width > 1:
            raise NotPiecewise(f"'{made.op}' of a value that the state selects")
        ones = self.b.const(1 if made.op == "zext" else -1, made.width)
        return Choice(made.args[0], Plain(ones), Plain(self.b.const(0, made.width)))

    def _unary(self, node: Node, leaf: Value) -> Value:
        if not isinstance(leaf, Sum):
            return self._plain(node, [leaf])
        width = leaf.k.width
        if node.op == "zext":
            return self._unwrapped(leaf, node.width)
        if node.op == "sext":
            return self._signed(leaf, node.width)
        if node.op == "not" and leaf.width == width:
            return Sum(self.b.make("not", (leaf.k,), width), not leaf.negative, width)
        if node.op == "extract" and node.low == 0:
            return Sum(self.b.extract(leaf.k, 0, min(width, node.width)), leaf.negative, node.width)
        if node.op == "extract" and node.low == width - 1 and node.width == 1:  # the sign: one difference, however composed
            return Plain(self.b.extract(self.node(leaf), node.low, 1))
        raise NotPiecewise(f"'{node.op}' of the state is not a sum, comparison or choice")

    def _signed(self, leaf: Sum, width: int) -> Value:
        """Extended by its sign: by zeros what is moved to begin at the least, and moved back."""
        b, bits = self.b, leaf.k.width
        if leaf.width > bits:
            return Sum(leaf.k, leaf.negative, width)
        half = 1 << (bits - 1)
        if self._greatest(leaf) < half:
            return self._unwrapped(leaf, width)
        moved = self._unwrapped(Sum(b.binary("add", leaf.k, b.const(half, bits)), leaf.negative, bits), width)
        return self._each(lambda leaves: self._sum(True, *leaves), [moved, Plain(b.const(half, width))])

    def _unwrapped(self, leaf: Sum, width: int) -> Value:
        """Extended by zeros; as a wider sum where it cannot wrap."""
        if leaf.width == leaf.k.width >= self.x.width and self._fits(leaf):
            return Sum(self.b.zext(leaf.k, width), False, width)
        return Sum(leaf.k, leaf.negative, width)

    def _split(self, leaf: Sum) -> Value:
        """A sum without extension behind it: whether it wraps becomes a choice."""
        b, bits = self.b, leaf.k.width
        if leaf.width == bits:
            return leaf
        if leaf.negative or bits < self.x.width:
            raise NotPiecewise("a sum of part of the state")
        k = b.zext(leaf.k, leaf.width)
        less = b.binary("sub", k, b.const(1 << bits, leaf.width))
        minus = b.binary("sub", b.const(0, bits), leaf.k)
        wraps = self._interval(minus, b.const(0, bits))
        return Choice(wraps, Sum(less, False, leaf.width), Sum(k, False, leaf.width))

    def _binary(self, node: Node, a: Value, b: Value) -> Value:
        if isinstance(a, Plain) and isinstance(b, Plain):
            return self._plain(node, [a, b])
        if node.op in ("add", "sub"):
            return self._sum(node.op == "sub", a, b)
        if node.op in ("and", "or", "xor"):
            raise NotPiecewise(f"'{node.op}' of the state is not a sum, comparison or choice")
        if isinstance(a, Sum) and isinstance(b, Sum):
            raise NotPiecewise("two sums of the state are compared")
        return Plain(self._compared(node.op, a, b))

    def _sum(self, minus: bool, a: Value, b: Value) -> Value:
        for at, leaf in enumerate((a, b)):
            if isinstance(leaf, Sum) and leaf.width != leaf.k.width:
                return self._each(
                    lambda leaves: self._sum(minus, leaves[0], leaves[1]),
                    [self._split(leaf), b] if at == 0 else [a, self._split(leaf)],
                )
        op = "sub" if minus else "add"
        if isinstance(a, Sum) and isinstance(b, Sum):
            if (a.negative == b.negative) != minus:
                raise NotPiecewise("a multiple of the state is not a sum")
            return Plain(self.b.binary(op, a.k, b.k))
        if isinstance(a, Sum) and isinstance(b, Plain):
            return Sum(self.b.binary(op, a.k, b.node), a.negative, a.width)
        assert isinstance(a, Plain) and isinstance(b, Sum)
        return Sum(self.b.binary(op, a.node, b.k), b.negative != minus, b.width)

    # Comparisons

    def _compared(self, op: str, a: Value, b: Value) -> Node:
        """Of a sum with what does not need the state."""
        leaf, is_left = (a, True) if isinstance(a, Sum) else (b, False)
        other = b if is_left else a
        assert isinstance(leaf, Sum) and isinstance(other, Plain)
        make, t, bits, width = self.b, other.node, leaf.k.width, leaf.width
        if op == "slt":
            sign = make.const(1 << (width - 1), width)
            if width == bits:
                flipped = Sum(make.binary("add", leaf.k, sign), leaf.negative, width)
                return self._below(flipped, make.binary("xor", t, sign), is_left)
            negative = make.extract(t, width - 1, 1)  # and the leaf is not
            if is_left:
                return self._below(leaf, make.mux(negative, make.const(0, width), t), True)
            return make.or_(negative, self._below(leaf, t, False))
        if op == "ult":
            return self._below(leaf, t, is_left)
        low = make.extract(t, 0, bits)
        target = make.binary("sub", leaf.k, low) if leaf.negative else make.binary("sub", low, leaf.k)
        return self._is(target, self._outside(t, bits))

    def _below(self, leaf: Sum, t: Node, is_left: bool) -> Node:
        """leaf < t, or t < leaf."""
        b, bits = self.b, leaf.k.width
        if leaf.width == bits and self._fits(leaf):
            k, wide = b.zext(leaf.k, bits + 1), b.zext(t, bits + 1)
            if not is_left:
                wide = b.binary("add", wide, b.const(1, bits + 1))
            enough = b.not_(b.make("ult", (wide, k), 1))
            found = self._less(b.mux(enough, b.binary("sub", wide, k), b.const(0, bits + 1)), bits)
            return found if is_left else b.not_(found)
        outside, low, zero = self._outside(t, bits), b.extract(t, 0, bits), b.const(0, bits)
        if is_left:
            return b.binary("xor", self._between(leaf, zero, b.mux(outside, zero, low)), outside)
        return self._between(leaf, b.mux(outside, zero, b.binary("add", low, b.const(1, bits))), zero)

    def _outside(self, t: Node, bits: int) -> Node:
        """Whether t is 2^bits or more."""
        if t.width == bits:
            return self.b.const(0, 1)
        high = self.b.extract(t, bits, t.width - bits)
        return self.b.not_(self.b.eq(high, self.b.const(0, high.width)))

    def _between(self, leaf: Sum, low: Node, high: Node) -> Node:
        """Whether the sum is in [low, high), modulo 2^bits; not where low is high."""
        b = self.b
        if leaf.negative:
            one = b.const(1, leaf.k.width)
            up = b.binary("add", leaf.k, one)
            return self._interval(b.binary("sub", up, high), b.binary("sub", up, low))
        return self._interval(b.binary("sub", low, leaf.k), b.binary("sub", high, leaf.k))

    def _interval(self, low: Node, high: Node) -> Node:
        """Whether x is in [low, high), modulo 2^bits; not where low is high."""
        b, bits = self.b, low.width
        both = b.binary("xor", self._less(high, bits), self._less(low, bits))
        return b.binary("xor", both, b.make("ult", (high, low), 1))

    def _less(self, t: Node, bits: int) -> Node:
        """Whether the low `bits` of x (all of it, where it has no more) are less than t."""
        b = self.b
        x = b.extract(self.x, 0, min(bits, self.x.width))
        if t.width <= x.width:
            return b.make("ult", (x, b.zext(t, x.width)), 1)
        whole = b.const(1 << x.width, x.width + 1)
        capped = b.mux(self._outside(t, x.width), whole, b.resize(t, x.width + 1))
        return b.make("ult", (b.zext(x, x.width + 1), capped), 1)

    def _is(self, t: Node, never: Node) -> Node:
        """x == t and not `never`."""
        b, bits = self.b, min(self.x.width, t.width)
        if t.width <= self.x.width and never.op == "const":
            return b.and_(b.eq(b.extract(self.x, 0, bits), t), b.not_(never))
        x = b.zext(b.extract(self.x, 0, bits), bits + 1)
        target = b.extract(t, 0, bits)
        outside = b.or_(never, self._outside(t, bits))
        return b.eq(x, b.concat(outside, target))

    def _fits(self, leaf: Sum) -> bool:
        """Whether the sum cannot wrap."""
        return self._greatest(leaf) <= mask(leaf.k.width)

    def _greatest(self, leaf: Sum) -> int:
        """No value of the sum is greater, where it is less than 2^bits of k."""
        return 1 << leaf.k.width if leaf.negative else self.largest(leaf.k) + min(self.bound, mask(leaf.k.width))

    def largest(self, node: Node) -> int:
        """No value of the node is larger."""
        found = self._largest.get(node)
        if found is None:
            found = self._largest[node] = min(mask(node.width), self._bound(node))
        return found

    def _bound(self, node: Node) -> int:
        match node.op:
            case "const":
                return node.value
            case "zext" | "ahead":
                return self.largest(node.args[0])
            case "extract" if node.low == 0:
                return self.largest(node.args[0])
            case "sext" if self.largest(node.args[0]) <= mask(node.args[0].width - 1):
                return self.largest(node.args[0])
            case "concat":
                total = 0
                for arg in node.args:
                    total = (total << arg.width) + self.largest(arg)
                return total
            case "mux":
                return max(self.largest(arg) for arg in node.args[1:])
            case "add":
                return sum(self.largest(arg) for arg in node.args)
            case "and":
                return min(self.largest(arg) for arg in node.args)
        return mask(node.width)

    # Choices

    def choice(self, condition: Node, a: Value, b: Value) -> Value:
        """With what does not need the state decided in the sums and limits, where that is possible."""
        if condition.op == "const":
            return a if condition.value else b
        if a == b:
            return a
        return Choice(condition, a, b) if self.is_late(condition) else self._merged(condition, a, b)

    def _merged(self, condition: Node, a: Value, b: Value) -> Value:
        """A choice by what does not need the state."""
        alike = self._alike(condition, a, b)
        if alike is not None:
            return alike
        other = self.b.not_(condition)
        for chosen, rest, when in ((a, b, condition), (b, a, other)):
            if isinstance(chosen, Choice):
                second, first = self._alike(when, chosen.b, rest), self._alike(when, chosen.a, rest)
                if second is not None:
                    return Choice(self._and(when, chosen.condition), chosen.a, second)
                if first is not None:
                    return Choice(self._or(self.b.not_(when), chosen.condition), first, chosen.b)
        for chosen, rest, when in ((a, b, condition), (b, a, other)):
            if isinstance(chosen, Choice) and not isinstance(rest, Choice):
                return Choice(self._and(when, chosen.condition), chosen.a, self._merged(when, chosen.b, rest))
        return Choice(condition, a, b)

    def _alike(self, condition: Node, a: Value, b: Value) -> Value | None:
        """One of two values that differ only in numbers."""
        if isinstance(a, Plain) and isinstance(b, Plain):
            return Plain(self.b.mux(condition, a.node, b.node))
        if isinstance(a, Sum) and isinstance(b, Sum) and (a.negative, a.width, a.k.width) == (b.negative, b.width, b.k.width):
            return Sum(self.b.mux(condition, a.k, b.k), a.negative, a.width)
        if isinstance(a, Choice) and isinstance(b, Choice) and a.condition is b.condition:
            first, second = self._alike(condition, a.a, b.a), self._alike(condition, a.b, b.b)
            return None if first is None or second is None else Choice(a.condition, first, second)
        return None

    def _and(self, free: Node, late: Node) -> Node:
        """Into the limit of a comparison, where there is one."""
        b = self.b
        if self.is_late(free) or not self.is_late(late):
            return b.and_(free, late)
        if late.op == "mux":
            return b.mux(late.args[0], *(self._and(free, arm) for arm in late.args[1:]))
        if late.op == "not" and late.args[0].op == "mux":
            return b.not_(self._or(b.not_(free), late.args[0]))
        if late.op == "ult" and not self.is_late(late.args[1]):
            x, limit = late.args
            return b.make("ult", (x, b.mux(free, limit, b.const(0, limit.width))), 1)
        if late.op == "not" and late.args[0].op == "ult" and not self.is_late(late.args[0].args[1]):
            x, limit = late.args[0].args
            if x.op != "zext":
                x, limit = b.zext(x, x.width + 1), b.zext(limit, x.width + 1)
            return b.not_(b.make("ult", (x, b.mux(free, limit, b.const(mask(limit.width), limit.width))), 1))
        return b.and_(free, late)

    def _or(self, free: Node, late: Node) -> Node:
        if self.is_late(free) or not self.is_late(late):
            return self.b.or_(free, late)
        if late.op == "mux":
            return self.b.mux(late.args[0], *(self._or(free, arm) for arm in late.args[1:]))
        return self.b.not_(self._and(self.b.not_(free), self.b.not_(late)))


def _leaves(value: Value) -> int:
    return _leaves(value.a) + _leaves(value.b) if isinstance(value, Choice) else 1
