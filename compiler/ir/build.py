# SPDX-License-Identifier: Apache-2.0
"""Makes nodes: equal ones once, and simplified by what holds at one node (`compiler/ir/local.py`).

Lowering and every pass make their nodes here, so that equal values are one object and comparing is `is`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from compiler.frontend.source import Span
from compiler.ir import local
from compiler.ir.ir import Node
from compiler.ir.operators import mask

NAMED = frozenset({"read", "lookup", "insert", "remove", "place"})  # of a memory or a table


class Builder:
    """A pool of nodes. `span` and `label` go into the nodes that are new."""

    def __init__(self) -> None:
        self.span: Span | None = None
        self.label = ""
        self.depth = 0  # of operators that a part of a value has been looked for in
        self._made: dict[tuple[str, tuple[Node, ...], int, int], Node] = {}  # what was asked for, and what it became
        self._begins: dict[Node, list[int]] = {}
        self._pool: dict[tuple[object, ...], Node] = {}

    def make(self, op: str, args: Sequence[Node], width: int, *, value: int = 0, low: int = 0, name: str = "") -> Node:
        """The node, or a simpler one that is equal to it."""
        if not args or op in NAMED:
            return self.exact(op, args, width, value=value, low=low, name=name)
        key = (op, tuple(args), width, low)
        known = self._made.get(key)
        if known is None:
            found = local.simplify(self, op, key[1], width, low)
            known = found if found is not None else self.exact(op, args, width, low=low)
            if self.depth == 0:
                self._made[key] = known
        return known

    def exact(self, op: str, args: Sequence[Node], width: int, *, value: int = 0, low: int = 0, name: str = "") -> Node:
        """The node as it is asked for."""
        key = (op, tuple(map(id, args)), width, value, low, name)
        node = self._pool.get(key)
        if node is None:
            node = Node(op, tuple(args), width, value, low, name, self.label, self.span)
            self._pool[key] = node
        return node

    def adopt(self, node: Node) -> None:
        """Take a node that was made elsewhere, as its arguments were: it is the one that stands for its like from now on."""
        key = (node.op, tuple(map(id, node.args)), node.width, node.value, node.low, node.name)
        self._pool.setdefault(key, node)

    def begins(self, concat: Node) -> list[int]:
        """The lowest bit of every part of a `concat`, from the lowest part on."""
        found = self._begins.get(concat)
        if found is None:
            found = self._begins[concat] = [0, *accumulate(part.width for part in reversed(concat.args[1:]))]
        return found

    def const(self, value: int, width: int) -> Node:
        return self.exact("const", (), width, value=value & mask(width))

    def binary(self, op: str, a: Node, b: Node) -> Node:
        """Any operator of two arguments."""
        return self.make(op, (a, b), 1 if op in ("eq", "ult", "slt") else a.width)

    def eq(self, a: Node, b: Node) -> Node:
        return self.make("eq", (a, b), 1)

    def not_(self, a: Node) -> Node:
        return self.make("not", (a,), a.width)

    def and_(self, *args: Node) -> Node:
        """Of one or more."""
        result = args[0]
        for arg in args[1:]:
            result = self.make("and", (result, arg), result.width)
        return result

    def or_(self, *args: Node) -> Node:
        """Of one or more."""
        result = args[0]
        for arg in args[1:]:
            result = self.make("or", (result, arg), result.width)
        return result

    def mux(self, condition: Node, a: Node, b: Node) -> Node:
        return self.make("mux", (condition, a, b), a.width)

    def concat(self, *parts: Node) -> Node:
        """High part first; parts of no bits are not there."""
        return self.make("concat", parts, sum(part.width for part in parts))

    def extract(self, a: Node, low: int, width: int) -> Node:
        return self.make("extract", (a,), width, low=low)

    def zext(self, a: Node, width: int) -> Node:
        return self.make("zext", (a,), width)

    def sext(self, a: Node, width: int) -> Node:
        return self.make("sext", (a,), width)

    def resize(self, a: Node, width: int, is_signed: bool = False) -> Node:
        """Cut, or extend."""
        if width <= a.width:
            return self.extract(a, 0, width)
        return self.sext(a, width) if is_signed else self.zext(a, width)

    def insert(self, whole: Node, low: int, part: Node) -> Node:
        """`whole` with its bits from `low` on replaced."""
        high = low + part.width
        pieces = [self.extract(whole, high, whole.width - high)] if high < whole.width else []
        pieces.append(part)
        if low:
            pieces.append(self.extract(whole, 0, low))
        return self.concat(*pieces)

    def select(self, index: Node, entries: Sequence[Node]) -> Node:
        """`entries[index]`, 0 outside: a tree of mux over the index's bits."""
        zero = self.const(0, entries[0].width)
        level = list(entries)
        bit = 0
        while len(level) > 1:
            if bit == index.width:
                level = level[:1]
                break
            choose = self.extract(index, bit, 1)
            level = [self.mux(choose, level[i + 1] if i + 1 < len(level) else zero, level[i]) for i in range(0, len(level), 2)]
            bit += 1
        if bit >= index.width:
            return level[0]
        rest = self.extract(index, bit, index.width - bit)
        return self.mux(self.eq(rest, self.const(0, rest.width)), level[0], zero)
