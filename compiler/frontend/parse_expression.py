# SPDX-License-Identifier: Apache-2.0
"""The base of both parsers: taking tokens, reporting what was expected, types and constant expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.frontend import ast
from compiler.frontend.lexer import Kind, Token, lex
from compiler.frontend.source import Diagnostics, Source, Span

C_TYPES = {"bool": 1, "uchar": 8, "ushort": 16, "uint": 32, "ulong": 64, "int": 32}
LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
PRECEDENCE = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
MAX_NESTING = 32
MAX_CHAIN = 200  # operators in a row: each is a level of the tree


class Recover(Exception):
    """Raised after an error was reported; caught where parsing can go on."""


class ExpressionParser:
    """Tokens of one source, and what layouts and programs have in common."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics
        self.tokens = lex(source, diagnostics)
        self.index = 0
        self.nesting = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def next(self) -> Token:
        """Take the current token; the end of the file is never passed."""
        token = self.token
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        return self.token.kind in (Kind.PUNCTUATION, Kind.NAME) and self.token.text in texts

    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def accept(self, text: str) -> Token | None:
        return self.next() if self.at(text) else None

    def fail(self, wanted: str, hint: str = "", code: str = "E0201") -> Recover:
        """Report that something else was expected here."""
        text, hint = f"expected {wanted}, found {self.token.describe()}", hint or f"write {wanted} here"
        self.diagnostics.error(code, text, self.token.span, hint)
        return Recover()

    def expect(self, text: str, hint: str = "") -> Token:
        if self.at(text):
            return self.next()
        if text == ">" and self.at(">>"):
            return self._split_shift()
        if text == ";" and self.index > 0:
            before = self.tokens[self.index - 1].span
            place = Span(self.source, before.end, before.end)
            self.diagnostics.error("E0202", f"expected ';' before {self.token.describe()}", place, hint or "add ';'")
            raise Recover
        raise self.fail(f"'{text}'", hint)

    def _split_shift(self) -> Token:
        """Take the first half of '>>' where two '>' were meant."""
        token = self.token
        first = Span(self.source, token.span.start, token.span.start + 1)
        second = Span(self.source, token.span.start + 1, token.span.end)
        self.tokens[self.index] = Token(token.kind, ">", second, (), token.trailing)
        return Token(token.kind, ">", first, token.leading)

    def name(self, what: str) -> ast.Name:
        if self.token.kind is not Kind.NAME:
            raise self.fail(what)
        token = self.next()
        return ast.Name(token.text, token.span)

    # Types and expressions

    def type(self) -> ast.Type:
        """A type name, with its width where it has one."""
        name = self.name("a type")
        if name.text in ("uint", "int") and self.accept("<"):
            width = self._binary(PRECEDENCE["<<"] + 1)
            end = self.expect(">")
            return ast.IntegerType(name.text, width, name.span.to(end.span))
        if name.text in C_TYPES:
            return ast.IntegerType(name.text, None, name.span)
        return ast.NamedType(name.text, name.span)

    def expression(self) -> ast.Expression:
        """Any expression."""
        condition = self._binary(0)
        if not self.accept("?"):
            return condition
        with self.nested():
            then = self.expression()
            self.expect(":")
            otherwise = self.expression()
        return ast.Conditional(condition, then, otherwise, condition.span.to(otherwise.span))

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level deeper; too deep is an error."""
        self.nesting += 1
        try:
            if self.nesting > MAX_NESTING:
                raise self.fail("a simpler expression", f"nest at most {MAX_NESTING} levels", "E0203")
            yield
        finally:
            self.nesting -= 1

    def _binary(self, lowest: int) -> ast.Expression:
        """Operators of level `lowest` and higher, by precedence climbing."""
        left, count = self.unary(), 0
        while self.token.kind is Kind.PUNCTUATION and PRECEDENCE.get(self.token.text, -1) >= lowest:
            count += 1
            if count > MAX_CHAIN:
                raise self.fail("a simpler expression", f"use at most {MAX_CHAIN} operators in a row", "E0203")
            operator = self.next().text
            right = self._binary(PRECEDENCE[operator] + 1)
            left = ast.Binary(operator, left, right, left.span.to(right.span))
        return left

    def unary(self) -> ast.Expression:
        with self.nested():
            if self.at("-", "~", "!"):
                operator = self.next()
                operand = self.unary()
                return ast.Unary(operator.text, operand, operator.span.to(operand.span))
            return self.primary()

    def primary(self) -> ast.Expression:
        """A number, a name, a call, or an expression in parentheses."""
        if self.token.kind is Kind.NUMBER:
            token = self.next()
            return ast.Number(token.value, token.span, token.text)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        name = self.name("a value")
        if not self.accept("("):
            return ast.Reference(name.text, name.span)
        arguments = self.arguments()
        end = self.expect(")")
        return ast.Call(name, arguments, name.span.to(end.span))

    def arguments(self) -> tuple[ast.Expression, ...]:
        """Expressions up to the `)`, which is not taken."""
        arguments = [] if self.at(")") else [self.expression()]
        while self.accept(","):
            arguments.append(self.expression())
        return tuple(arguments)
