# SPDX-License-Identifier: Apache-2.0
"""Operators that alone take longer than a stage become several shorter ones, between which the schedule may put registers.

Sums, differences and comparisons are cut in two, with the carry between; a product is made of products of 16 bits, what a DSP
block takes, or, where that is too slow and it is a small one, of the sums of its rows; a quotient is the restoring division, one
bit a step; a shift is a choice for each bit of its amount. Each has the meaning of the IR's operator for all operands, division
by 0 included.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node
from compiler.ir.rewrite import rewrite, same
from compiler.passes.narrow import Extents
from compiler.schedule.delays import Delays

DIGIT = 16  # bits of a factor: measured, as DSP blocks have 18
LEAST = 8  # bits of a half
MOST_ROWS = 512  # bits of all rows of a product that is made of sums: as many LUTs, where a DSP block is too slow


PRODUCTS = frozenset({"mul", "udiv", "sdiv", "urem", "srem"})


def run(element: ElementIr, table: Delays, budget: float, only: frozenset[str] | None = None) -> ElementIr:
    """The element with no operator of more than `budget` ns that can be cut, of some kinds or of all."""
    parts = Parts(table, budget)

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        return parts.remake(b, node, args) if only is None or node.op in only else same(b, node, args)

    return rewrite(element, remake)


class Parts:
    """Cuts operators; `budget`: ns that one of them may take."""

    def __init__(self, table: Delays, budget: float) -> None:
        self.table, self.budget = table, budget

    def remake(self, b: Builder, node: Node, args: Sequence[Node]) -> Node:
        """The node of new arguments, cut where it is too long."""
        made = same(b, node, args)
        if not made.args or self.table.of(made) <= self.budget:
            return made
        match made.op:
            case "add" | "sub":
                return self._sum(b, made)
            case "ult" | "slt":
                return self._less(b, made)
            case "eq":
                return self._equal(b, made)
            case "mul":
                return self._product(b, made)
            case "udiv":
                return self._divided(b, *made.args)[0]
            case "urem":
                return self._divided(b, *made.args)[1]
            case "sdiv" | "srem":
                return self._signed_division(b, made)
            case "shl" | "lshr" | "ashr":
                return self._shift(b, made)
        return made

    def _binary(self, b: Builder, op: str, x: Node, y: Node) -> Node:
        """An operator that is cut again where it is still too long."""
        made = b.binary(op, x, y)
        return self.remake(b, made, made.args)

    def _low_bits(self, made: Node) -> int:
        """Of operands cut in two, the bits of the low part: as many as fit, at most half; 0 where cutting does not help."""
        entry, width = self.table.table[made.op], made.args[0].width
        half = width // 2
        fitting = int((self.budget - entry["base"]) / entry["linear"]) - 1 if entry.get("linear") else half
        return min(half, fitting) if min(half, fitting) >= LEAST else 0

    def _sum(self, b: Builder, made: Node) -> Node:
        """The low half with its carry; the high half waits for one bit."""
        x, y = made.args
        low = self._low_bits(made)
        if not low:
            return made
        rest = made.width - low
        lower = self._binary(b, made.op, b.zext(b.extract(x, 0, low), low + 1), b.zext(b.extract(y, 0, low), low + 1))
        upper = self._binary(b, made.op, b.extract(x, low, rest), b.extract(y, low, rest))
        upper = self._binary(b, made.op, upper, b.zext(b.extract(lower, low, 1), rest))
        return b.concat(upper, b.extract(lower, 0, low))

    def _less(self, b: Builder, made: Node) -> Node:
        """The high halves, and the low ones where those are equal."""
        x, y = made.args
        low = self._low_bits(made)
        if not low:
            return made
        rest = x.width - low
        high = b.extract(x, low, rest), b.extract(y, low, rest)
        less = self._binary(b, "ult", b.extract(x, 0, low), b.extract(y, 0, low))
        return b.or_(self._binary(b, made.op, *high), b.and_(self._binary(b, "eq", *high), less))

    def _equal(self, b: Builder, made: Node) -> Node:
        x, y = made.args
        low = self._low_bits(made)
        if not low:
            return made
        halves = [(b.extract(x, at, bits), b.extract(y, at, bits)) for at, bits in ((low, x.width - low), (0, low))]
        return b.and_(*(self._binary(b, "eq", *half) for half in halves))

    def _product(self, b: Builder, made: Node) -> Node:
        """Products of digits, those of one weight side by side, added in a tree; then what the signs take away."""
        width, factors = made.width, [_Factor(b, x) for x in made.args]
        if not any(factor.sign for factor in factors) and factors[0].bits * factors[1].bits <= MOST_ROWS:
            return b.resize(self._rows(b, *sorted((factor.low for factor in factors), key=lambda low: low.width)), width)
        if max(len(factor.digits) for factor in factors) == 1 and not any(factor.sign for factor in factors):
            return made
        terms = []
        for i, one in enumerate(factors[0].digits):
            for j, other in enumerate(factors[1].digits):
                if (at := DIGIT * (i + j)) < width:
                    bits = min(one.width + other.width, width - at)
                    terms.append(_at(b, b.binary("mul", b.resize(one, bits), b.resize(other, bits)), at, width))
        total = self._total(b, terms)
        x, y = factors
        for factor, other in ((x, made.args[1]), (y, x.low)):  # a negative one is its low bits less 2 ** bits
            if factor.sign is not None and factor.bits < width:
                less = b.mux(factor.sign, b.resize(other, width), b.const(0, width))
                total = self._binary(b, "sub", total, _at(b, less, factor.bits, width))
        return total

    def _rows(self, b: Builder, x: Node, y: Node) -> Node:
        """The product of `y` with each bit of `x`, added in a tree; a sum is no wider than it must be."""
        zero = b.const(0, y.width)
        rows = [(at, b.mux(b.extract(x, at, 1), y, zero)) for at in range(x.width)]  # what is worth 2 ** at
        while len(rows) > 1:
            pairs = [rows[n : n + 2] for n in range(0, len(rows), 2)]
            rows = [self._joined(b, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return rows[0][1]

    def _joined(self, b: Builder, one: tuple[int, Node], other: tuple[int, Node]) -> tuple[int, Node]:
        (at, low), (above, high) = one, other
        apart = above - at
        rest = b.extract(low, apart, low.width - apart)
        bits = max(rest.width, high.width) + 1
        return at, b.concat(self._binary(b, "add", b.resize(rest, bits), b.resize(high, bits)), b.extract(low, 0, apart))

    def _total(self, b: Builder, terms: Sequence[Node]) -> Node:
        while len(terms) > 1:
            pairs = [terms[n : n + 2] for n in range(0, len(terms), 2)]
            terms = [self._binary(b, "add", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return terms[0]

    def _divided(self, b: Builder, x: Node, y: Node) -> tuple[Node, Node]:
        """Quotient and remainder, unsigned: a bit of the quotient a step, from the highest on (restoring division)."""
        width, bits, size = x.width, _bits(x), _bits(y)
        divisor = b.zext(b.extract(y, 0, size), size + 1)
        rest = b.const(0, size)  # less than the divisor, or that is 0
        digits = []
        for at in reversed(range(bits)):
            grown = b.concat(rest, b.extract(x, at, 1))
            less = self._binary(b, "sub", grown, divisor)
            fits = b.not_(b.extract(less, size, 1))
            rest = b.extract(b.mux(fits, less, grown), 0, size)
            digits.append(fits)
        by_zero = self._binary(b, "eq", y, b.const(0, width))
        return b.mux(by_zero, b.const(-1, width), b.resize(b.concat(*digits), width)), b.mux(by_zero, x, b.resize(rest, width))

    def _signed_division(self, b: Builder, made: Node) -> Node:
        """Of the magnitudes, with the sign behind."""
        x, y = made.args
        zero = b.const(0, made.width)
        signs = [b.extract(arg, made.width - 1, 1) for arg in (x, y)]
        sizes = [b.mux(sign, self._binary(b, "sub", zero, arg), arg) for sign, arg in zip(signs, (x, y), strict=True)]
        quotient, rest = self._divided(b, sizes[0], sizes[1])
        if made.op == "srem":
            return b.mux(signs[0], self._binary(b, "sub", zero, rest), rest)
        signed = b.mux(b.binary("xor", *signs), self._binary(b, "sub", zero, quotient), quotient)
        return b.mux(self._binary(b, "eq", y, zero), b.const(-1, made.width), signed)

    def _shift(self, b: Builder, made: Node) -> Node:
        """By each bit of the amount, the widest first; bits of the amount beyond the width shift everything out."""
        x, amount = made.args
        if amount.op == "const":
            return made
        sign = b.extract(x, x.width - 1, 1)
        gone = b.sext(sign, x.width) if made.op == "ashr" else b.const(0, x.width)
        known = min(amount.width, (x.width - 1).bit_length())
        value = x
        for bit in reversed(range(known)):
            value = b.mux(b.extract(amount, bit, 1), b.binary(made.op, value, b.const(1 << bit, 32)), value)
        if known == amount.width:
            return value
        rest = b.extract(amount, known, amount.width - known)
        return b.mux(self._binary(b, "eq", rest, b.const(0, rest.width)), value, gone)


class _Factor:
    """A factor: its `low` bits, and the `digits` of them, the lowest first; where `sign` extended it, without the extension."""

    def __init__(self, b: Builder, factor: Node) -> None:
        is_signed = factor.op == "sext"
        x = factor.args[0] if is_signed else factor
        self.bits = x.width if is_signed else _bits(x)
        self.low = b.extract(x, 0, self.bits)
        self.sign = b.extract(x, x.width - 1, 1) if is_signed else None
        self.digits = [b.extract(x, at, min(DIGIT, self.bits - at)) for at in range(0, self.bits, DIGIT)]


def _bits(x: Node) -> int:
    """Low bits of a value that need not be 0."""
    return max(1, min(x.width, Extents().of(x, False)))


def _at(b: Builder, x: Node, low: int, width: int) -> Node:
    """A value of `width` bits with those of `x` from `low` on."""
    return b.resize(b.concat(x, b.const(0, low)) if low else x, width)
