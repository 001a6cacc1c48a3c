# SPDX-License-Identifier: Apache-2.0
"""From syntax trees to checked layouts: names resolved, constants evaluated, widths and offsets known.

All files given together are one namespace. What is wrong is reported and left out; the result is only to be used when no
error was reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.frontend import ast
from compiler.frontend.constants import MAX_BITS, Bad, ConstantEvaluator
from compiler.frontend.parse_expression import C_TYPES
from compiler.frontend.source import Diagnostics, Note, Span, closest

MAX_CHAIN = 500  # declarations, each of which waits for the next one; all of a longer chain are wrong, with one error
MAX_ENUM_BITS = 64
# Keywords of the generated languages: a layout with such a name would not compile there.
RESERVED_WORDS = """
alignas and as assert auto begin bit bool break byte case class const continue def default del delete do
double else end enum extern false final float for from global goto if import in inline input int
interface is lambda local logic long module namespace new none not null operator or output packed pass
priority private protected public raise reg register restrict return sequence short signed sizeof static
struct super switch table task this time true try type typedef union unique unsigned using virtual void
while with xor yield
"""
RESERVED = frozenset(RESERVED_WORDS.split())


@dataclass(frozen=True)
class Member:
    """A constant of an enum."""

    name: str
    value: int
    doc: str


@dataclass(frozen=True)
class EnumType:
    name: str
    width: int
    members: tuple[Member, ...]
    doc: str


@dataclass(frozen=True)
class FieldType:
    """A field: `count` elements of `width` bits; `type` names the enum or aggregate, "" for an integer."""

    name: str
    width: int
    count: int
    is_array: bool
    type: str
    doc: str

    @property
    def bits(self) -> int:
        return self.width * self.count


@dataclass(frozen=True)
class AggregateType:
    """A `struct`, `header` or `record` with its size in bits."""

    kind: str
    name: str
    fields: tuple[FieldType, ...]
    bits: int
    doc: str


@dataclass(frozen=True)
class RegisterType:
    """A register of `width` bits, or `count` of them in a row from `offset` (bytes). `reset`: None where the element gives the
    value."""

    access: str
    name: str
    width: int
    offset: int
    count: int
    is_array: bool
    reset: int | None
    doc: str

    @property
    def is_kept(self) -> bool:
        """What the host writes stays there until it writes again, or a reset."""
        return self.access != "ro" and self.reset is not None


@dataclass(frozen=True)
class RegistersType:
    name: str
    registers: tuple[RegisterType, ...]
    doc: str


@dataclass(frozen=True)
class ConstantValue:
    name: str
    value: int
    doc: str


Item = EnumType | AggregateType | RegistersType | ConstantValue


@dataclass(frozen=True)
class Layouts:
    """Everything checked, each thing behind what it uses; `files` maps a file name to its doc and its items."""

    items: tuple[Item, ...]
    files: Mapping[str, tuple[str, tuple[Item, ...]]]


Named = ast.Constant | ast.Enum | ast.Aggregate | ast.Registers


class Checker(ConstantEvaluator):
    """Resolves declarations on demand, so that their order does not matter; a cycle is an error."""

    def __init__(self, files: Sequence[ast.File], overrides: Mapping[str, int], diagnostics: Diagnostics) -> None:
        self.files = files
        self.overrides = overrides
        super().__init__(diagnostics)
        self.named: dict[str, Named] = {}
        self.members: dict[str, ast.Enum] = {}
        self.done: dict[str, Item | None] = {}
        self.order: list[Item] = []
        self.open: list[str] = []

    def run(self) -> Layouts:
        """Check every declaration of every file."""
        self._collect()
        files: dict[str, tuple[str, tuple[Item, ...]]] = {}
        for file in self.files:
            items = []
            for declaration in file.declarations:
                if isinstance(declaration, ast.StaticAssert):
                    continue
                item = self._item_or_none(declaration.name.text)
                if item is not None:
                    items.append(item)
            files[file.source.name] = (file.doc, tuple(items))
        for file in self.files:
            for declaration in file.declarations:
                if isinstance(declaration, ast.StaticAssert):
                    self._static_assert(declaration)
        for name in self.overrides:
            if not isinstance(self.named.get(name), ast.Constant):
                self.diagnostics.error(
                    "E0310", f"cannot set the undefined constant '{name}'", None, "the constants are declared in layouts/"
                )
        return Layouts(tuple(self.order), files)

    def _collect(self) -> None:
        seen: dict[str, Span] = {}
        for file in self.files:
            for declaration in file.declarations:
                if isinstance(declaration, ast.StaticAssert):
                    continue
                self._claim(seen, declaration.name)
                self.named.setdefault(declaration.name.text, declaration)
                if isinstance(declaration, ast.Enum):
                    for member in declaration.members:
                        self._claim(seen, member.name)
                        if self.named[declaration.name.text] is declaration:
                            self.members.setdefault(member.name.text, declaration)

    def _claim(self, seen: dict[str, Span], name: ast.Name) -> None:
        self._usable(name)
        if name.text in seen:
            first = (Note("first declared here", seen[name.text]),)
            self.diagnostics.error("E0301", f"'{name.text}' is declared twice", name.span, "all layouts share one namespace", first)
        seen.setdefault(name.text, name.span)

    def _usable(self, name: ast.Name) -> None:
        if name.text.lower() in RESERVED:
            hint = "it is a keyword in one of the generated languages; choose another name"
            self.diagnostics.error("E0302", f"'{name.text}' cannot be used as a name", name.span, hint)

    # Declarations

    def _item_or_none(self, name: str) -> Item | None:
        try:
            return self._item(name)
        except Bad:
            return None
        except RecursionError:
            self._too_deep(self.named[name].name.span)
            return None

    def _too_deep(self, span: Span) -> Bad:
        hint = "declare constants after the ones that they use, and split long expressions"
        return self.error("E0321", "this value takes too many steps to evaluate", span, hint)

    def _item(self, name: str) -> Item:
        if name in self.done:
            found = self.done[name]
            if found is None:
                raise Bad
            return found
        declaration = self.named[name]
        if name in self.open:
            cycle = " -> ".join([*self.open[self.open.index(name) :], name])
            raise self.error("E0303", f"'{name}' depends on itself: {cycle}", declaration.name.span, "break the cycle")
        if len(self.open) == MAX_CHAIN:
            raise self._too_deep(declaration.name.span)
        self.open.append(name)
        self.done[name] = None
        try:
            del self.done[name]
            item = self._check(declaration)
        except Bad:
            self.done[name] = None
            raise
        finally:
            self.open.pop()
        self.done[name] = item
        self.order.append(item)
        return item

    def _check(self, declaration: Named) -> Item:
        match declaration:
            case ast.Constant(name=name, value=value, doc=doc):
                found = self.overrides[name.text] if name.text in self.overrides else self.value(value)
                if not 0 <= found < 1 << 64:
                    hint = "the range is 0 to 2**64 - 1"
                    raise self.error("E0304", f"'{name.text}' is {found}, which is not a 64-bit unsigned number", value.span, hint)
                return ConstantValue(name.text, found, doc)
            case ast.Enum():
                return self._enum(declaration)
            case ast.Aggregate():
                return self._aggregate(declaration)
            case ast.Registers():
                return self._registers(declaration)

    def _enum(self, declaration: ast.Enum) -> EnumType:
        width, _ = self._type(declaration.type)
        if width > MAX_ENUM_BITS:
            raise self.error("E0317", f"an enum cannot have {width} bits", declaration.type.span, f"use 1 to {MAX_ENUM_BITS}")
        members: list[Member] = []
        following = 0
        for member in declaration.members:
            value = following if member.value is None else self.value(member.value)
            if not 0 <= value < 1 << width:
                hint = f"the largest value is {(1 << width) - 1}; make the enum wider"
                self.diagnostics.error("E0305", f"'{member.name.text}' = {value} does not fit in {width} bits", member.span, hint)
            members.append(Member(member.name.text, value, member.doc))
            following = value + 1
        if not members:
            raise self.error("E0306", f"enum '{declaration.name.text}' has no members", declaration.name.span, "add one")
        return EnumType(declaration.name.text, width, tuple(members), declaration.doc)

    def _aggregate(self, declaration: ast.Aggregate) -> AggregateType:
        name = declaration.name
        fields: dict[str, FieldType] = {}
        for field in declaration.fields:
            self._usable(field.name)
            if field.name.text in fields:
                self.diagnostics.error(
                    "E0307", f"'{name.text}' has two fields '{field.name.text}'", field.name.span, "rename one of them"
                )
            width, type_name = self._type(field.type)
            count = 1 if field.count is None else self.positive(field.count, "an array size")
            fields[field.name.text] = FieldType(field.name.text, width, count, field.count is not None, type_name, field.doc)
            if declaration.kind == "record" and width % 8:
                hint = "fields of a record must be whole bytes; use a struct for bits"
                self.diagnostics.error("E0308", f"'{field.name.text}' has {width} bits", field.name.span, hint)
        bits = sum(field.bits for field in fields.values())
        if not fields:
            raise self.error("E0306", f"{declaration.kind} '{name.text}' has no fields", name.span, "add one")
        if bits > MAX_BITS:
            raise self.error("E0309", f"'{name.text}' has {bits} bits; the maximum is {MAX_BITS}", name.span, "split it")
        if declaration.kind != "struct" and bits % 8:
            raise self.error(
                "E0308", f"{declaration.kind} '{name.text}' has {bits} bits", name.span, "the size must be a multiple of 8 bits"
            )
        return AggregateType(declaration.kind, name.text, tuple(fields.values()), bits, declaration.doc)

    def _registers(self, declaration: ast.Registers) -> RegistersType:
        registers: list[RegisterType] = []
        taken: dict[int, ast.Register] = {}
        for register in declaration.registers:
            width, _ = self._type(register.type)
            offset = self.value(register.offset)
            count = 1 if register.count is None else self.positive(register.count, "an array size")
            if width > 32:
                hint = "a register must not have more than 32 bits"
                self.diagnostics.error("E0311", f"'{register.name.text}' has {width} bits", register.type.span, hint)
            reset = None if register.reset is None else self._reset_value(register, register.reset, width)
            if register.access != "wo" or reset is not None:
                self._usable(register.name)  # as a field
            if offset % 4 or not 0 <= offset <= 4096 - 4 * count:
                hint = "offsets must be multiples of 4 in a window of 4096 bytes"
                self.diagnostics.error(
                    "E0312", f"invalid offset {offset:#x} for register '{register.name.text}'", register.offset.span, hint
                )
            for place in range(offset, offset + 4 * min(count, 1024), 4):
                if place in taken:
                    note = (Note("the other register", taken[place].span),)
                    self.diagnostics.error("E0313", f"two registers at offset {place:#x}", register.span, "move one of them", note)
                    break
                taken[place] = register
            is_array = register.count is not None
            registers.append(RegisterType(register.access, register.name.text, width, offset, count, is_array, reset, register.doc))
        return RegistersType(declaration.name.text, tuple(registers), declaration.doc)

    def _reset_value(self, register: ast.Register, node: ast.Expression, width: int) -> int:
        value = self.value(node)
        if not 0 <= value < 1 << width:
            hint = f"largest is {(1 << width) - 1}; make the register wider"
            self.diagnostics.error("E0305", f"'{register.name.text}' = {value} does not fit in {width} bits", node.span, hint)
        return value

    def _static_assert(self, declaration: ast.StaticAssert) -> None:
        try:
            if self.value(declaration.condition):
                return
            condition = declaration.condition
            text = "assertion failed"
            if isinstance(condition, ast.Binary):
                text += f": {self.value(condition.left)} {condition.operator} {self.value(condition.right)}"
            self.diagnostics.error("E0314", text, condition.span, "fix the declaration that it checks")
        except Bad:
            return
        except RecursionError:
            self._too_deep(declaration.span)

    # Types and values

    def _type(self, node: ast.Type) -> tuple[int, str]:
        """Width in bits, and the name of the enum or aggregate ("" for an integer)."""
        match node:
            case ast.IntegerType(name=name, width=None):
                return C_TYPES[name], ""
            case ast.IntegerType(width=expression) if expression is not None:
                width = self.positive(expression, "a width")
                if width > 1024 and width > MAX_BITS:
                    raise self.error("E0315", f"{width} bits are too many for an integer", expression.span, f"at most {MAX_BITS}")
                return width, ""
        assert isinstance(node, ast.NamedType)
        return self.size(node.name, node.span), node.name

    def size(self, name: str, span: Span) -> int:
        if isinstance(self.named.get(name), ast.Enum | ast.Aggregate):
            item = self._item(name)
            assert isinstance(item, EnumType | AggregateType)
            return item.width if isinstance(item, EnumType) else item.bits
        types = [n for n, d in self.named.items() if isinstance(d, ast.Enum | ast.Aggregate)]
        near = closest(name, [*types, *C_TYPES])
        raise self.error("E0316", f"undefined type '{name}'", span, f"did you mean '{near}'?" if near else "declare it")

    def constant(self, name: str, span: Span) -> int:
        if isinstance(self.named.get(name), ast.Constant):
            item = self._item(name)
            assert isinstance(item, ConstantValue)
            return item.value
        if name in self.members:
            enum = self._item(self.members[name].name.text)
            assert isinstance(enum, EnumType)
            return next(m.value for m in enum.members if m.name == name)
        constants = [n for n, d in self.named.items() if isinstance(d, ast.Constant)]
        near = closest(name, [*constants, *self.members])
        raise self.error("E0318", f"undefined constant '{name}'", span, f"did you mean '{near}'?" if near else "declare it")


def check(files: Sequence[ast.File], overrides: Mapping[str, int], diagnostics: Diagnostics) -> Layouts:
    """Check files together; `overrides` replaces values of constants (`--set NAME=VALUE`)."""
    return Checker(files, overrides, diagnostics).run()
