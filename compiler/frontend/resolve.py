# SPDX-License-Identifier: Apache-2.0
"""Names and types of programs: what a name means where it stands, and the typed form of a type."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable

from compiler.frontend import ast, check, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.constants import MAX_BITS, Bad, ConstantEvaluator
from compiler.frontend.parse_expression import C_TYPES
from compiler.frontend.scope import (
    Binding,
    Broken,
    ElementName,
    FunctionName,
    Number,
    Pending,
    Ports,
    Scope,
    TypeName,
    Value,
    View,
)
from compiler.frontend.source import Diagnostics, Note, Source, Span, closest

MAX_INTEGER_BITS = 1024
MAX_ENTRIES = 1 << 24
UINT = typed.Integer(32)
INT = typed.Integer(32, True)
_PORT = re.compile(r"PORT_([1-9][0-9]?)")
BUILT_IN = Span(Source("(built in)", ""), 0, 0)
C_INTEGERS = {
    name: typed.BOOL if name == "bool" else typed.Integer(bits, name == "int") for name, bits in C_TYPES.items()
}  # fmt: skip


class LayoutScope(Scope):
    """The outermost scope: everything of `layouts/`, and what is built in."""

    def __init__(self, layouts: check.Layouts) -> None:
        super().__init__()
        self.items = {item.name: item for item in layouts.items}
        self.types: dict[str, typed.Type] = {}
        for item in layouts.items:
            if isinstance(item, check.ConstantValue):
                self.names[item.name] = Number(item.value, UINT if item.value < 1 << 32 else typed.Integer(64))
            elif isinstance(item, check.EnumType):
                kind = typed.Integer(item.width, False, item.name)
                self.names[item.name] = TypeName(kind)
                self.names.update({member.name: Number(member.value, kind) for member in item.members})
            elif isinstance(item, check.AggregateType):
                self.names[item.name] = TypeName(self.type(item.name))
        flit = self.type("flit_t")
        self.names |= {
            "flit": TypeName(flit), "packet": TypeName(flit, True), "true": Number(1, typed.BOOL), "false": Number(0, typed.BOOL),
            "ClSignal": TypeName(_cl_signal()),
        }  # fmt: skip

    def own(self, name: str) -> Binding | None:
        found = self.names.get(name)
        if found is not None:
            return found
        port = _PORT.fullmatch(name)
        if port and int(port[1]) <= 32:
            return Number(1 << (int(port[1]) - 1), UINT)
        return None

    def type(self, name: str) -> typed.Type:
        """A type of the layouts."""
        if name not in self.types:
            item = self.items[name]
            if isinstance(item, check.EnumType):
                self.types[name] = typed.Integer(item.width, False, item.name)
            else:
                assert isinstance(item, check.AggregateType)
                members = [(field.name, self._field(field)) for field in item.fields]
                self.types[name] = aggregate(item.kind, item.name, members)
        return self.types[name]

    def _field(self, field: check.FieldType) -> typed.Type:
        kind = self.type(field.type) if field.type else typed.Integer(field.width)
        return typed.Array(kind, field.count) if field.is_array else kind


def aggregate(kind: str, name: str, members: list[tuple[str, typed.Type]]) -> typed.Struct:
    """A struct, header or record; the first field of a record is lowest."""
    ordered = members[::-1] if kind == "record" else members
    bits = sum(member.bits for _, member in ordered)
    fields: list[typed.StructField] = []
    low = bits
    for member_name, member in ordered:
        low -= member.bits
        fields.append(typed.StructField(member_name, member, low))
    return typed.Struct(name, bits, tuple(fields), kind == "header")


def _cl_signal() -> typed.Struct:
    """The paper's signal: `p.Sig.LParam[0]` to `[6]`."""
    words = typed.Array(typed.Integer(64), 7)
    return aggregate("struct", "ClSignal", [("Sig", aggregate("struct", "ClSignalBody", [("LParam", words)]))])


def describe(kind: typed.Type) -> str:
    """A type as a program would write it."""
    match kind:
        case typed.Integer(name=name) if name:
            return name
        case typed.Integer(bits=bits, signed=signed):
            return f"{'int' if signed else 'uint'}<{bits}>"
        case typed.Struct(name=name):
            return name
        case typed.Array(element=element, count=count):
            return f"{describe(element)}[{count}]"


