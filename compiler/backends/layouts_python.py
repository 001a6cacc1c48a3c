# SPDX-License-Identifier: Apache-2.0
"""Layouts to one Python module, `sluice_layouts`."""

from __future__ import annotations

from compiler.backends.names import NOTICE, camel, placed, upper
from compiler.frontend.check import AggregateType, ConstantValue, EnumType, FieldType, Item, Layouts, RegistersType

PREAMBLE = '''
from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, ClassVar, Self


class Layout:
    """A bit layout: an integer of `BITS` bits, packed to bytes in the order its declaration says."""

    BITS: ClassVar[int]
    BYTE_ORDER: ClassVar[Any]
    PLACES: ClassVar[tuple[tuple[str, int, int, int, type[Layout] | None], ...]]

    def to_int(self) -> int:
        """The integer that the fields make; a field that does not fit raises ValueError."""
        out = 0
        for name, at, width, count, kind in self.PLACES:
            value = getattr(self, name)
            for index, element in enumerate(value if count else (value,)):
                number = element.to_int() if kind else int(element)
                if number < 0 or number >> width:
                    raise ValueError(f"{type(self).__name__}.{name} = {number} does not fit in {width} bits")
                out |= number << (at + index * width)
        return out

    @classmethod
    def from_int(cls, number: int) -> Self:
        """The fields of an integer."""
        values: dict[str, Any] = {}
        for name, at, width, count, kind in cls.PLACES:
            found = [(number >> (at + index * width)) & ((1 << width) - 1) for index in range(count or 1)]
            read = [kind.from_int(element) for element in found] if kind else found
            values[name] = read if count else read[0]
        return cls(**values)

    def pack(self) -> bytes:
        """The bytes of the layout."""
        return self.to_int().to_bytes((self.BITS + 7) // 8, self.BYTE_ORDER)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The fields of bytes; more bytes than the layout has are ignored, fewer raise ValueError."""
        size = (cls.BITS + 7) // 8
        if len(data) < size:
            raise ValueError(f"{cls.__name__} has {size} bytes, not {len(data)}")
        return cls.from_int(int.from_bytes(data[:size], cls.BYTE_ORDER))

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**({f.name: getattr(self, f.name) for f in fields(self)} | changes))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Register:
    """A register of `width` bits in a window, or `count` of them in a row from `offset` on. `reset`: what it reads after a reset;
    None where the device gives the value, or a write is an order."""

    name: str
    offset: int
    access: str
    width: int
    count: int
    reset: int | None

    @property
    def offsets(self) -> range:
        """Of each of its words."""
        return range(self.offset, self.offset + 4 * self.count, 4)

    @property
    def is_kept(self) -> bool:
        """What the host writes stays there."""
        return self.access != "ro" and self.reset is not None
'''


def _doc(doc: str, indent: str) -> list[str]:
    if not doc:
        return []
    lines = doc.replace("\\", "\\\\").replace('"""', "'''").splitlines()
    if lines[-1].endswith('"'):
        lines[-1] += " "
    return (
        [f'{indent}"""{lines[0]}', *(f"{indent}{line}" for line in lines[1:]), f'{indent}"""']
        if len(lines) > 1
        else [f'{indent}"""{lines[0]}"""']
    )


def _field(field: FieldType, kinds: dict[str, Item]) -> str:
    element = camel(field.type) if isinstance(kinds.get(field.type), AggregateType) else "int"
    if field.is_array:
        make = f"{element}()" if element != "int" else "0"
        return f"    {field.name}: list[{element}] = field(default_factory=lambda: [{make} for _ in range({field.count})])"
    return f"    {field.name}: {element} = " + ("0" if element == "int" else f"field(default_factory={element})")


def _aggregate(item: AggregateType, kinds: dict[str, Item]) -> list[str]:
    places = []
    for field, at in placed(item):
        kind = camel(field.type) if isinstance(kinds.get(field.type), AggregateType) else "None"
        places.append(f"        ({field.name!r}, {at}, {field.width}, {field.count if field.is_array else 0}, {kind}),")
    order = "big" if item.kind == "header" else "little"
    return [
        "", "", "@dataclass(slots=True)", f"class {camel(item.name)}(Layout):", *_doc(item.doc, "    "),
        f"    BITS: ClassVar[int] = {item.bits}", f'    BYTE_ORDER: ClassVar[Any] = "{order}"',
        "    PLACES: ClassVar[tuple[tuple[str, int, int, int, type[Layout] | None], ...]] = (", *places, "    )",
        *(_field(field, kinds) for field in item.fields),
    ]  # fmt: skip


def _item(item: Item, kinds: dict[str, Item]) -> list[str]:
    match item:
        case ConstantValue(name=name, value=value):
            return [f"{name} = {value:#x}" if value > 9 else f"{name} = {value}"]
        case EnumType(name=name, members=members):
            body = [f"    {m.name} = {m.value}" for m in members]
            names = [f"{m.name} = {camel(name)}.{m.name}" for m in members]
            return ["", "", f"class {camel(name)}(IntEnum):", *_doc(item.doc, "    "), *body, "", "", *names]
        case AggregateType():
            return _aggregate(item, kinds)
        case RegistersType(name=name, registers=registers):
            lines = [""]
            for r in registers:
                lines.append(f"{upper(name)}_{r.name.upper()} = {r.offset:#05x}")
                if r.is_array:
                    lines.append(f"{upper(name)}_{r.name.upper()}_COUNT = {r.count}")
            rows = [
                f"    Register({r.name!r}, {r.offset:#05x}, {r.access!r}, {r.width}, {r.count}, "
                f"{None if r.reset is None else hex(r.reset)}),"
                for r in registers
            ]
            return [*lines, f"{upper(name)} = (", *rows, ")"]


def generate(layouts: Layouts, layout_hash: int) -> str:
    """The text of `sluice_layouts.py`."""
    kinds = {item.name: item for item in layouts.items}
    lines = ["# SPDX-License-Identifier: Apache-2.0", f'"""{NOTICE}"""', PREAMBLE, f"LAYOUT_HASH = {layout_hash:#010x}"]
    for item in layouts.items:
        lines += _item(item, kinds)
    return "\n".join([*lines, ""])
