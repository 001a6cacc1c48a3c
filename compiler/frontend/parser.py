# SPDX-License-Identifier: Apache-2.0
"""Layouts to a syntax tree, by recursive descent. An error is reported once and parsing goes on at the next declaration or
member, so that one run shows the errors of the whole file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from compiler.frontend import ast
from compiler.frontend.lexer import Kind, Token
from compiler.frontend.parse_expression import ExpressionParser, Recover
from compiler.frontend.source import Diagnostics, Source, closest

AGGREGATES = ("struct", "header", "record")
DECLARATIONS = ("import", "constexpr", "enum", *AGGREGATES, "registers", "static_assert")
ACCESSES = ("ro", "wo", "rw")
T = TypeVar("T")


class Parser(ExpressionParser):
    """Parses one source into a `File`."""

    # Declarations

    def file(self) -> ast.File:
        """The whole source."""
        doc = "\n".join(c.doc for c in self.token.leading if c.is_doc)
        imports: list[ast.Import] = []
        declarations: list[ast.Declaration] = []
        while not self.at_end():
            start = self.index
            try:
                item = self.declaration()
                (imports if isinstance(item, ast.Import) else declarations).append(item)  # type: ignore[arg-type]
            except Recover:
                self._skip_declaration(start)
        return ast.File(self.source, doc, tuple(imports), tuple(declarations), tuple(self.tokens))

    def _skip_declaration(self, start: int) -> None:
        if self.index == start:
            self.next()
        while not self.at_end() and not self.at(*DECLARATIONS):
            self.next()

    def declaration(self) -> ast.Import | ast.Declaration:
        """One declaration; the current token is its first."""
        parsers: dict[str, Callable[[str], ast.Import | ast.Declaration]] = {
            "import": self._import, "constexpr": self._constant, "enum": self._enum, "registers": self._registers,
            "static_assert": self._static_assert, **dict.fromkeys(AGGREGATES, self._aggregate),
        }  # fmt: skip
        parse = parsers.get(self.token.text) if self.token.kind is Kind.NAME else None
        if parse is None:
            near = closest(self.token.text, list(DECLARATIONS))
            raise self.fail("a declaration", f"did you mean '{near}'?" if near else f"one of {', '.join(DECLARATIONS)}")
        return parse(self._doc_before())

    def _doc_before(self) -> str:
        return "\n".join(c.doc for c in self.token.leading if c.is_doc)

    def _doc(self, before: str, last: Token) -> str:
        """Doc comments before a thing and behind its last token."""
        behind = [c.doc for c in last.trailing if c.is_doc]
        return "\n".join([*([before] if before else []), *behind])

    def _import(self, doc: str) -> ast.Import:
        del doc
        start = self.next().span
        if self.token.kind is not Kind.STRING:
            raise self.fail("a file name", 'import "file.sl";')
        path = self.next()
        end = self.expect(";")
        return ast.Import(path.text[1:-1], start.to(end.span))

    def _constant(self, doc: str) -> ast.Constant:
        start = self.next().span
        kind = self.type()
        name = self.name("the constant's name")
        if self.at("["):
            raise self.fail("'='", "a constant of a layout is one number", "E0201")
        self.expect("=")
        value = self.expression()
        end = self.expect(";")
        return ast.Constant(kind, name, value, self._doc(doc, end), start.to(end.span))

    def _static_assert(self, doc: str) -> ast.StaticAssert:
        start = self.next().span
        condition = self.expression()
        end = self.expect(";")
        return ast.StaticAssert(condition, doc, start.to(end.span))

    def _enum(self, doc: str) -> ast.Enum:
        start = self.next().span
        name = self.name("the enum's name")
        self.expect(":", "give the enum a size: enum name : uint<8> { … }")
        kind = self.type()
        self.expect("{")
        members: list[ast.EnumMember] = []
        while not self.at("}") and not self.at_end():
            members.append(self._enum_member())
        end = self.expect("}")
        return ast.Enum(name, kind, tuple(members), doc, start.to(end.span))

    def _enum_member(self) -> ast.EnumMember:
        doc = self._doc_before()
        name = self.name("an enum member")
        value = self.expression() if self.accept("=") else None
        last = self.tokens[self.index - 1]
        if not self.at("}"):
            last = self.expect(",", "separate the members with ','")
        return ast.EnumMember(name, value, self._doc(doc, last), name.span)

    def _members(self, parse: Callable[[], T]) -> tuple[tuple[T, ...], Token]:
        """`{ member; member; }`, going on behind a broken member."""
        self.expect("{")
        members: list[T] = []
        while not self.at("}") and not self.at_end():
            if self.at(*DECLARATIONS):
                raise self.fail("'}'", "close the block before the next declaration", "E0204")
            start = self.index
            try:
                members.append(parse())
            except Recover:
                self._skip_member(start)
        return tuple(members), self.expect("}")

    def _skip_member(self, start: int) -> None:
        """Go on behind the broken member's ';', or at the next line, where only the ';' is missing."""
        while not self.at(";", "}", *DECLARATIONS) and not self.at_end():
            if self.index > start and self.token.span.line > self.tokens[self.index - 1].span.line:
                return
            self.next()
        self.accept(";")

    def _aggregate(self, doc: str) -> ast.Aggregate:
        keyword = self.next()
        name = self.name(f"the {keyword.text}'s name")
        members, end = self._members(self._field)
        return ast.Aggregate(keyword.text, name, members, doc, keyword.span.to(end.span))

    def _field(self) -> ast.Field:
        doc = self._doc_before()
        kind = self.type()
        name = self.name("the field's name")
        count = self._count()
        end = self.expect(";")
        return ast.Field(kind, name, count, self._doc(doc, end), kind.span.to(end.span))

    def _count(self) -> ast.Expression | None:
        if not self.accept("["):
            return None
        count = self.expression()
        self.expect("]")
        return count

    def _registers(self, doc: str) -> ast.Registers:
        start = self.next().span
        name = self.name("the name of the registers")
        members, end = self._members(self._register)
        return ast.Registers(name, members, doc, start.to(end.span))

    def _register(self) -> ast.Register:
        doc = self._doc_before()
        if not self.at(*ACCESSES):
            raise self.fail("ro, wo or rw", "start a register with its access: rw uint<32> name @ 0x10;")
        access = self.next()
        kind = self.type()
        name = self.name("the register's name")
        count = self._count()
        self.expect("@", "give the register an offset: rw uint<32> name @ 0x10;")
        offset = self.expression()
        reset = self.expression() if self.accept("=") else None
        end = self.expect(";")
        return ast.Register(access.text, kind, name, count, offset, reset, self._doc(doc, end), access.span.to(end.span))


def parse(source: Source, diagnostics: Diagnostics) -> ast.File:
    """The syntax tree of a source; what is broken is reported and left out."""
    return Parser(source, diagnostics).file()