class Resolver(ConstantEvaluator):
    """Looks names up from `scope` on."""

    def __init__(self, diagnostics: Diagnostics, scope: Scope) -> None:
        super().__init__(diagnostics)
        self.scope = scope
        self._open: list[Pending] = []

    # Names

    def declare(self, name: ast.Name, binding: Binding) -> None:
        """A new name in the innermost scope; one that is there already is an error."""
        if name.text in self.scope.names:
            first = self.scope.places.get(name.text)
            notes = (Note("first declared here", first),) if first else ()
            self.diagnostics.error("E0402", f"'{name.text}' is declared twice", name.span, "rename one of them", notes)
        self.scope.names[name.text] = binding
        self.scope.places.setdefault(name.text, name.span)

    def find(self, name: str, span: Span, wanted: str = "name", fits: Callable[[Binding], bool] | None = None) -> Binding:
        """What a name means; an unknown one is an error that says which known one is like it."""
        found = self.scope.find(name)
        if isinstance(found, Pending):
            found = self.settle(name, found)
        if found is None:
            known = [
                n for n, binding in self.scope.visible().items() if fits is None or isinstance(binding, Pending) or fits(binding)
            ]
            near = closest(name, known + (list(C_TYPES) if wanted == "type" else []))
            hint = f"did you mean '{near}'?" if near else self._hint_for(wanted, known)
            raise self.error("E0401", f"undefined {wanted} '{name}'", span, hint)
        if isinstance(found, Broken):
            raise Bad
        return found

    def _hint_for(self, wanted: str, known: list[str]) -> str:
        if wanted == "port":
            return f"the ports are {', '.join(known)}" if known else "ports are declared in the head: (packet in -> packet out)"
        return "declare it before it is used"

    def settle(self, name: str, pending: Pending) -> Binding:
        """Look into a declaration for the first time."""
        if pending in self._open:
            raise self.error("E0303", f"'{name}' depends on itself", pending.declaration.name.span, "break the cycle")
        self._open.append(pending)
        outer, self.scope = self.scope, pending.scope
        try:
            self.define(pending.declaration)
        except Bad:
            pending.scope.names[name] = Broken()
            raise
        finally:
            self.scope = outer
            self._open.pop()
        return pending.scope.names[name]

    @abstractmethod
    def constant_aggregate(self, node: tree.Declaration) -> Value:
        """A constant struct or array."""

    def define(self, declaration: ast.Constant | tree.Declaration | ast.Enum | ast.Aggregate) -> None:
        """Put a type or constant into the innermost scope, over what stands there."""
        names, name = self.scope.names, declaration.name.text
        if isinstance(declaration, ast.Constant):
            names[name] = self._constant_of(declaration)
        elif isinstance(declaration, tree.Declaration):
            names[name] = self.constant_aggregate(declaration)
        elif isinstance(declaration, ast.Aggregate):
            names[name] = TypeName(self._aggregate(declaration))
        else:
            kind, members = self._enum(declaration)
            names[name] = TypeName(kind)
            names |= members

    def _constant_of(self, node: ast.Constant) -> Number:
        kind = self.type(node.type)
        if not isinstance(kind, typed.Integer):
            raise self.error(
                "E0405",
                f"a constant cannot have type {describe(kind)}",
                node.type.span,
                "a constexpr must be an integer or an array",
            )
        value = self.value(node.value)
        if not fits(value, kind):
            raise self.error("E0406", f"{value} does not fit in {describe(kind)}", node.value.span, "choose a wider type")
        return Number(value, kind)

    def _enum(self, node: ast.Enum) -> tuple[typed.Integer, dict[str, Number]]:
        base = self.type(node.type)
        if not isinstance(base, typed.Integer) or base.signed or base.bits > check.MAX_ENUM_BITS:
            raise self.error(
                "E0317", f"the base type of an enum cannot be {describe(base)}", node.type.span, "use uint<1> to uint<64>"
            )
        kind = typed.Integer(base.bits, False, node.name.text)
        members: dict[str, Number] = {}
        following = 0
        for member in node.members:
            value = following if member.value is None else self.value(member.value)
            if not 0 <= value < 1 << base.bits:
                hint = f"the largest value is {(1 << base.bits) - 1}; make the enum wider"
                raise self.error("E0305", f"'{member.name.text}' = {value} does not fit in {base.bits} bits", member.span, hint)
            members[member.name.text] = Number(value, kind)
            following = value + 1
        if not members:
            raise self.error("E0306", f"enum '{node.name.text}' has no members", node.name.span, "add one")
        return kind, members

    def _aggregate(self, node: ast.Aggregate) -> typed.Struct:
        members: dict[str, typed.Type] = {}
        for field in node.fields:
            kind = self.type(field.type)
            if field.count is not None:
                kind = typed.Array(kind, self.positive(field.count, "an array size"))
            if field.name.text in members:
                raise self.error(
                    "E0307", f"'{node.name.text}' has two fields '{field.name.text}'", field.name.span, "rename one of them"
                )
            members[field.name.text] = kind
        if not members:
            raise self.error("E0306", f"{node.kind} '{node.name.text}' has no fields", node.name.span, "add one")
        found = aggregate(node.kind, node.name.text, list(members.items()))
        if found.bits > MAX_BITS:
            raise self.error(
                "E0309", f"'{node.name.text}' has {found.bits} bits; the maximum is {MAX_BITS}", node.name.span, "split it"
            )
        if node.kind == "header" and found.bits % 8:
            raise self.error(
                "E0308", f"header '{node.name.text}' has {found.bits} bits", node.name.span, "the size must be a multiple of 8 bits"
            )
        return found

    # Constants, for the base

    def constant(self, name: str, span: Span) -> int:
        found = self.find(name, span, "constant", lambda binding: isinstance(binding, Number))
        if isinstance(found, Number):
            return found.value
        if isinstance(found, Value):
            raise self.error("E0323", f"'{name}' is not a number", span, "use an element of it")
        raise self.error("E0323", f"'{name}' is not a constant", span, "use a constant")

    def element(self, node: ast.Index) -> int:
        bits, kind = self._part(node)
        if not isinstance(kind, typed.Integer):
            raise self.error("E0323", "this is not a number", node.span, "use an element of it")
        return bits - (1 << kind.bits) if kind.signed and bits >> kind.bits - 1 else bits

    def _part(self, node: ast.Expression) -> tuple[int, typed.Type]:
        """The bits of a constant array or of one inside it, and their type."""
        if isinstance(node, ast.Index):
            whole, kind = self._part(node.operand)
            if isinstance(kind, typed.Array):
                index = self.value(node.index)
                if not 0 <= index < kind.count:
                    raise self.error("E0317", f"index {index} is out of range", node.index.span, f"use 0 to {kind.count - 1}")
                return whole >> index * kind.element.bits & (1 << kind.element.bits) - 1, kind.element
        if isinstance(node, ast.Reference):
            found = self.find(node.name, node.span, "constant", lambda binding: isinstance(binding, Value))
            if isinstance(found, Value) and isinstance(found.value, typed.Constant):
                return found.value.value, found.value.type
        raise self.error("E0323", "this is not a constant array", node.span, "declare one: constexpr uint NAME[2] = {1, 2};")

    def size(self, name: str, span: Span) -> int:
        found = self.find(name, span, "type")
        if isinstance(found, TypeName):
            return found.type.bits
        if isinstance(found, typed.Variable):
            return found.type.bits
        raise self.error("E0403", f"'{name}' is {kind_of(found)}, not a type", span, "bits(type)")

    def size_of(self, argument: ast.Expression, function: str) -> int:
        if isinstance(argument, ast.TypeValue):
            return self.type(argument.type).bits
        return super().size_of(argument, function)

    # Types

    def type(self, node: ast.Type) -> typed.Type:
        """The type that is written."""
        return self.channel_type(node).type

    def channel_type(self, node: ast.Type) -> TypeName:
        """A type, and whether it says `packet`."""
        if isinstance(node, ast.NamedType):
            found = self.find(node.name, node.span, "type", lambda binding: isinstance(binding, TypeName))
            if not isinstance(found, TypeName):
                raise self.error("E0403", f"'{node.name}' is {kind_of(found)}, not a type", node.span, "use a type")
            return found
        if node.width is None:
            return TypeName(C_INTEGERS[node.name])
        width = self.value(node.width)
        if not 1 <= width <= MAX_INTEGER_BITS:
            hint = f"use 1 to {MAX_INTEGER_BITS}, or an array or a struct for more bits"
            raise self.error("E0315", f"an integer cannot have {width} bits", node.width.span, hint)
        return TypeName(typed.Integer(width, node.name == "int"))

    def array_type(self, kind: typed.Type, counts: tuple[ast.Expression, ...]) -> typed.Type:
        """`kind[a][b]`: the last count is innermost."""
        for node in reversed(counts):
            count = self.value(node)
            if not 1 <= count <= MAX_ENTRIES:
                raise self.error("E0317", f"array size {count} is out of range", node.span, f"use 1 to {MAX_ENTRIES}")
            kind = typed.Array(kind, count)
            if kind.bits > 1 << 32:
                raise self.error("E0309", f"the array has {kind.bits} bits", node.span, "choose a smaller size")
        return kind


def fits(value: int, kind: typed.Integer) -> bool:
    """Whether a value is one of the type's; a negative one fits an unsigned type by its bits, as `-1` in C."""
    return -(1 << kind.bits - 1) <= value < 1 << (kind.bits - 1 if kind.signed else kind.bits)


def kind_of(binding: Binding) -> str:
    """What a name is, in words."""
    names: dict[type, str] = {
        Number: "a constant", Value: "a constant", TypeName: "a type", Ports: "a port", View: "a view",
        FunctionName: "a function", ElementName: "an element", typed.Variable: "a variable", typed.Table: "a table",
    }  # fmt: skip
    return names.get(type(binding), "something else")
