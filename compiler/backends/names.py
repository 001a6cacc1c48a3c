# SPDX-License-Identifier: Apache-2.0
"""How a layout's names read in each language."""

from __future__ import annotations

from compiler.frontend.check import AggregateType, FieldType

NOTICE = "Generated from layouts/ by `sluice layouts`; do not edit."


def base(name: str) -> str:
    """A type's name without its `_t`."""
    return name.removesuffix("_t")


def upper(name: str) -> str:
    """`phv_record_t` to `PHV_RECORD`."""
    return base(name).upper()


def camel(name: str) -> str:
    """`phv_record_t` to `PhvRecord`."""
    return "".join(part.title() for part in base(name).split("_"))


def placed(aggregate: AggregateType) -> list[tuple[FieldType, int]]:
    """Every field with the position of its lowest bit in the integer that the aggregate is.

    `struct` and `header`: the first field is the most significant. `record`: the first field is the lowest.
    """
    out: list[tuple[FieldType, int]] = []
    at = 0
    for field in aggregate.fields if aggregate.kind == "record" else reversed(aggregate.fields):
        out.append((field, at))
        at += field.bits
    return out if aggregate.kind == "record" else out[::-1]
