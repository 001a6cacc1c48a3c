# SPDX-License-Identifier: Apache-2.0
"""Layouts to one SystemVerilog package, `sluice_pkg`."""

from __future__ import annotations

from compiler.backends.names import NOTICE, upper
from compiler.frontend.check import AggregateType, ConstantValue, EnumType, FieldType, Item, Layouts, RegistersType, RegisterType


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
        case RegistersType():
            return _registers(item)


def _registers(item: RegistersType) -> list[str]:
    """Offsets, and how a window decodes an access: docs/design/contracts.md says how a module uses these."""
    name, label, kept = item.name, upper(item.name), [r for r in item.registers if r.is_kept]
    readable = [r for r in item.registers if r.access != "wo"]
    writable = [r for r in item.registers if r.access != "ro"]
    lines = []
    for r in item.registers:
        lines.append(f"  localparam logic [11:0] {label}_{r.name.upper()} = 12'h{r.offset:03x};")
        if r.is_array:
            lines.append(f"  localparam int unsigned {label}_{r.name.upper()}_COUNT = {r.count};")
    if kept:
        resets = [f"    {r.name}: {f'{{{r.count}{{{_word(r)}}}}}' if r.is_array else _word(r)}" for r in kept]
        lines += [
            "  typedef struct packed {  // registers that hold what the host writes",
            *map(_kept_field, kept),
            f"  }} {name}_t;",
        ]
        lines += [f"  localparam {name}_t {label}_RESET = '{{", ",\n".join(resets), "  };"]
    lines += ["  typedef struct packed {  // what the host reads; of an array, the word at the address"]
    lines += [f"    logic [{r.width - 1}:0] {r.name};" for r in readable]
    lines += [f"  }} {name}_values_t;"]
    lines += _function("logic", f"{name}_allows", "logic [11:0] address, logic write", "1'b0",
                       [f"    if ({_at(label, r)}) result = {_direction(r)};" for r in item.registers])  # fmt: skip
    arguments = f"{name}_values_t live" + (f", {name}_t kept, logic [11:0] address" if kept else "")
    lines += _function(f"{name}_values_t", f"{name}_values", arguments, "live",
                       [f"    result.{r.name} = {_value(r)};" for r in readable if r.reset is not None])  # fmt: skip
    lines += _function("logic [31:0]", f"{name}_read", f"{name}_values_t values, logic [11:0] address", "'0",
                       [f"    if ({_at(label, r)}) result |= 32'(values.{r.name});" for r in readable])  # fmt: skip
    if kept:
        lines += _function(f"{name}_t", f"{name}_write", f"{name}_t kept, logic [11:0] address, logic [31:0] data", "kept",
                           [line for r in writable if r.is_kept for line in _write(label, r)])  # fmt: skip
    return lines


def _function(kind: str, name: str, arguments: str, start: str, body: list[str]) -> list[str]:
    head = [f"  function automatic {kind} {name}({arguments});", f"    {kind} result;", f"    result = {start};"]
    return [*head, *body, "    return result;", "  endfunction"]


def _word(register: RegisterType) -> str:
    return f"{register.width}'d{register.reset}"


def _kept_field(register: RegisterType) -> str:
    outer = f"[{register.count - 1}:0]" if register.is_array else ""
    return f"    logic {outer}[{register.width - 1}:0] {register.name};"


def _at(label: str, register: RegisterType) -> str:
    place = f"{label}_{register.name.upper()}"
    return f"in_registers(address, {place}, {place}_COUNT)" if register.is_array else f"address == {place}"


def _direction(register: RegisterType) -> str:
    return {"ro": "!write", "wo": "write", "rw": "1'b1"}[register.access]


def _index(register: RegisterType) -> str:
    """Of the word at the address in an array."""
    bits = max(1, (register.count - 1).bit_length())
    return f"address[2 +: {bits}]" if register.offset % (4 << bits) == 0 else f"{bits}'((address - 12'h{register.offset:03x}) >> 2)"


def _value(register: RegisterType) -> str:
    if not register.is_kept:
        return _word(register)
    return f"kept.{register.name}" + (f"[{_index(register)}]" if register.is_array else "")


def _write(label: str, register: RegisterType) -> list[str]:
    """Of an array word by word, so that each has its own enable."""
    data = f"data[{register.width - 1}:0]"
    if not register.is_array:
        return [f"    if ({_at(label, register)}) result.{register.name} = {data};"]
    return [
        f"    for (int unsigned n = 0; n < {register.count}; n++)",
        f"      if (address == {label}_{register.name.upper()} + 12'(4 * n)) result.{register.name}[n] = {data};",
    ]


IN_REGISTERS = """
  // Whether the word at an address is one of an array of registers.
  function automatic logic in_registers(logic [11:0] address, logic [11:0] first, int unsigned count);
    return address[1:0] == 2'd0 && address >= first && 32'(address) < 32'(first) + 4 * count;
  endfunction"""


def _size(name: str, bits: int) -> list[str]:
    return [f"  localparam int unsigned {upper(name)}_BITS = {bits};"]


def generate(layouts: Layouts, layout_hash: int) -> str:
    """The text of `sluice_pkg.sv`."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {NOTICE}",
        "// A design uses a part of these constants, and a function a part of its arguments' bits; `queue` is a word of C++ only.",
        "/* verilator lint_off UNUSEDPARAM */",
        "/* verilator lint_off UNUSEDSIGNAL */",
        "/* verilator lint_off SYMRSVDWORD */",
        "package sluice_pkg;",
        f"  localparam int unsigned LAYOUT_HASH = 32'h{layout_hash:08x};",
        IN_REGISTERS,
    ]
    for item in layouts.items:
        lines += ["", *_comment(item.doc, "  "), *_item(item)]
    return "\n".join([*lines, "endpackage", ""])
