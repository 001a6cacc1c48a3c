# SPDX-License-Identifier: Apache-2.0
"""C++ of the bodies of an element: statements and expressions, each with the line of the source that it comes from.

C++ leaves the order of operands open; where it can be seen, they become the lines of a lambda. A part of a value that is a
field or an element is named as such; any other is a range of bits (`part`, `put`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from compiler.backends.cpp_ahead import KeyAhead
from compiler.backends.cpp_analysis import Locals, flit_in_place, is_impure, place_locals
from compiler.backends.cpp_places import by_members
from compiler.backends.cpp_types import Namer, Types, quoted
from compiler.frontend import typed
from compiler.frontend.source import Span

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass
class Context:
    """The element around a body: how things are called there. `keeps`: states that change must be kept for a roll-back. `ahead`:
    what is looked up before its packet's turn."""

    types: Types
    element: typed.Element
    ports: Mapping[typed.Port, str]
    states: Mapping[typed.Variable, str]
    functions: Mapping[typed.Function, str]
    selects: Mapping[tuple[typed.Port, ...], str]
    tables: Mapping[str, str]
    keeps: bool
    names: Namer
    is_step: bool = False
    ahead: Sequence[KeyAhead] = ()


class Body:
    """Writes one body: `lines` of C++, indented for a member function of a class."""

    def __init__(self, context: Context, kind: str, result: typed.Type | None) -> None:
        self.context = context
        self.types = context.types
        self.kind = kind  # "init", "handler", "signal" or "function"
        self.result = result
        self.lines: list[str] = []
        self.names = Namer(context.names.taken)
        self.locals: dict[typed.Variable, str] = {}
        self.placed = Locals(set(), [], set())
        self.in_place = flit_in_place(context.element) if kind == "handler" else None
        self.depth = 2
        self.last_line = ""
        self.comments = True

    def write(self, body: typed.Block, parameters: Sequence[typed.Variable]) -> str:
        """The lines of the body, parameters named first."""
        for variable in parameters:
            self._name(variable)
        self.placed = place_locals(body, tuple(parameters))
        if self.kind == "signal" and self.result is not None:
            self._line(f"[[maybe_unused]] {self.types.name(self.result)} answer{{}};")
        for variable in self.placed.top:
            self._line(f"{self._unused(variable)}{self.types.name(variable.type)} {self._name(variable)}{{}};")
        self._block(body)
        if self.result is not None and not (body.statements and isinstance(body.statements[-1], typed.Return)):
            self._line("return answer;" if self.kind == "signal" else "return {};")
        return "".join(self.lines)

    def write_ahead(self) -> str:
        """The lines that ask tables for the keys of the flit `coming_`, which is number `i_` of those that come."""
        assert self.in_place is not None
        self.locals[self.in_place] = "coming_"
        self.depth += 1
        for assignment in {id(one): one for key in self.context.ahead for one in key.locals}.values():
            kind = assignment.place.type
            value = self.converted(self.value(assignment.value), assignment.value.type, kind)
            self._line(f"const {self.types.name(kind)} {self._name(assignment.place.variable)} = {value};")
        for number, key in enumerate(self.context.ahead):
            table = self.context.tables[key.lookup.table.name]
            self._line(f"{table}.soon({self.value(key.lookup.key)}, soon_{number}_[i_]);")
        return "".join(self.lines)

    def _found(self, lookup: typed.Lookup) -> str:
        """Whether there is a rule; its value goes to `found`."""
        for number, key in enumerate(self.context.ahead):
            if key.lookup is lookup:
                return f"found_soon(soon_{number}_[turn_], [&] {{ return {self.value(lookup.key)}; }}, found)"
        return f"{self.context.tables[lookup.table.name]}.find({self.value(lookup.key)}, found)"

    def parameters(self, parameters: Sequence[typed.Variable]) -> str:
        """The parameter list; after `write`."""
        return ", ".join(f"{self._unused(v)}{self.types.name(v.type)} {self.locals[v]}" for v in parameters)

    def _unused(self, variable: typed.Variable) -> str:
        return "" if variable in self.placed.used else "[[maybe_unused]] "

    def _name(self, variable: typed.Variable) -> str:
        self.locals[variable] = self.names(variable.name)
        return self.locals[variable]

    def _line(self, text: str, span: Span | None = None) -> None:
        comment = ""
        if self.comments and span is not None and f"{span.source.name}:{span.line}" != self.last_line:
            self.last_line = f"{span.source.name}:{span.line}"
            comment = f" // {self.last_line}"
        self.lines.append(f"{'    ' * self.depth}{text}{comment}\n")

    # Places

    def _variable(self, variable: typed.Variable) -> str:
        if variable.is_state:
            return self.context.states[variable]
        return self.locals[variable] if variable in self.locals else self._name(variable)

    def converted(self, text: str, source: typed.Type, target: typed.Type) -> str:
        """The same bits as another type."""
        if self.types.same(source, target):
            return text
        text = self._value_of(text)
        if isinstance(source, typed.Integer) and isinstance(target, typed.Integer):
            if text.isidentifier():  # `T(f(U(x)))` may be taken for a declaration of f
                return f"{self.types.name(target)}{{{text}}}"
            return f"{self.types.name(target)}({text})"
        return f"same_bits<{self.types.name(target)}>({text})"

    def _member(self, kind: typed.Type, step: typed.Step, index: str) -> tuple[str, typed.Type] | None:
        """What C++ writes behind a value of this type for a step that is a member of it, and the member's type."""
        if step.swap:
            return None
        match kind, step:
            case typed.Struct(fields=fields), typed.Slice(low=low, type=part):
                for field in fields:
                    if field.low == low and field.type.bits == part.bits:
                        return f".{self.types.fields[kind][field.name]}", field.type
            case typed.Array(element=element), typed.Slice(low=low, type=part):
                if part.bits == element.bits and low % element.bits == 0:
                    return f".items[{low // element.bits}]", element
            case typed.Array(element=element, count=count), typed.Entry(type=part, count=entries):
                if part.bits == element.bits and count == entries:
                    return f".get({index})", element
            case _:
                pass
        return None

    def _step(self, text: str, kind: typed.Type, step: typed.Step, index: str) -> str:
        """Reads a part of a value."""
        self.types.name(kind)
        member = self._member(kind, step, index)
        if member:
            return self.converted(text + member[0], member[1], step.type)
        own = self.types.name(step.type)
        match step:
            case typed.Slice(low=0, type=part, swap=False) if part.bits == kind.bits:
                return self.converted(text, kind, part)
            case typed.Slice(low=low):
                found = f"part<{own}>({text}, {low})"
            case typed.Entry(count=count):
                found = f"entry<{own}, {count}>({text}, {index})"
        return f"swapped({found})" if step.swap else found

    def _steps(self, text: str, kind: typed.Type, step: typed.Step, index: str) -> str:
        for inner in by_members(kind, [step]):
            text = self._step(text, kind, inner, index)
            kind = inner.type
        return text

    def _read(self, place: typed.Place, found: Sequence[str]) -> str:
        text, kind = self._variable(place.variable), place.variable.type
        left = list(found)
        for step in by_members(kind, place.steps):
            text = self._step(text, kind, step, left.pop(0) if isinstance(step, typed.Entry) else "")
            kind = step.type
        return self._value_of(text)

    def _value_of(self, text: str) -> str:
        """Of the flit in the packet, or of its data, where the text names one of them."""
        own = self.locals.get(self.in_place) if self.in_place else None
        return f"whole({text})" if own and text in (own, f"{own}.data") else text

    def _assign(self, place: typed.Place, found: Sequence[str], value: str) -> list[str]:
        """The statements that write a place; `found` are its indices, in order."""
        text = self._variable(place.variable)
        keep = place.variable.is_state and self.context.keeps and self.kind != "init"
        steps = by_members(place.variable.type, place.steps)
        return self._put(text, place.variable.type, steps, list(found), value, keep)

    def _put(self, text: str, kind: typed.Type, steps: Sequence[typed.Step], found: list[str], value: str, keep: bool) -> list[str]:
        self.types.name(kind)
        while steps:
            index = found[0] if isinstance(steps[0], typed.Entry) else ""
            member = self._member(kind, steps[0], index)
            if not member or not self.types.same(member[1], steps[0].type):
                break
            text += member[0].replace(".get(", ".at(", 1) if index else member[0]
            kind, steps, found = member[1], steps[1:], found[1:] if index else found
        text = f"keep({text})" if keep else text
        if not steps:
            return [f"{text} = {value};"]
        step, rest = steps[0], steps[1:]
        index = found[0] if isinstance(step, typed.Entry) else ""
        if rest:
            view = self.names("view")
            inner = self._put(view, step.type, rest, found[1:] if index else found, value, False)
            first = f"auto {view} = {self._step(text, kind, step, index)};"
            return ["{", f"    {first}", *(f"    {line}" for line in [*inner, self._put_step(text, step, index, view)]), "}"]
        return [self._put_step(text, step, index, value)]

    def _put_step(self, text: str, step: typed.Step, index: str, value: str) -> str:
        value = f"swapped({value})" if step.swap else value
        match step:
            case typed.Slice(low=low):
                return f"put({text}, {low}, {value});"
            case typed.Entry(count=count):
                return f"put_entry<{count}>({text}, {index}, {value});"

    # Expressions

    def ordered(self, operands: Sequence[typed.Expression], build: Callable[[list[str]], str]) -> str:
        """`build` of the operands' texts; evaluated one after the other where that can be seen."""
        varying = [operand for operand in operands if not isinstance(operand, typed.Constant)]
        if len(varying) < 2 or not any(is_impure(operand) for operand in varying):
            return build([self._operand(operand) for operand in operands])
        names = [self.names("value") for _ in operands]
        lines = [f"const auto {name} = {self.value(operand)};" for name, operand in zip(names, operands, strict=True)]
        return f"[&] {{ {' '.join(lines)} return {build(names)}; }}()"

    def _operand(self, node: typed.Expression) -> str:
        text = self.value(node)
        needs = (
            isinstance(node, typed.Binary | typed.Unary) and not text.endswith("}()") and node.operator not in (*COMPARISONS, "!")
        )
        return f"({text})" if needs else text

    def condition(self, node: typed.Expression) -> str:
        """An expression that C++ takes as a condition."""
        match node:
            case typed.Binary(operator=operator, left=left, right=right) if operator in COMPARISONS:
                return self.ordered([left, right], lambda v: f"{v[0]} {operator} {v[1]}")
            case typed.Unary(operator="!", operand=operand):
                return f"!{self._grouped(operand)}"
            case typed.Logical(operator=operator, left=left, right=right):
                return f"{self._grouped(left)} {operator} {self._grouped(right)}"
            case typed.Constant(value=value):
                return "true" if value else "false"
            case _:
                return self.value(node)

    def _grouped(self, node: typed.Expression) -> str:
        text = self.condition(node)
        return f"({text})" if isinstance(node, typed.Binary | typed.Logical) else text

    def value(self, node: typed.Expression) -> str:
        """An expression of its C++ type."""
        types = self.types
        match node:
            case typed.Constant(value=value, type=kind):
                return types.constant(value, kind)
            case typed.Load(place=place):
                inner = [step.index for step in place.steps if isinstance(step, typed.Entry)]
                return self.ordered(inner, lambda v: self._read(place, v))
            case typed.Binary(operator=operator) if operator in COMPARISONS:
                return f"Bool({self.condition(node)})"
            case typed.Binary(operator=operator, left=left, right=right):
                return self.ordered([left, right], lambda v: f"{v[0]} {operator} {v[1]}")
            case typed.Unary(operator="!"):
                return f"Bool({self.condition(node)})"
            case typed.Unary(operator=operator, operand=operand):
                return f"{operator}{self._operand(operand)}"
            case typed.Logical():
                return f"Bool({self.condition(node)})"
            case typed.Conditional(condition=condition, then=then, otherwise=otherwise, type=kind):
                yes, no = (self.converted(self.value(n), n.type, kind) for n in (then, otherwise))
                return f"({self._grouped(condition)} ? {yes} : {no})"
            case typed.Cast(operand=typed.Binary(">>", left, typed.Constant(value=low)), type=kind) if _is_part(
                left.type, low, kind
            ):
                return f"part<{types.name(kind)}>({self.value(left)}, {low})"
            case typed.Cast(operand=operand, type=kind):
                return self.converted(self.value(operand), operand.type, kind)
            case typed.Part(operand=operand, step=step):
                inner = [operand] + ([step.index] if isinstance(step, typed.Entry) else [])
                return self.ordered(inner, lambda v: self._steps(v[0], operand.type, step, v[-1]))
            case typed.Pack(parts=parts, type=kind):
                return self._pack(parts, kind)
            case typed.Call(function=function, arguments=arguments):
                name = self.context.functions[function]
                return self.ordered(arguments, lambda v: f"{name}({', '.join(v)})")
            case _:
                return self._built_in(node)

    def _pack(self, parts: Sequence[typed.Expression], kind: typed.Type) -> str:
        own = self.types.name(kind)
        if isinstance(kind, typed.Struct):
            wanted = [field.type for field in kind.fields]
        else:
            assert isinstance(kind, typed.Array)
            wanted = [kind.element] * kind.count
        texts = ", ".join(self.converted(self.value(p), p.type, w) for p, w in zip(parts, wanted, strict=True))
        return f"{own}{{{texts}}}" if isinstance(kind, typed.Struct) else f"{own}{{{{{texts}}}}}"

    def _built_in(
        self,
        node: (
            typed.Read | typed.Peek | typed.Test | typed.Ready | typed.SelectPort | typed.Now | typed.Random | typed.Lookup
            | typed.Update
        ),
    ) -> str:  # fmt: skip
        own = self.types.name(node.type)
        match node:
            case typed.Read(port=port):
                return f"{self.context.ports[port]}.read()"
            case typed.Peek(port=port):
                return f"{self.context.ports[port]}.peek()"
            case typed.Test(port=port):
                return f"{self.context.ports[port]}.test()"
            case typed.Ready():
                return f"{own}(ready_mask())"
            case typed.Now():
                return f"{own}(now())"
            case typed.Random():
                return "random()"
            case typed.SelectPort(ports=ports, index_to=place):
                taken = f"{self.context.selects[ports]}.take(index)"
                if place is None:
                    return f"[&] {{ uint64_t index = 0; return {taken}; }}()"
                chosen = f"{self.types.name(place.type)}(index)"
                return f"[&] {{ uint64_t index = 0; const auto token = {taken}; {self._to(place, chosen)} return token; }}()"
            case typed.Lookup(table=table, to=place):
                kept = self._to(place, self.converted("found", table.value, place.type)) if place else ""
                found = f"{self.types.name(table.value)} found{{}}; [[maybe_unused]] const bool hit = {self._found(node)};"
                return f"[&] {{ {found} {kept} return Bool(hit); }}()"
            case typed.Update(table=table, is_insert=is_insert, arguments=arguments):
                given = ", ".join(self.value(argument) for argument in arguments)
                return f"{own}({self.context.tables[table.name]}.{'insert' if is_insert else 'remove'}({given}))"
            case _:
                assert_never(node)

    def _to(self, place: typed.Place, value: str) -> str:
        found = [self.value(step.index) for step in place.steps if isinstance(step, typed.Entry)]
        return " ".join(self._assign(place, found, value))

    # Statements

    def _block(self, block: typed.Block) -> None:
        for statement in block.statements:
            self._statement(statement)

    def _statement(self, node: typed.Statement) -> None:
        match node:
            case typed.Assign():
                self._assignment(node)
            case typed.Evaluate(value=value):
                self._line(f"static_cast<void>({self.value(value)});", node.span)
            case typed.If():
                self._if(node, "")
            case typed.Loop():
                self._loop(node)
            case typed.Break():
                self._line("break;", node.span)
            case typed.Continue():
                self._line("continue;", node.span)
            case typed.Return(value=value):
                self._return(value, node.span)
            case typed.Write(port=port, value=typed.Load(place=typed.Place(variable=variable, steps=()))) if (
                port.is_packet and variable is self.in_place and variable in self.locals
            ):
                self._line(f"{self.context.ports[port]}.pass({self.locals[variable]});", node.span)
            case typed.Write(port=port, value=value):
                text = self.converted(self.value(value), value.type, port.type)
                self._line(f"{self.context.ports[port]}.write({text});", node.span)
            case typed.SetSignal(value=value):
                is_answer = self.kind == "signal" and self.result is not None
                text = (
                    self.converted(self.value(value), value.type, self.result) if is_answer and self.result else self.value(value)
                )
                self._line(f"answer = {text};" if is_answer else f"static_cast<void>({text});", node.span)
            case typed.Print(text=text, arguments=arguments):
                pieces = [quoted(piece) for piece in text.split("{}")]
                build = self.ordered(arguments, lambda v: _joined(pieces, v))
                self._line(f"print({build});", node.span)
            case typed.Check(condition=condition, text=text):
                self._line(f"if (!({self.condition(condition)}))", node.span)
                self._line(f"    fail({quoted(f'{node.span}: {text}')});")
            case _:
                assert_never(node)

    def _assignment(self, node: typed.Assign) -> None:
        place = node.place
        if place.variable is self.in_place and isinstance(node.value, typed.Read):
            if id(node) in self.placed.at:
                name = f"{self._unused(place.variable)}auto &&{self._name(place.variable)}"
                self._line(f"{name} = {self.context.ports[node.value.port]}.take();", node.span)
                return
            self.in_place = None
        if id(node) in self.placed.at:
            value = self.converted(self.value(node.value), node.value.type, place.type)
            unused = self._unused(place.variable)
            self._line(f"{unused}{self.types.name(place.type)} {self._name(place.variable)} = {value};", node.span)
            return
        inner = [step.index for step in place.steps if isinstance(step, typed.Entry)]
        value = self.converted(self.value(node.value), node.value.type, place.type)
        simple = not inner and len(place.steps) < 2
        if not simple and any(is_impure(n) for n in [*inner, node.value]):
            names = [self.names("index") for _ in inner]
            last = self.names("value")
            lines = [f"const auto {name} = {self.value(index)};" for name, index in zip(names, inner, strict=True)]
            lines += [f"const auto {last} = {value};", *self._assign(place, names, last)]
            lines = ["{", *(f"    {line}" for line in lines), "}"]
        else:
            lines = self._assign(place, [self.value(index) for index in inner], value)
        for number, line in enumerate(lines):
            self._line(line, None if number else node.span)

    def _if(self, node: typed.If, before: str) -> None:
        self._line(f"{before}if ({_no_declaration(self.condition(node.condition))}) {{", node.span)
        self._inner(node.then)
        inner = node.otherwise.statements
        if len(inner) == 1 and isinstance(inner[0], typed.If):
            self._if(inner[0], "} else ")
            return
        if inner:
            self._line("} else {")
            self._inner(node.otherwise)
        self._line("}")

    def _inner(self, block: typed.Block) -> None:
        self.depth += 1
        self._block(block)
        self.depth -= 1

    def _loop(self, node: typed.Loop) -> None:
        left = self.names("left")
        text = quoted(f"{node.span}: the loop reached its bound of {node.bound}")
        start = f"Rounds {left}(*this, {node.bound}, {text})"
        self._line(f"for ({start}; {self._grouped(node.condition)} && {left}.more(); {self._step_of(node.step)}) {{", node.span)
        self._inner(node.body)
        self._line("}")

    def _step_of(self, block: typed.Block) -> str:
        """The step of a loop as one expression."""
        if not block.statements:
            return ""
        before, self.lines = self.lines, []
        depth, self.depth, self.comments = self.depth, 0, False
        self._block(block)
        self.depth, self.comments = depth, True
        lines, self.lines = [line.strip() for line in self.lines], before
        if len(lines) == 1 and isinstance(block.statements[0], typed.Assign):
            return lines[0].removesuffix(";")
        return f"[&] {{ {' '.join(lines)} }}()"

    def _return(self, value: typed.Expression | None, span: Span) -> None:
        if self.kind == "handler" and value is not None:
            self._line(f"return wait_for({self.value(value)});" if self.context.element.numbered else "return;", span)
        elif value is not None and self.result is not None:
            self._line(f"return {self.converted(self.value(value), value.type, self.result)};", span)
        elif self.result is not None:
            self._line("return answer;" if self.kind == "signal" else "return {};", span)
        else:
            self._line("return;", span)


def _joined(pieces: Sequence[str], values: Sequence[str]) -> str:
    text = f"std::string({pieces[0]})"
    for value, piece in zip(values, pieces[1:], strict=False):
        text += f" + decimal({value})" + (f" + {piece}" if piece != '""' else "")
    return text


def _no_declaration(condition: str) -> str:
    """The same in parentheses where it begins as a declaration may: `Int<8>(f(Int<8>(a)…` could name a function f."""
    return f"({condition})" if re.match(r"[\w<>]+\(\w+\(", condition) else condition


def _is_part(whole: typed.Type, low: int, part: typed.Type) -> bool:
    """Whether a part is bits from `low` on of a number of several words."""
    is_long = isinstance(whole, typed.Integer) and not whole.signed and whole.bits > 64
    return is_long and isinstance(part, typed.Integer) and low + part.bits <= whole.bits
