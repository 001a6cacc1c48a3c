# SPDX-License-Identifier: Apache-2.0
"""Layouts to one SystemVerilog package, `sluice_pkg`."""

from __future__ import annotations

from compiler.backends.names import NOTICE, upper
from compiler.frontend.check import AggregateType, ConstantValue, EnumType, FieldType, Item, Layouts, RegistersType


def _comment(doc: str, indent: str) -> list[str]:
    return [f"{indent}// {line}".rstrip() for line in doc.splitlines()]


def _field(field: FieldType) -> str:
    element = field.type or f"logic [{field.width - 1}:0]"
    if not field.is_array:
        return f"    {element} {field.name};"
    outer = f"[{field.count - 1}:0]"
    return f"    {field.type} {outer} {field.name};" if field.type else f"    logic {outer}[{field.width - 1}:0] {field.name};"


def _item(item: Item) -> list[str]:
    match item:
        case ConstantValue(name=name, value=value):
            kind = "int unsigned" if value < 1 << 32 else "longint unsigned"
            return [f"  localparam {kind} {name} = {32 if value < 1 << 32 else 64}'h{value:x};"]
        case EnumType(name=name, width=width, members=members):
            lines = [f"    {m.name} = {width}'d{m.value}" for m in members]
            return [f"  typedef enum logic [{width - 1}:0] {{", ",\n".join(lines), f"  }} {name};", *_size(name, width)]
        case AggregateType(kind=kind, name=name, fields=fields, bits=bits):
            order = reversed(fields) if kind == "record" else fields
            return ["  typedef struct packed {", *map(_field, order), f"  }} {name};", *_size(name, bits)]
        case RegistersType(name=name, registers=registers):
            lines = []
            for r in registers:
                label = f"{upper(name)}_{r.name.upper()}"
                lines.append(f"  localparam logic [11:0] {label} = 12'h{r.offset:03x};")
                if r.is_array:
                    lines.append(f"  localparam int unsigned {label}_COUNT = {r.count};")
            return lines


def _size(name: str, bits: int) -> list[str]:
    return [f"  localparam int unsigned {upper(name)}_BITS = {bits};"]


def generate(layouts: Layouts, layout_hash: int) -> str:
    """The text of `sluice_pkg.sv`."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {NOTICE}",
        "// A design uses a part of these constants; `queue` is a word of C++ only.",
        "/* verilator lint_off UNUSEDPARAM */",
        "/* verilator lint_off SYMRSVDWORD */",
        "package sluice_pkg;",
        f"  localparam int unsigned LAYOUT_HASH = 32'h{layout_hash:08x};",
    ]
    for item in layouts.items:
        lines += ["", *_comment(item.doc, "  "), *_item(item)]
    return "\n".join([*lines, "endpackage", ""])
