# SPDX-License-Identifier: Apache-2.0
"""Expressions: from the syntax tree to typed values."""

from __future__ import annotations

from abc import abstractmethod

from compiler.frontend import ast, typed
from compiler.frontend.places import Places
from compiler.frontend.resolve import describe, kind_of
from compiler.frontend.scope import Number, Ports, Value, View
from compiler.frontend.source import Span
from compiler.frontend.values import constant, literal_type


class Expressions(Places):
    """`call` and `invoke` come from the subclasses."""

    @abstractmethod
    def call(self, node: ast.Call) -> typed.Expression | None:
        """A call; None where it gives no value."""

    @abstractmethod
    def invoke(self, node: ast.Invoke) -> typed.Expression | None:
        """A call of a table's method."""

    def expression(self, node: ast.Expression) -> typed.Expression:
        match node:
            case ast.Number(value=value, span=span, text=text):
                return constant(value, literal_type(value, text[:2].lower() not in ("0x", "0b")), span)
            case ast.Reference():
                return self._reference(node)
            case ast.Member() | ast.Index() | ast.Bits():
                return self.load(self.designator(node), node.span)
            case ast.Unary(operator="*"):
                return self.load(self.designator(node), node.span)
            case ast.Unary(operator="&", span=span):
                raise self.error("E0411", "an address is not a value", span, "declare a view: ushort *p = (ushort *) &x.data;")
            case ast.Unary(operator=operator, operand=operand, span=span):
                return self.unary(operator, self.expression(operand), span)
            case ast.Binary():
                return self._operator(node)
            case ast.Conditional():
                return self._conditional(node)
            case ast.Cast():
                return self._cast(node)
            case ast.Call() | ast.Invoke():
                return self._called(node)
            case ast.Text(span=span):
                raise self.error("E0405", "a string is not a value", span, 'strings are only allowed in print("…")')
            case ast.TypeValue(span=span):
                raise self.error("E0403", "a type is not a value", span, "write a cast as (type) value")
            case ast.Braces(span=span):
                raise self.error("E0405", "the type of {…} is unknown here", span, "declare a variable: type name = {…};")

    def _called(self, node: ast.Call | ast.Invoke) -> typed.Expression:
        value = self.call(node) if isinstance(node, ast.Call) else self.invoke(node)
        if value is None:
            name = node.function.text if isinstance(node, ast.Call) else node.method.text
            raise self.error("E0414", f"'{name}' returns no value", node.span, "call it as a separate statement")
        return value

    def _reference(self, node: ast.Reference) -> typed.Expression:
        found = self.find(node.name, node.span, "name")
        match found:
            case Number(value=value, type=kind):
                return constant(value, kind or literal_type(value, False), node.span)
            case Value(value=value):
                return value
            case typed.Variable():
                return typed.Load(typed.Place(found, (), node.span), node.span)
            case View():
                raise self.error("E0411", f"the view '{node.name}' is not a value", node.span, f"its first entry is {node.name}[0]")
            case Ports():
                raise self.error(
                    "E0403", f"'{node.name}' is a port, not a value", node.span, f"read its token with read({node.name})"
                )
        hint = f"call it: {node.name}(…)" if kind_of(found) == "a function" else "use a variable or constant"
        raise self.error("E0403", f"'{node.name}' is {kind_of(found)}, not a value", node.span, hint)

    def _operator(self, node: ast.Binary) -> typed.Expression:
        if node.operator in ("+", "-") and self.view(node.left) is not None:
            raise self.error(
                "E0411", "an address is not a value", node.span, "declare a view: ushort *p = (ushort *) (&x.data + 2);"
            )
        left = self.expression(node.left)
        right = self.at_times(node.right) if node.operator in ("&&", "||") else self.expression(node.right)
        return self.binary(node.operator, left, right, node.span)

    @abstractmethod
    def at_times(self, node: ast.Expression) -> typed.Expression:
        """A value that is not always evaluated: nothing of it may be done before."""

    def _conditional(self, node: ast.Conditional) -> typed.Expression:
        condition = self.expression(node.condition)
        return self.choose(condition, self.at_times(node.then), self.at_times(node.otherwise), node.span)

    def _cast(self, node: ast.Cast) -> typed.Expression:
        if node.is_view:
            raise self.error("E0411", "an address is not a value", node.span, "declare a view: ushort *p = (ushort *) &x.data;")
        kind = self.type(node.type)
        if isinstance(node.operand, ast.Braces):
            return self.initial(node.operand, kind, "the value")
        value = self.expression(node.operand)
        if isinstance(kind, typed.Integer) and isinstance(value.type, typed.Integer):
            return self.cast(value, kind)
        if kind.bits != value.type.bits:
            text = f"{describe(value.type)} has {value.type.bits} bits, {describe(kind)} has {kind.bits}"
            raise self.error(
                "E0405", text, node.span, "a cast between these types keeps the bits, so both must have the same width"
            )
        return self.cast(value, kind)

    # Initial values

    def initial(self, node: ast.Expression, kind: typed.Type, what: str) -> typed.Expression:
        """The value of an initializer for a type; `{…}` gives parts in order, missing ones are 0."""
        if not isinstance(node, ast.Braces):
            return self.convert(self.expression(node), kind, what)
        wanted = self._parts(kind, node.span)
        if len(node.parts) > len(wanted):
            text = f"{len(node.parts)} values given for {describe(kind)}"
            raise self.error("E0410", text, node.parts[len(wanted)].span, f"it has {len(wanted)} parts")
        parts = [self.initial(part, part_kind, what) for part, part_kind in zip(node.parts, wanted, strict=False)]
        parts += [constant(0, part_kind, node.span) for part_kind in wanted[len(parts) :]]
        return _pack(parts, kind, node.span)

    def _parts(self, kind: typed.Type, span: Span) -> list[typed.Type]:
        if isinstance(kind, typed.Array):
            return [kind.element] * kind.count
        if isinstance(kind, typed.Struct):
            return [field.type for field in kind.fields]
        raise self.error("E0405", f"{describe(kind)} is a single value", span, "{…} is for structs and arrays")


def _pack(parts: list[typed.Expression], kind: typed.Type, span: Span) -> typed.Expression:
    """A struct or array from its parts; a constant where all of them are."""
    values: list[int] = []
    for part in parts:
        if not isinstance(part, typed.Constant):
            return typed.Pack(tuple(parts), kind, span)
        values.append(part.value)
    whole = 0
    ordered = list(zip(parts, values, strict=True))
    for part, value in ordered if isinstance(kind, typed.Struct) else reversed(ordered):
        whole = whole << part.type.bits | value
    return typed.Constant(whole, kind, span)
