# SPDX-License-Identifier: Apache-2.0
"""What can be named and written: variables, their fields and entries, and views of them (`(ushort *) &x.data`)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from compiler.frontend import ast, typed
from compiler.frontend.resolve import describe, kind_of
from compiler.frontend.scope import Binding, Broken, Value, View
from compiler.frontend.source import Note, Span, closest
from compiler.frontend.values import Values, constant, is_pure, read

Designator = typed.Place | typed.Expression
FLIT = "flit_t"


class Places(Values):
    """Members, indices and views; `expression` and `hoist` come from the subclasses."""

    @abstractmethod
    def expression(self, node: ast.Expression) -> typed.Expression:
        """The value of an expression."""

    @abstractmethod
    def hoist(self, value: typed.Expression, name: str) -> typed.Expression:
        """A value that is evaluated now, and used later."""

    def place(self, node: ast.Expression) -> typed.Place:
        """Something that can be assigned."""
        if isinstance(node, ast.Reference):
            self._assignable(node)
        found = self.designator(node)
        if isinstance(found, typed.Place):
            return found
        raise self.error("E0409", "this cannot be assigned to", node.span, "assign to a variable, or to its field or entry")

    def _assignable(self, node: ast.Reference) -> None:
        found = self.find(node.name, node.span, "variable", lambda binding: isinstance(binding, typed.Variable))
        if isinstance(found, View):
            hint = "a view always names the same place; declare another view"
            raise self.error("E0409", f"the view '{node.name}' cannot be changed", node.span, hint)
        if not isinstance(found, typed.Variable):
            raise self.error(
                "E0409", f"'{node.name}' is {kind_of(found)} and cannot be assigned to", node.span, "assign to a variable"
            )

    def designator(self, node: ast.Expression) -> Designator:
        """A place where the expression names one, else its value."""
        match node:
            case ast.Reference(name=name, span=span):
                found = self.find(name, span, "variable", _has_value)
                if isinstance(found, typed.Variable):
                    return typed.Place(found, (), span)
                if isinstance(found, Value):
                    return found.value
            case ast.Member():
                return self._member(node)
            case ast.Index():
                return self._index(node)
            case ast.Bits():
                return self._bits(node)
            case ast.Unary(operator="*", operand=operand, span=span):
                view = self.view(operand)
                if view is None:
                    raise self.error("E0411", "'*' must be followed by a view", span, "type *name = (type *) &place;")
                return self.entry_of(view, constant(0, typed.Integer(32), span), span)
        return self.expression(node)

    def load(self, found: Designator, span: Span) -> typed.Expression:
        """The value of a place, or the value itself."""
        return typed.Load(replace(found, span=span), span) if isinstance(found, typed.Place) else found

    # Fields

    def _member(self, node: ast.Member) -> Designator:
        view = self.view(node.operand)
        zero = constant(0, typed.Integer(32), node.span)
        base = self.entry_of(view, zero, node.span) if view else self.designator(node.operand)
        name = node.name.text
        if isinstance(base.type, typed.Struct) and base.type.name == FLIT:
            if name == "fd":
                return base
            name = "empty" if name == "pad" else name
        return self._field(base, name, node)

    def _field(self, base: Designator, name: str, node: ast.Member) -> Designator:
        kind = base.type
        if not isinstance(kind, typed.Struct):
            hint = "only structs have fields" if not isinstance(kind, typed.Array) else "select an entry first: a[0]"
            raise self.error("E0404", f"{describe(kind)} has no field '{name}'", node.name.span, hint)
        for field in kind.fields:
            if field.name == name:
                return self.step(base, typed.Slice(field.low, field.type), node.span)
        names = [field.name for field in kind.fields]
        inner = [
            f"{f.name}.{name}" for f in kind.fields if isinstance(f.type, typed.Struct) and name in {i.name for i in f.type.fields}
        ]
        near = inner[0] if inner else closest(name, names)
        hint = f"did you mean '{near}'?" if near else f"its fields are {', '.join(names[:12])}"
        raise self.error("E0404", f"{describe(kind)} has no field '{name}'", node.name.span, hint)

    def step(self, base: Designator, step: typed.Step, span: Span) -> Designator:
        """A part of a place or value."""
        if isinstance(step, typed.Slice) and step.type == base.type and not step.swap:
            return base
        if isinstance(base, typed.Place):
            return typed.Place(base.variable, (*base.steps, step), span)
        if isinstance(base, typed.Constant) and isinstance(step, typed.Slice) and not step.swap:
            return constant(base.value >> step.low, step.type, span)
        return typed.Part(base, step, span)

    # Entries

    def _index(self, node: ast.Index) -> Designator:
        view = self.view(node.operand)
        if view is not None:
            return self.entry_of(view, self.expression(node.index), node.span)
        base = self.designator(node.operand)
        kind = base.type
        if not isinstance(kind, typed.Array):
            hint = "its bits are name[7:0]; to access its bytes: uchar *p = (uchar *) &name;"
            raise self.error("E0405", f"{describe(kind)} is not an array", node.operand.span, hint)
        index = self.expression(node.index)
        known = self._known_index(index, kind.count, base, node)
        if known is not None:
            return self.step(base, typed.Slice(known * kind.element.bits, kind.element), node.span)
        return self.step(base, typed.Entry(self._unsigned(index), kind.element, kind.count), node.span)

    def _bits(self, node: ast.Bits) -> Designator:
        """`x[high:low]`: bits of an integer, as an unsigned one."""
        base = self.designator(node.operand)
        if not isinstance(base.type, typed.Integer):
            hint = "take bits of an integer; an array has entries: a[0]"
            raise self.error("E0405", f"{describe(base.type)} is not an integer", node.operand.span, hint)
        high, low = self.value(node.high), self.value(node.low)
        if not 0 <= low <= high < base.type.bits:
            hint = f"{describe(base.type)} has the bits {base.type.bits - 1} to 0; the higher one comes first: x[7:0]"
            raise self.error("E0408", f"the bits {high} to {low} are out of range", node.high.span.to(node.low.span), hint)
        return self.step(base, typed.Slice(low, typed.Integer(high - low + 1)), node.span)

    def _known_index(self, index: typed.Expression, count: int, base: Designator | None, node: ast.Index | Span) -> int | None:
        """The number of an entry where it is known; outside is an error."""
        self.integer(index)
        if not isinstance(index, typed.Constant):
            return None
        number = read(index.value, index.type)
        if 0 <= number < count:
            return number
        notes: tuple[Note, ...] = ()
        if isinstance(base, typed.Place):
            notes = (Note("declared here", base.variable.span),)
        what = "entry" if count == 1 else "entries"
        raise self.error("E0408", f"index {number} is out of range", index.span, f"it has {count} {what}, 0 to {count - 1}", notes)

    def _unsigned(self, index: typed.Expression) -> typed.Expression:
        """An index as an unsigned number; a negative one is outside."""
        kind = self.integer(index)
        return self.cast(index, typed.Integer(kind.bits)) if kind.signed else index

    def entry_of(self, view: View, index: typed.Expression, span: Span) -> Designator:
        """`view[index]`."""
        known = self._known_index(index, view.count, view.base, span)
        kind = view.element
        if known is not None:
            return self.step(view.base, typed.Slice(view.low + known * kind.bits, kind, view.swap), span)
        whole = typed.Array(kind, view.count)
        base: Designator = view.base
        if view.low or whole.bits != view.base.type.bits:
            base = self.step(base, typed.Slice(view.low, whole), span)
        return self.step(base, typed.Entry(self._unsigned(index), kind, view.count, view.swap), span)

    # Views

    def view(self, node: ast.Expression) -> View | None:
        """The view that an expression is, or None where it is none."""
        match node:
            case ast.Reference(name=name):
                found = self.scope.find(name)
                return found if isinstance(found, View) else None
            case ast.Unary(operator="&", operand=operand, span=span):
                return self._address(operand, span)
            case ast.Cast(type=kind, is_view=True, operand=operand, span=span):
                return self._view_as(self.type(kind), operand, span)
            case ast.Binary(operator="+" | "-" as operator, left=left, right=right, span=span):
                view = self.view(left)
                return None if view is None else self._moved(view, operator, right, span)
        return None

    def _address(self, operand: ast.Expression, span: Span) -> View:
        inner = self.view(operand)
        if inner is not None:
            return inner
        place = self.designator(operand)
        if not isinstance(place, typed.Place):
            raise self.error(
                "E0411",
                "'&' needs a variable, a field or an entry",
                span,
                "assign the value to a variable first: flit x = read(in);",
            )
        return View(self.frozen(place), 0, place.type, 1, False, True)

    def frozen(self, place: typed.Place) -> typed.Place:
        """The place that is meant now, whatever becomes of its indices later."""
        steps: list[typed.Step] = []
        for step in place.steps:
            if isinstance(step, typed.Entry):
                steps.append(replace(step, index=self.hoist(step.index, "index")))
            else:
                steps.append(step)
        return typed.Place(place.variable, tuple(steps), place.span)

    def stable(self, place: typed.Place) -> typed.Place:
        """A place that can be evaluated twice."""
        return place if is_pure(place.steps) else self.frozen(place)

    def _view_as(self, kind: typed.Type, operand: ast.Expression, span: Span) -> View:
        view = self.view(operand)
        if view is None:
            raise self.error("E0411", "a view must be initialised with an address", operand.span, f"({describe(kind)} *) &place")
        room = view.base.type.bits - view.low
        count = room // kind.bits
        if count < 1:
            text = f"{describe(kind)} has {kind.bits} bits, but only {room} remain here"
            raise self.error("E0411", text, span, "read a header that crosses the end of a flit from the next flit")
        from_bytes = isinstance(view.base.type, typed.Integer | typed.Array)
        swap = isinstance(kind, typed.Struct) and kind.is_header and from_bytes
        return View(view.base, view.low, kind, count, swap)

    def _moved(self, view: View, operator: str, by: ast.Expression, span: Span) -> View:
        amount = self.expression(by)
        if not isinstance(amount, typed.Constant):
            hint = "use a constant offset and index the view: p[i]"
            raise self.error("E0411", "the offset of a view is not constant", by.span, hint)
        number = read(amount.value, amount.type) * (-1 if operator == "-" else 1)
        low = view.low + number * (8 if view.in_bytes else view.element.bits)
        if not 0 <= low < view.base.type.bits:
            text = f"{number} is outside {describe(view.base.type)}, which has {view.base.type.bits // 8} bytes"
            raise self.error("E0411", text, by.span, "the offset is in bytes from the start")
        count = max(1, (view.base.type.bits - low) // view.element.bits)
        return replace(view, low=low, count=count)


def _has_value(binding: Binding) -> bool:
    return not isinstance(binding, Broken)
