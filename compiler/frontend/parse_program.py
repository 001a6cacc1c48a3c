# SPDX-License-Identifier: Apache-2.0
"""Whole programs: declarations, elements, groups, and the statements of a configuration."""

from __future__ import annotations

from compiler.frontend import ast
from compiler.frontend import ast_element as tree
from compiler.frontend.lexer import Kind
from compiler.frontend.parse_element import ElementParser
from compiler.frontend.parse_expression import C_TYPES, Recover
from compiler.frontend.parser import AGGREGATES
from compiler.frontend.source import Diagnostics, Source, Span, closest

TOP = (".element", ".element_group", "import", "constexpr", "struct", "header", "enum", "static_assert")


class ProgramParser(ElementParser):
    """Parses one source into a `ProgramFile`."""

    def program(self) -> tree.ProgramFile:
        """The whole source."""
        imports: list[tree.Import] = []
        items: list[tree.Item] = []
        connections: list[tree.Connection] = []
        while not self.at_end():
            start = self.index
            try:
                if self.accept(";"):
                    continue
                if self.at("import"):
                    imports.append(self._program_import())
                elif self._at_connection():
                    connections.append(self.connection())
                else:
                    items.append(self._item())
            except Recover:
                self._skip_item(start)
        return tree.ProgramFile(self.source, tuple(imports), tuple(items), tuple(connections), tuple(self.tokens))

    def _skip_item(self, start: int) -> None:
        """Go on at what begins a line like a declaration or a connection."""
        if self.index == start:
            self.next()
        while not self.at_end():
            new_line = self.token.span.line > self.tokens[self.index - 1].span.line
            if self.at_item() or self.at("import", "constexpr", *AGGREGATES, "enum", "static_assert"):
                return
            if new_line and self.token.span.column == 1 and (self._at_connection() or self.at_function()):
                return
            self.next()

    def _item(self) -> tree.Item:
        if self.at_item():
            return self._group() if self.peek().text == "element_group" else self.element()
        doc = self._doc_before()
        if self.at("constexpr"):
            return self._file_constant(doc)
        if self.at("enum"):
            return self._take_semicolon(self._enum(doc))
        if self.at("static_assert"):
            return self._static_assert(doc)
        if self.at(*AGGREGATES):
            return self._take_semicolon(self._aggregate(doc))
        if self.at("element", "element_group") and self.peek().kind is Kind.NAME:
            raise self.fail("a declaration or a connection", f"write '.{self.token.text}'")
        if self.at_function() or self.at("void"):
            return self.function()
        if self.token.kind is Kind.NAME and self.peek().text == ":":
            raise self.fail("a declaration or a connection", "declare an instance with two colons: Element :: name")
        before = self.tokens[self.index - 1] if self.index else self.token
        if before.span.line == self.token.span.line and before.kind is Kind.NAME and self.token.kind is Kind.NAME:
            raise self.fail("a declaration or a connection", f"is '->' missing before '{self.token.text}'?")
        word = self.token.text + (self.peek().text if self.at(".") else "")
        near = closest(word, list(TOP))
        raise self.fail(
            "a declaration or a connection", f"did you mean '{near}'?" if near else f"one of {', '.join(TOP)}, or a -> b"
        )

    def _file_constant(self, doc: str) -> ast.Constant | tree.Declaration:
        """A number, or an array or struct of constants."""
        start = self.next().span
        kind, name = self.type(), self.name("the constant's name")
        counts = []
        while (count := self._count()) is not None:
            counts.append(count)
        self.expect("=")
        value = self.expression()
        end = self.expect(";")
        if counts or isinstance(value, ast.Braces):
            return tree.Declaration(kind, name, tuple(counts), value, False, "constexpr", start.to(end.span))
        return ast.Constant(kind, name, value, self._doc(doc, end), start.to(end.span))

    def _take_semicolon(self, item: tree.Item) -> tree.Item:
        self.accept(";")
        return item

    def _program_import(self) -> tree.Import:
        start = self.next().span
        if self.token.kind is not Kind.STRING:
            raise self.fail("a file name", 'import "file.sl";')
        path = self.next()
        namespace = self.name("the name of the namespace") if self.accept("as") else None
        end = self.expect(";")
        return tree.Import(path.text[1:-1], namespace, start.to(end.span))

    # Configurations

    def _at_connection(self) -> bool:
        if self.at("["):
            return True
        if self.at(".") and self.peek().text == "repeat":
            return True
        if self.token.kind is not Kind.NAME or self.at(*C_TYPES):
            return False
        if self.at("host"):
            return True
        after = self.peek()
        return after.kind is Kind.PUNCTUATION and after.text in ("::", "->", "=>", "[", ".", "<", "@")

    def _group(self) -> tree.Group:
        start = self.next().span
        self.next()
        name = self.name("the group's name")
        parameters, ports = self.head()
        self.expect("{")
        connections: list[tree.Connection] = []
        while not self.at("}") and not self.at_end():
            if not self.accept(";"):
                connections.append(self.connection())
        end = self.expect("}")
        return tree.Group(name, parameters, ports, tuple(connections), start.to(end.span))

    def connection(self) -> tree.Connection:
        """A declaration, a chain, or `.repeat`."""
        if self.at(".") and self.peek().text == "repeat":
            return self._repeat_connections()
        first = self._end()
        if first.declares and not self.at("->", "=>"):
            return first.declares
        ends, arrows = [first], []
        while self.at("->", "=>"):
            arrows.append(self._arrow())
            ends.append(self._end())
        if not arrows:
            raise self.fail("'->'", "write Element :: name, or a -> b")
        return tree.Chain(tuple(ends), tuple(arrows), first.span.to(ends[-1].span))

    def _repeat_connections(self) -> tree.RepeatConnections:
        start = self.token.span
        name, low, high = self._repeat_head()
        self.expect("{")
        body: list[tree.Connection] = []
        while not self.at("}") and not self.at_end():
            if not self.accept(";"):
                body.append(self.connection())
        end = self.expect("}")
        return tree.RepeatConnections(name, low, high, tuple(body), start.to(end.span))

    def _arrow(self) -> tree.Arrow:
        token = self.next()
        depth = None
        if self.accept("("):
            depth = self.expression()
            self.expect(")", "write the depth of a channel as ->(64)")
        return tree.Arrow(token.text == "=>", depth, token.span)

    def _bracketed(self) -> ast.Expression | None:
        if not self.accept("["):
            return None
        value = self.expression()
        self.expect("]")
        return value

    def _end(self) -> tree.End:
        start = self.token.span
        given = self._bracketed()
        host = self.accept("host") if self.peek().kind is Kind.NAME else None
        path = [self.name("the name of an instance or element")]
        arguments = self._arguments()
        while self.accept("::"):
            path.append(self.name("a name"))
            arguments = arguments or self._arguments()
        if len(path) > 1 and not (self.at("->", "=>", "[", ".") and host is None and given is not None):
            return self._declared(tuple(path), arguments, host is not None, given, start)
        return self._ports_of(tuple(path), arguments, None, given, start)

    def _declared(
        self,
        path: tuple[ast.Name, ...],
        arguments: tuple[tree.Argument, ...],
        host: bool,
        given: ast.Expression | None,
        start: Span,
    ) -> tree.End:
        """`Element :: name @`, alone or in a chain."""
        sign = self.accept("@")
        end = sign.span if sign else path[-1].span
        declares = tree.InstanceDeclaration(path[:-1], arguments, path[-1], host, sign is not None, start.to(end))
        return self._ports_of((path[-1],), (), declares, given, start)

    def _ports_of(
        self,
        path: tuple[ast.Name, ...],
        arguments: tuple[tree.Argument, ...],
        declares: tree.InstanceDeclaration | None,
        given: ast.Expression | None,
        start: Span,
    ) -> tree.End:
        port, port_index, output = None, None, None
        if self.at(".") and self.peek().text not in ("element", "element_group", "repeat"):
            self.next()
            port = self.name("the name of a port")
            port_index = self._bracketed()
        elif self.at("[") and not (declares and self._bracket_starts_a_line()):
            output = self._bracketed()
        span = start.to(self.tokens[self.index - 1].span)
        return tree.End(path, arguments, declares, port, port_index, given, output, span)

    def _bracket_starts_a_line(self) -> bool:
        return self.token.span.line > self.tokens[self.index - 1].span.line

    def _arguments(self) -> tuple[tree.Argument, ...]:
        found: list[tree.Argument] = []
        if not self.accept("<"):
            return ()
        while not self.at(">", ">>") and not self.at_end():
            name = None
            if self.token.kind is Kind.NAME and self.peek().text == "=":
                name = self.name("a parameter")
                self.next()
            value = self.parameter_value()
            found.append(tree.Argument(name, value, name.span.to(value.span) if name else value.span))
            if not self.accept(","):
                break
        self.expect(">")
        return tuple(found)


def parse_program(source: Source, diagnostics: Diagnostics) -> tree.ProgramFile:
    """The syntax tree of a program; what is broken is reported and left out."""
    return ProgramParser(source, diagnostics).program()
