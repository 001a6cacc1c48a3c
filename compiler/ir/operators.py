# SPDX-License-Identifier: Apache-2.0
"""What every operator of the IR computes, once, as a Python expression: constants are folded with it, and transitions run with it.

Values are unsigned; an expression masks what could leave its width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

SOURCES = frozenset({"const", "register", "head", "available", "argument", "choice"})  # without arguments
SAME_WIDTH = frozenset({"add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor"})
COMPARISONS = frozenset({"eq", "ult", "slt"})
SHIFTS = frozenset({"shl", "lshr", "ashr"})
COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor", "eq"})


def mask(width: int) -> int:
    """All ones."""
    return (1 << width) - 1


def signed(value: int, width: int) -> int:
    """The bits read as two's complement."""
    sign = 1 << (width - 1)
    return (value ^ sign) - sign


def _divide(a: int, b: int) -> int:
    """To zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def sdiv(a: int, b: int, width: int) -> int:
    """By 0: -1; MIN / -1: MIN."""
    return mask(width) if b == 0 else _divide(signed(a, width), signed(b, width)) & mask(width)


def srem(a: int, b: int, width: int) -> int:
    """Sign of a; by 0: a; MIN % -1: 0."""
    x, y = signed(a, width), signed(b, width)
    return a if b == 0 else (x - _divide(x, y) * y) & mask(width)


def _concat(names: Sequence[str], widths: Sequence[int]) -> str:
    low, parts = 0, []
    for name, width in zip(reversed(names), reversed(widths), strict=True):
        parts.append(f"{name} << {low}" if low else name)
        low += width
    return "(" + ") | (".join(reversed(parts)) + ")"


def _flip(name: str, width: int) -> str:
    """Turns signed order into unsigned order."""
    return f"({name} ^ {1 << (width - 1):#x})"


def expression(op: str, width: int, low: int, names: Sequence[str], widths: Sequence[int]) -> str:
    """Python for an operator with arguments; `widths` are the arguments' (reads of memories are the executor's)."""
    m = hex(mask(width))  # of any width: decimal digits are limited
    a, b, c = (*names, "", "", "")[:3]
    match op:
        case "add":
            return f"({a} + {b}) & {m}"
        case "sub":
            return f"({a} - {b}) & {m}"
        case "mul":
            return f"({a} * {b}) & {m}"
        case "udiv":
            return f"{a} // {b} if {b} else {m}"
        case "urem":
            return f"{a} % {b} if {b} else {a}"
        case "sdiv" | "srem":
            return f"{op}({a}, {b}, {width})"
        case "and":
            return f"{a} & {b}"
        case "or":
            return f"{a} | {b}"
        case "xor":
            return f"{a} ^ {b}"
        case "not":
            return f"{a} ^ {m}"
        case "shl":
            return f"({a} << {b}) & {m} if {b} < {width} else 0"
        case "lshr":
            return f"{a} >> {b} if {b} < {width} else 0"
        case "ashr":
            return f"(signed({a}, {width}) >> min({b}, {width})) & {m}"
        case "eq":
            return f"1 if {a} == {b} else 0"
        case "ult":
            return f"1 if {a} < {b} else 0"
        case "slt":
            return f"1 if {_flip(a, widths[0])} < {_flip(b, widths[0])} else 0"
        case "mux":
            return f"{b} if {a} else {c}"
        case "concat":
            return _concat(names, widths)
        case "extract":
            return f"({a} >> {low}) & {m}" if low else f"{a} & {m}"
        case "zext":
            return a
        case "sext":
            return f"signed({a}, {widths[0]}) & {m}"
    raise ValueError(f"no operator with arguments: {op}")


@cache
def function(op: str, width: int, low: int, widths: tuple[int, ...]) -> Callable[..., int]:
    """The operator as a function of its arguments."""
    names = [f"a{i}" for i in range(len(widths))]
    text = f"lambda {', '.join(names)}: {expression(op, width, low, names, widths)}"
    made: Callable[..., int] = eval(text, {"signed": signed, "sdiv": sdiv, "srem": srem})
    return made
