# SPDX-License-Identifier: Apache-2.0
"""Parts of values: which of them are fields or elements, and which ranges of bits, as `cpp_body` writes them."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend import typed


def by_members(kind: typed.Type, steps: Sequence[typed.Step]) -> list[typed.Step]:
    """The same steps, where a slice first goes to the smallest field or element that has it, and of a header only the bytes of the
    field are swapped."""
    found: list[typed.Step] = []
    for step in _narrowed(steps):
        while isinstance(step, typed.Slice) and (inner := _around(kind, step)):
            found.append(inner)
            step, kind = typed.Slice(step.low - inner.low, step.type, step.swap), inner.type
        found.append(step)
        kind = step.type
    return found


def _narrowed(steps: Sequence[typed.Step]) -> list[typed.Step]:
    """The same steps, where a part of a swapped value becomes that part of the bytes it is in, swapped."""
    found: list[typed.Step] = []
    for step in steps:
        whole = found[-1] if found else None
        if isinstance(whole, typed.Slice) and whole.swap and isinstance(step, typed.Slice) and not step.swap:
            first, last = step.low // 8, (step.low + step.type.bits - 1) // 8
            low = whole.low + whole.type.bits - 8 * (last + 1)
            left = step.low - 8 * first
            if step.type.bits == 8 * (last + 1 - first):
                found[-1] = typed.Slice(low, step.type, swap=last > first)
            else:
                found[-1] = typed.Slice(low, typed.Integer(8 * (last + 1 - first), False), swap=last > first)
                found.append(typed.Slice(left, step.type))
        else:
            found.append(step)
    return found


def _around(kind: typed.Type, step: typed.Slice) -> typed.Slice | None:
    """The field or element that has the slice and more, or that is to be swapped."""
    parts: list[typed.Slice] = []
    if isinstance(kind, typed.Struct):
        parts = [typed.Slice(field.low, field.type) for field in kind.fields]
    elif isinstance(kind, typed.Array):
        at = step.low // kind.element.bits
        parts = [typed.Slice(at * kind.element.bits, kind.element)]
    for part in parts:
        has_it = part.low <= step.low and step.low + step.type.bits <= part.low + part.type.bits
        if has_it and (step.type.bits < part.type.bits or step.swap):
            return part
    return None
