# SPDX-License-Identifier: Apache-2.0
"""Layouts to the reference page, `docs/reference/layouts.md`."""

from __future__ import annotations

from compiler.backends.names import NOTICE, placed
from compiler.frontend.check import AggregateType, ConstantValue, EnumType, Item, Layouts, RegistersType


def _cell(doc: str) -> str:
    return " ".join(doc.split()).replace("|", "\\|")


def _item(item: Item) -> list[str]:
    head = ["", f"### `{item.name}`", "", *([_cell(item.doc), ""] if item.doc else [])]
    match item:
        case ConstantValue():
            return []
        case EnumType(width=width, members=members):
            rows = [f"| {m.value:#x} | `{m.name}` | {_cell(m.doc)} |" for m in members]
            return [*head, f"An enum of {width} bits.", "", "| value | name | meaning |", "| --- | --- | --- |", *rows]
        case AggregateType(kind=kind, bits=bits):
            size = f"{bits} bits" if bits % 8 else f"{bits // 8} bytes"
            rows = []
            for field, at in placed(item):
                name = f"`{field.name}`" + (f" [{field.count}]" if field.is_array else "")
                place = f"byte {(bits - at - field.bits) // 8}" if kind == "header" else f"{at + field.bits - 1}:{at}"
                rows.append(f"| {place} | {field.bits} | {name} | {f'`{field.type}`' if field.type else ''} | {_cell(field.doc)} |")
            titles = ["| place | bits | field | type | meaning |", "| --- | --- | --- | --- | --- |"]
            return [*head, f"A {kind} of {size}.", "", *titles, *rows]
        case RegistersType(registers=registers):
            rows = []
            for r in registers:
                span = f"{r.offset:#05x}" + (f" to {r.offset + 4 * r.count - 4:#05x}" if r.is_array else "")
                reset = "" if r.reset is None else r.reset if r.reset < 10000 else hex(r.reset)
                rows.append(f"| {span} | {r.access} | {r.width} | {reset} | `{r.name}` | {_cell(r.doc)} |")
            titles = ["| offset | access | bits | reset | register | meaning |", "| --- | --- | --- | --- | --- | --- |"]
            return [*head, *titles, *rows]


def generate(layouts: Layouts, layout_hash: int) -> str:
    """The text of the page."""
    lines = ["# Layouts", "", f"{NOTICE} Hash of all layouts: `{layout_hash:#010x}`."]
    for name, (doc, items) in layouts.files.items():
        lines += ["", f"## `{name}`", "", *doc.splitlines()]
        constants = [item for item in items if isinstance(item, ConstantValue)]
        if constants:
            lines += ["", "| constant | value | meaning |", "| --- | --- | --- |"]
            lines += [f"| `{c.name}` | {c.value if c.value < 10000 else hex(c.value)} | {_cell(c.doc)} |" for c in constants]
        for item in items:
            lines += _item(item)
    return "\n".join([*lines, ""])
