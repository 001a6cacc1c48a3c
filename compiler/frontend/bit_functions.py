# SPDX-License-Identifier: Apache-2.0
"""`min`, `max`, `popcount` and `clz` as functions of the typed tree, one for each type: all targets agree on them by construction.

`popcount` and `clz` are trees of the depth log2(bits), so that hardware has no chain.
"""

from __future__ import annotations

import functools

from compiler.frontend import typed
from compiler.frontend.resolve import BUILT_IN


@functools.cache
def extreme(name: str, operator: str, kind: typed.Integer) -> typed.Function:
    """The one of two values for which `value operator other`, by the sign of their type."""
    left, right = (typed.Variable(variable, kind, BUILT_IN) for variable in "ab")
    one, two = (typed.Load(typed.Place(variable, (), BUILT_IN), BUILT_IN) for variable in (left, right))
    chosen = typed.Conditional(typed.Binary(operator, one, two, typed.BOOL, BUILT_IN), one, two, kind, BUILT_IN)
    return _function(name, (left, right), chosen)


@functools.cache
def popcount(bits: int) -> typed.Function:
    """How many of the bits are 1."""
    variable = typed.Variable("x", typed.Integer(bits), BUILT_IN)

    def count(low: int, width: int) -> typed.Expression:
        if width == 1:
            return _bits(variable, low, 1)
        half, kind = width // 2, count_type(width)
        return typed.Binary("+", _widened(count(low + half, width - half), kind), _widened(count(low, half), kind), kind, BUILT_IN)

    return _function("popcount", (variable,), count(0, bits))


@functools.cache
def leading_zeros(bits: int) -> typed.Function:
    """How many zeros stand above the highest 1; `bits` where there is none."""
    variable = typed.Variable("x", typed.Integer(bits), BUILT_IN)

    def count(low: int, width: int) -> typed.Expression:
        kind = count_type(width)
        if width == 1:
            return typed.Binary("^", _bits(variable, low, 1), typed.Constant(1, kind, BUILT_IN), kind, BUILT_IN)
        half = 1 << (width - 1).bit_length() - 1
        upper = _bits(variable, low + half, width - half)
        is_above = typed.Binary("!=", upper, typed.Constant(0, upper.type, BUILT_IN), typed.BOOL, BUILT_IN)
        rest = _widened(count(low, half), kind)
        behind = typed.Binary("+", typed.Constant(width - half, kind, BUILT_IN), rest, kind, BUILT_IN)
        return typed.Conditional(is_above, _widened(count(low + half, width - half), kind), behind, kind, BUILT_IN)

    return _function("clz", (variable,), count(0, bits))


def count_type(bits: int) -> typed.Integer:
    """Of a number of bits, 0 to `bits`."""
    return typed.Integer(bits.bit_length())


def _function(name: str, parameters: tuple[typed.Variable, ...], value: typed.Expression) -> typed.Function:
    body = typed.Block((typed.Return(value, BUILT_IN),))
    return typed.Function(name, parameters, value.type, body, BUILT_IN)


def _bits(variable: typed.Variable, low: int, width: int) -> typed.Load:
    whole = variable.type.bits == width
    steps = () if whole else (typed.Slice(low, typed.Integer(width)),)
    return typed.Load(typed.Place(variable, steps, BUILT_IN), BUILT_IN)


def _widened(value: typed.Expression, kind: typed.Integer) -> typed.Expression:
    return value if value.type == kind else typed.Cast(value, kind, BUILT_IN)
