# SPDX-License-Identifier: Apache-2.0
"""Products and quotients with constants: shifts and few additions, or a product with the reciprocal (Granlund, Montgomery 1994)."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node
from compiler.ir.rewrite import rewrite, same
from compiler.passes.narrow import Extents

MOST_DIGITS = 3  # non-zero digits of a factor that is cheaper as additions


def run(element: ElementIr) -> ElementIr:
    """Every product, quotient and remainder with a constant."""
    return rewrite(element, _remake)


def _remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
    made = same(b, node, args)
    if made.op not in ("mul", "udiv", "urem", "sdiv", "srem") or made.args[1].op != "const":
        return made
    x, constant = made.args
    value, width = constant.value, made.width
    match made.op:
        case "mul":
            return _multiplied(b, x, value) or made
        case "udiv" if value:
            return _quotient(b, x, value)
        case "urem" if value:
            return _remainder(b, x, value, _quotient(b, x, value))
        case "sdiv" | "srem" if 0 < value < 1 << (width - 1):
            quotient = _signed_quotient(b, x, value)
            return quotient if made.op == "sdiv" else b.binary("sub", x, _product(b, quotient, value))
    return made


def digits(value: int) -> list[tuple[int, int]]:
    """Canonical signed digits: (sign, place), the fewest that sum to the value."""
    found, place = [], 0
    while value:
        if value & 1:
            sign = 2 - (value & 3)
            found.append((sign, place))
            value -= sign
        value >>= 1
        place += 1
    return found


def _shifted(b: Builder, x: Node, places: int) -> Node:
    return b.binary("shl", x, b.const(places, 32))


def _multiplied(b: Builder, x: Node, value: int) -> Node | None:
    """By additions, where they are few. Digits behind the width fall away."""
    terms = [(sign, place) for sign, place in digits(value) if place < x.width]
    if len(terms) > MOST_DIGITS:
        return None
    result: Node | None = None
    for sign, place in sorted(terms, reverse=True):
        term = _shifted(b, x, place)
        if result is None:
            result = term if sign > 0 else b.binary("sub", b.const(0, x.width), term)
        else:
            result = b.binary("add" if sign > 0 else "sub", result, term)
    return result


def _product(b: Builder, x: Node, value: int) -> Node:
    return _multiplied(b, x, value) or b.binary("mul", x, b.const(value, x.width))


def _quotient(b: Builder, x: Node, value: int) -> Node:
    """x / value, unsigned: exact for every x, as the reciprocal has a bit more than x. Bits of x that are 0 do not count."""
    bits = Extents().of(x, False)
    if bits < x.width:
        return b.zext(_quotient(b, b.extract(x, 0, bits), value), x.width) if value >> bits == 0 else b.const(0, x.width)
    places = value.bit_length() - 1
    if value == 1 << places:
        return b.binary("lshr", x, b.const(places, 32))
    shift = x.width + places + 1
    reciprocal = (1 << shift) // value + 1
    wide = x.width + reciprocal.bit_length()
    product = b.binary("mul", b.zext(x, wide), b.const(reciprocal, wide))
    return b.resize(b.extract(product, shift, wide - shift), x.width)


def _remainder(b: Builder, x: Node, value: int, quotient: Node) -> Node:
    if value & (value - 1) == 0:
        return b.binary("and", x, b.const(value - 1, x.width))
    return b.binary("sub", x, _product(b, quotient, value))


def _signed_quotient(b: Builder, x: Node, value: int) -> Node:
    """Of the magnitude, with the sign behind: rounds to zero."""
    negative = b.extract(x, x.width - 1, 1)
    zero = b.const(0, x.width)
    magnitude = b.mux(negative, b.binary("sub", zero, x), x)
    quotient = _quotient(b, magnitude, value)
    return b.mux(negative, b.binary("sub", zero, quotient), quotient)
