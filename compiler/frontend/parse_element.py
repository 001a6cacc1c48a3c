# SPDX-License-Identifier: Apache-2.0
"""Elements in both port forms, functions, tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.frontend import ast
from compiler.frontend import ast_element as tree
from compiler.frontend.lexer import Kind
from compiler.frontend.parse_expression import C_TYPES, PRECEDENCE, Recover
from compiler.frontend.parse_statement import StatementParser
from compiler.frontend.parser import AGGREGATES
from compiler.frontend.source import Span, closest

SECTIONS = ("state", "init", "handler", "signal", "timer", "native", "repeat")


@dataclass
class _Parts:
    """What an element collects while it is parsed."""

    states: list[tree.Statement] = field(default_factory=list)
    init: tree.Block | None = None
    handler: tree.Block | None = None
    signals: list[tree.Function | tree.PlainSignal] = field(default_factory=list)
    timers: list[tree.Timer] = field(default_factory=list)
    functions: list[tree.Function] = field(default_factory=list)
    tables: list[tree.Table] = field(default_factory=list)
    flows: list[tree.Flow] = field(default_factory=list)
    natives: list[tree.Native] = field(default_factory=list)


class ElementParser(StatementParser):
    """`.element`; the current token is its dot."""

    def element(self) -> tree.Element:
        """A whole element."""
        doc = self._doc_before()
        start = self.next().span
        self.next()
        name = self.name("the element's name")
        parameters, ports = self.head()
        parts = _Parts()
        self.expect("{", "write the body of the element: { .handler { … } }")
        while not self.at("}") and not self.at_end() and not self.at_item():
            begin = self.index
            try:
                self._part(parts)
            except Recover:
                self._skip_part(begin)
        end = self.expect("}", "close the element with '}'")
        return tree.Element(
            name, parameters, ports, tuple(parts.states), parts.init, parts.handler, tuple(parts.signals),
            tuple(parts.timers), tuple(parts.functions), tuple(parts.tables), tuple(parts.flows), tuple(parts.natives), doc,
            start.to(end.span),
        )  # fmt: skip

    def at_item(self) -> bool:
        """Whether an element or group begins here."""
        return self.at(".") and self.peek().text in ("element", "element_group")

    def _skip_part(self, begin: int) -> None:
        """Go on at the next section, or in front of the element's end."""
        depth = 0
        if self.index == begin:
            self.next()
        while not self.at_end():
            if depth <= 0 and self.at(".") and self.peek().text in SECTIONS and self.tokens[self.index - 1].text in ("}", ";"):
                return
            if self.at_item():
                return
            if self.at("}"):
                if depth == 0:
                    return
                depth -= 1
            if self.at("{"):
                depth += 1
            self.next()

    def head(self) -> tuple[tuple[tree.Parameter, ...], tree.Ports]:
        """`<1, 1>`, `(packet in -> packet out)`, `<K = 4> (...)`."""
        start = self.token.span
        parameters: tuple[tree.Parameter, ...] = ()
        if self.at("<"):
            if self.peek().kind is Kind.NUMBER or self.peek().text == "(":
                return (), self._numbered()
            parameters = self._parameters()
        if self.at("<"):
            return parameters, self._numbered()
        hint = "write ports as <1, 1> or (packet in -> packet out)"
        self.expect("(", hint)
        inputs = self._port_list("->")
        self.expect("->", hint)
        outputs = self._port_list(")")
        end = self.expect(")", hint)
        return parameters, tree.Ports(None, None, inputs, outputs, False, start.to(end.span))

    def _numbered(self) -> tree.Ports:
        start = self.expect("<").span
        first = self.parameter_value()
        self.expect(",", "<inputs, outputs>")
        second = self.parameter_value()
        end = self.expect(">", "<inputs, outputs>")
        return tree.Ports(first, second, (), (), True, start.to(end.span))

    def _parameters(self) -> tuple[tree.Parameter, ...]:
        self.expect("<")
        found: list[tree.Parameter] = []
        while not self.at(">"):
            if self.at(*C_TYPES) and self.peek().kind is Kind.NAME:
                self.next()
            name = self.name("the name of a parameter")
            default = self.parameter_value() if self.accept("=") else None
            found.append(tree.Parameter(name, default, name.span))
            if not self.accept(","):
                break
        self.expect(">", "write parameters as <K = 1024, T>")
        return tuple(found)

    def parameter_value(self) -> ast.Expression:
        """A constant or a type; a `>` ends it."""
        return self._binary(PRECEDENCE["+"])

    def _port_list(self, end: str) -> tuple[tree.PortDeclaration, ...]:
        found: list[tree.PortDeclaration] = []
        while not self.at(end) and not self.at_end():
            kind = self.type()
            name = self.name("the name of a port")
            count = self._count()
            found.append(tree.PortDeclaration(kind, name, count, kind.span.to(self.tokens[self.index - 1].span)))
            if not self.accept(","):
                break
        return tuple(found)

    def _part(self, parts: _Parts) -> None:
        """One section, function, table or state."""
        if self.at("."):
            self._section(parts)
        elif self.at("table"):
            parts.tables.append(self._table())
        elif self.at("flow") and self.peek().text == "<":
            parts.flows.append(self._flow())
        elif self.at(*AGGREGATES, "enum") and self._declares_type():
            parts.states += self.type_declaration()
        elif self.at_function():
            parts.functions.append(self.function())
        else:
            parts.states += self._state_declaration()

    def _section(self, parts: _Parts) -> None:
        word = self.peek().text
        if word == "state":
            self._take_section()
            parts.states += self._states()
        elif word == "repeat":
            parts.states.append(self._repeat())
        elif word in ("init", "handler"):
            start = self._take_section()
            if getattr(parts, word) is not None:
                self.diagnostics.error("E0205", f"duplicate '.{word}'", start, "an element has only one")
            setattr(parts, word, self.block())
        elif word == "signal":
            self._take_section()
            parts.signals.append(tree.PlainSignal(*self._plain()) if self.at("{") else self.function())
        elif word == "timer":
            parts.timers.append(self._timer())
        elif word == "native":
            parts.natives.append(self._native())
        else:
            near = closest(word, list(SECTIONS))
            hint = f"did you mean '.{near}'?" if near else "one of " + ", ".join("." + name for name in SECTIONS)
            self.next()
            raise self.fail("a section of an element", hint)

    def _take_section(self) -> Span:
        start = self.next().span
        return start.to(self.next().span)

    def _plain(self) -> tuple[tree.Block, Span]:
        body = self.block()
        return body, body.span

    def _states(self) -> list[tree.Statement]:
        self.expect("{")
        found: list[tree.Statement] = []
        while not self.at("}") and not self.at_end():
            start = self.index
            try:
                found += self._state_declaration()
            except Recover:
                self._skip_statement(start)
        self.expect("}")
        return found

    def _state_declaration(self) -> list[tree.Statement]:
        if self.at(".") and self.peek().text == "repeat":
            return [self._repeat()]
        if self.at(*AGGREGATES, "enum") and self._declares_type():
            return self.type_declaration()
        if self.at("flow", "table"):
            raise self.fail("a state", f"declare a {self.token.text} in the element, outside .state")
        if self.at(*SECTIONS) and self.peek().text == "{":
            raise self.fail("a section of an element", f"write '.{self.token.text}'")
        if not self._at_declaration():
            raise self.fail("a state", "declare a state: ulong count = 0;")
        return list(self.variables())

    def _timer(self) -> tree.Timer:
        start = self._take_section()
        hint = "write the period in microseconds: .timer name (every = 1000) { … }"
        name = self.name("the timer's name")
        self.expect("(", hint)
        self.expect("every", hint)
        self.expect("=", hint)
        every = self.expression()
        self.expect(")", hint)
        return tree.Timer(name, every, self.block(), start.to(name.span))

    def _native(self) -> tree.Native:
        start = self._take_section()
        language = self.name("sv, cpp or packet")
        if language.text not in ("sv", "cpp", "packet"):
            text = f"unknown language '{language.text}' for a native body"
            self.diagnostics.error("E0206", text, language.span, "use sv, cpp or packet")
        if self.token.kind is not Kind.STRING:
            raise self.fail("a file name", '.native sv "file.sv"')
        file = self.next()
        self.accept(";")
        return tree.Native(language, file.text[1:-1], start.to(file.span))

    def _table(self) -> tree.Table:
        start = self.next().span
        hint = "table lpm<uint<32>, route_t> routes[512];"
        kind = self.name("exact, ternary or lpm")
        self.expect("<", hint)
        key = self.type()
        self.expect(",", hint)
        value = self.type()
        self.expect(">", hint)
        name = self.name("the name of the table")
        self.expect("[", hint)
        entries = self.expression()
        self.expect("]")
        end = self.expect(";")
        return tree.Table(kind, key, value, name, entries, start.to(end.span))

    def _flow(self) -> tree.Flow:
        start = self.next().span
        hint = "flow<key_t, value_t> name[4096] (ways = 4, timeout = 0);"
        self.expect("<", hint)
        key = self.type()
        self.expect(",", hint)
        value = self.type()
        self.expect(">", hint)
        name = self.name("the name of the flow")
        self.expect("[", hint)
        entries = self.expression()
        self.expect("]")
        options: list[tree.Argument] = []
        if self.accept("("):
            while not self.at(")") and not self.at_end():
                option = self.name("ways, timeout or evict")
                self.expect("=", hint)
                given = self.expression()
                options.append(tree.Argument(option, given, option.span.to(given.span)))
                if not self.accept(","):
                    break
            self.expect(")", hint)
        end = self.expect(";")
        return tree.Flow(key, value, name, entries, tuple(options), start.to(end.span))

    # Functions

    def at_function(self) -> bool:
        """`type name (`."""
        at = 1
        if self.token.text in ("uint", "int") and self.peek().text == "<":
            depth = 0
            while self.peek(at).kind is not Kind.END and at < 64:
                text = self.peek(at).text
                depth += {"<": 1, ">": -1, ">>": -2}.get(text, 0)
                at += 1
                if depth <= 0:
                    break
        is_name = self.token.kind is Kind.NAME and self.peek(at).kind is Kind.NAME
        return is_name and self.peek(at + 1).text == "(" and self.peek(at + 1).kind is Kind.PUNCTUATION

    def function(self) -> tree.Function:
        """A function, or a typed signal behind its `.signal`."""
        start = self.token.span
        result = None if self.accept("void") else self.type()
        name = self.name("the function's name")
        self.expect("(", "write the parameters: (uint a, uint b)")
        parameters: list[tree.FunctionParameter] = []
        if self.at("void") and self.peek().text == ")":
            self.next()
        while not self.at(")") and not self.at_end():
            kind = self.type()
            is_view = self.accept("*") is not None
            parameter = self.name("the name of a parameter")
            parameters.append(tree.FunctionParameter(kind, parameter, is_view, kind.span.to(parameter.span)))
            if not self.accept(","):
                break
        self.expect(")")
        body = self.block()
        return tree.Function(result, name, tuple(parameters), body, start.to(name.span))
