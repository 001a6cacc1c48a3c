# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on bit patterns, as the docstrings of `typed.Binary`, `Unary`, `Cast`, `Slice`, `Entry` define it.."""

from __future__ import annotations

from compiler.frontend.typed import Integer, Slice, Type


def ones(bits: int) -> int:
    """The largest unsigned value of `bits` bits."""
    return (1 << bits) - 1


def number(value: int, type: Type) -> int:
    """What the bits mean: negative where the type is signed and the highest bit is set."""
    is_negative = isinstance(type, Integer) and type.signed and value >> (type.bits - 1)
    return value - (1 << type.bits) if is_negative else value


def swapped(value: int, bits: int) -> int:
    """The bytes in the other order."""
    return int.from_bytes(value.to_bytes(bits // 8, "little"), "big")


def _divide(a: int, b: int, type: Integer) -> int:
    """To zero. By 0: all ones, which is -1. MIN / -1 wraps to MIN."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int, type: Integer) -> int:
    return a if b == 0 else a - _divide(a, b, type) * b


def binary(operator: str, left: int, right: int, type: Type) -> int:
    """An operator of `typed.Binary`; `type` is that of the left operand (for shifts, `right` is unsigned)."""
    bits = type.bits
    a, b = number(left, type), number(right, type)
    match operator:
        case "+":
            return (a + b) & ones(bits)
        case "-":
            return (a - b) & ones(bits)
        case "*":
            return (a * b) & ones(bits)
        case "/" | "%" if isinstance(type, Integer):
            return (_divide if operator == "/" else _remainder)(a, b, type) & ones(bits)
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "<<":
            return (left << right) & ones(bits) if right < bits else 0
        case ">>":
            return (a >> min(right, bits)) & ones(bits)
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(a < b)
        case "<=":
            return int(a <= b)
        case ">":
            return int(a > b)
        case ">=":
            return int(a >= b)
    raise AssertionError(f"operator {operator} on {type}")


def unary(operator: str, operand: int, type: Integer) -> int:
    """An operator of `typed.Unary`."""
    match operator:
        case "-":
            return -operand & ones(type.bits)
        case "~":
            return operand ^ ones(type.bits)
        case "!":
            return 1 - operand
    raise AssertionError(f"operator {operator}")


def cast(value: int, source: Type, target: Type) -> int:
    """To another width, extended by the sign of the source."""
    return number(value, source) & ones(target.bits)


def read_bits(value: int, low: int, bits: int, swap: bool) -> int:
    """Bits `low` to `low + bits - 1`."""
    found = value >> low & ones(bits)
    return swapped(found, bits) if swap else found


def write_bits(value: int, low: int, bits: int, swap: bool, new: int) -> int:
    """The value with these bits replaced."""
    placed = swapped(new, bits) if swap else new
    return value & ~(ones(bits) << low) | placed << low


# A step of a place whose index is known: lowest bit, bits, swap; None outside of the array.
Window = tuple[int, int, bool] | None


def window(step: Slice) -> Window:
    """Where a slice is."""
    return step.low, step.type.bits, step.swap


def read_path(value: int, path: list[Window]) -> int:
    """The part of a value that the windows lead to; 0 behind an index outside."""
    for step in path:
        if step is None:
            return 0
        value = read_bits(value, *step)
    return value


def write_path(value: int, path: list[Window], new: int) -> int:
    """The value with the part replaced; unchanged where an index is outside."""
    if not path:
        return new
    if path[0] is None:
        return value
    part = read_bits(value, *path[0])
    return write_bits(value, *path[0], write_path(part, path[1:], new))
