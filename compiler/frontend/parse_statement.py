# SPDX-License-Identifier: Apache-2.0
"""Statements and the expressions of programs: members, indices, casts, calls of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from compiler.frontend import ast
from compiler.frontend import ast_element as tree
from compiler.frontend.lexer import Kind, Token
from compiler.frontend.parse_expression import C_TYPES, Recover
from compiler.frontend.parser import AGGREGATES, Parser
from compiler.frontend.source import Note, Span, closest

ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
PLACEMENTS = ("constexpr", "register", "local", "global")
MAX_BLOCKS = 24
MOST_BLOCKS = 4 * MAX_BLOCKS  # beyond it blocks are skipped, not read
MAX_ARMS = 500  # of an if
KEYWORDS = ("if", "else", "for", "while", "switch", "case", "default", "break", "continue", "return", "goto_state")


C_WORDS = {
    "unsigned": "write uint, or uint<N>", "signed": "write int, or int<N>", "char": "write uchar, or int<8>",
    "short": "write ushort, or int<16>", "long": "write ulong, or int<64>",
    "float": "floating point is not supported; scale to integers", "double": "floating point is not supported; scale to integers",
    "const": "write constexpr", "static": "declare variables that keep their value in .state",
    "do": "write while (condition) .unroll(8) { … }", "goto": "in a .state_machine, use goto_state",
    "typedef": "write struct name { … }", "union": "to read a variable as another type, use a view: (type *) &place",
}  # fmt: skip


class StatementParser(Parser):
    """Statements of handlers, signals and functions."""

    blocks = 0
    too_deep = False  # and said so, in this body

    # Expressions

    def unary(self) -> ast.Expression:
        with self.nested():
            if self.at("-", "~", "!", "&", "*"):
                operator = self.next()
                operand = self.unary()
                return ast.Unary(operator.text, operand, operator.span.to(operand.span))
            if self.at("++", "--"):
                raise self.fail("a value", "write 'i++' or 'i += 1' as a separate statement")
            if self._at_cast():
                return self._cast()
            return self._postfix(self.primary())

    def primary(self) -> ast.Expression:
        if self.token.kind is Kind.STRING:
            token = self.next()
            return ast.Text(token.text[1:-1], token.span)
        if self.at("{"):
            start = self.next()
            parts = self.arguments_until("}")
            return ast.Braces(parts, start.span.to(self.expect("}").span))
        if self.at("true", "false"):
            token = self.next()
            return ast.Reference(token.text, token.span)
        if self.at(*C_TYPES) or (self.at("table", "struct") and self.peek().kind is Kind.NAME):
            kind = self.type()
            return ast.TypeValue(kind, kind.span)
        return super().primary()

    def arguments_until(self, end: str) -> tuple[ast.Expression, ...]:
        """Expressions with commas between, a last comma allowed."""
        parts: list[ast.Expression] = []
        while not self.at(end) and not self.at_end():
            parts.append(self.expression())
            if not self.accept(","):
                break
        return tuple(parts)

    def peek(self, distance: int = 1) -> Token:
        """A token further on."""
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def type(self) -> ast.Type:
        if self.at("struct") and self.peek().kind is Kind.NAME:
            self.next()
        return super().type()

    def _at_cast(self) -> bool:
        """`(` of a cast: a type of C, a view, or a name with something behind the `)` that only starts a value."""
        if not self.at("("):
            return False
        inside, after = self.peek(), self.peek(2)
        if inside.kind is not Kind.NAME:
            return False
        if inside.text in C_TYPES or inside.text == "struct":
            return True
        if after.text == "*":
            return self.peek(3).text == ")" and self.peek(3).kind is Kind.PUNCTUATION
        behind = self.peek(3)
        starts = behind.kind in (Kind.NAME, Kind.NUMBER) or (
            behind.kind is Kind.PUNCTUATION and behind.text in ("(", "~", "!", "{")
        )
        return after.kind is Kind.PUNCTUATION and after.text == ")" and starts

    def _cast(self) -> ast.Expression:
        start = self.expect("(").span
        kind = self.type()
        is_view = self.accept("*") is not None
        self.expect(")")
        operand = self.unary()
        return ast.Cast(kind, is_view, operand, start.to(operand.span))

    def _postfix(self, value: ast.Expression) -> ast.Expression:
        count = 0
        if isinstance(value, ast.Number) and self.at("."):
            raise self.fail("an integer", "floating point is not supported; scale to an integer")
        while self.at(".", "->", "["):
            count += 1
            if count > 32:
                raise self.fail("a simpler expression", "use at most 32 members in a row", "E0203")
            if self.accept("["):
                index = self.expression()
                low = self.expression() if self.accept(":") else None
                span = value.span.to(self.expect("]").span)
                value = ast.Index(value, index, span) if low is None else ast.Bits(value, index, low, span)
                continue
            self.next()
            name = self.name("the name of a field")
            if self.accept("("):
                arguments = self.arguments()
                value = ast.Invoke(value, name, arguments, value.span.to(self.expect(")").span))
            else:
                value = ast.Member(value, name, value.span.to(name.span))
        return value

    # Statements

    def block(self) -> tree.Block:
        """`{ ... }`, going on behind a broken statement."""
        start = self.expect("{")
        with self._inside() as is_readable:
            statements = self._statements_until("}") if is_readable else self._skip_to_end()
        end = self._close(start)
        return tree.Block(statements, start.span.to(end.span))

    @contextmanager
    def _inside(self) -> Iterator[bool]:
        """One block deeper: too deep is an error, once in each body. Gives False where it is too deep even to be read."""
        self.blocks += 1
        try:
            if self.blocks > MAX_BLOCKS and not self.too_deep:
                self.too_deep = True
                self.fail("a simpler program", f"nest at most {MAX_BLOCKS} blocks", "E0203")
            yield self.blocks <= MOST_BLOCKS
        finally:
            self.blocks -= 1
            self.too_deep = self.too_deep and self.blocks > 0

    def _skip_to_end(self) -> tuple[tree.Statement, ...]:
        """Go to the `}` that ends this block."""
        depth = 0
        while not self.at_end() and not (depth == 0 and self.at("}")):
            depth += self.at("{") - self.at("}")
            self.next()
        return ()

    def _close(self, start: Token) -> Token:
        """The `}` of a `{`."""
        if self.at("}"):
            return self.next()
        notes = (Note("the block starts here", start.span),)
        text = f"expected '}}', found {self.token.describe()}"
        self.diagnostics.error("E0201", text, self.token.span, "close the block with '}'", notes)
        raise Recover

    def _statements_until(self, *ends: str) -> tuple[tree.Statement, ...]:
        found: list[tree.Statement] = []
        while not self.at(*ends) and not self.at_end():
            if self._skip_label(ends):
                continue
            start = self.index
            try:
                found.extend(self.statement())
            except Recover:
                self._skip_statement(start)
        return tuple(found)

    def _skip_label(self, ends: tuple[str, ...]) -> bool:
        """Labels as in the paper's figures name places for the reader: `S1: if (...)`."""
        if self.token.kind is Kind.NAME and self.peek().text == ":" and not self.at("default", "case", *ends):
            self.next()
            self.next()
            return True
        return False

    def _skip_statement(self, start: int) -> None:
        """Go on behind the broken statement's `;`, in front of a block's end, or at the next line where only the `;` is missing."""
        depth = 0
        if self.index == start:
            self.next()
        while not self.at_end():
            if depth == 0 and self.at(";"):
                self.next()
                return
            if self.at("{"):
                depth += 1
            if self.at("}"):
                if depth == 0:
                    return
                depth -= 1
                if depth == 0:
                    self.next()
                    return
            new_line = self.index > 0 and self.token.span.line > self.tokens[self.index - 1].span.line
            if depth == 0 and new_line and self.index > start and not self.at("{"):
                return
            self.next()

    def statement(self) -> list[tree.Statement]:
        """One statement; `int a, b;` is several."""
        parsers: dict[str, Callable[[], tree.Statement]] = {
            "{": self.block, "if": self._if, "for": self._for, "while": self._while, "switch": self._switch,
            "break": self._jump, "continue": self._jump, "goto_state": self._goto, "return": self._return,
            "static_assert": lambda: self._static_assert(""),
        }  # fmt: skip
        if self.token.kind is not Kind.STRING and self.token.text in parsers:
            return [parsers[self.token.text]()]
        if self.accept(";"):
            return []
        if self.at(*C_WORDS) and (self.peek().kind is Kind.NAME or self.peek().text == "{"):
            raise self.fail("a statement", C_WORDS[self.token.text])
        if self.at("else") and self.too_deep:
            raise Recover  # behind an if that was not read
        if self.at("case", "default", "else"):
            raise self.fail("a statement", "'else' must follow an if; 'case' and 'default' must be in a switch")
        if self.at("."):
            return [self._directive()]
        if self.at(*AGGREGATES, "enum") and self._declares_type():
            return self.type_declaration()
        if self._at_declaration():
            return list(self.variables())
        found = self._simple()
        self._end_of_statement()
        return [found]

    def _end_of_statement(self) -> None:
        """The `;`; where only that is missing at the end of a line, the statement counts."""
        before = self.tokens[self.index - 1]
        if self.at(";") or self.token.span.line == before.span.line:
            self.expect(";", "write '++' and '--' as separate statements" if self.at("++", "--") else "")
            return
        place = Span(self.source, before.span.end, before.span.end)
        self.diagnostics.error("E0202", f"expected ';' before {self.token.describe()}", place, "add ';'")

    def _directive(self) -> tree.Statement:
        following = self.peek()
        if following.text == "repeat":
            return self._repeat()
        if following.text == "unroll":
            return self._leading_unroll()
        if following.text == "state_machine":
            return self._state_machine()
        raise self.fail("a statement", "a body may contain '.repeat', '.unroll' and '.state_machine'")

    def _repeat_head(self) -> tuple[ast.Name, ast.Expression, ast.Expression]:
        hint = ".repeat (i, low, high) { … } for i from low to high - 1"
        self.next()
        self.next()
        self.expect("(", hint)
        name = self.name("the name of the counter")
        self.expect(",", hint)
        low = self.expression()
        self.expect(",", hint)
        high = self.expression()
        self.expect(")", hint)
        return name, low, high

    def _repeat(self) -> tree.Repeat:
        start = self.token.span
        name, low, high = self._repeat_head()
        body = self.block()
        return tree.Repeat(name, low, high, body, start.to(body.span))

    def _state_machine(self) -> tree.StateMachine:
        start = self.next().span
        self.next()
        window = None
        if self.accept("("):
            window = self.expression()
            self.expect(")")
        self.expect("{", ".state_machine (x.data) { start: { … } }")
        states: list[tree.ParserState] = []
        while not self.at("}") and not self.at_end():
            name = self.name("the name of a state")
            self.expect(":", "write a state as name: { … }")
            body = self.block()
            states.append(tree.ParserState(name, body, name.span.to(body.span)))
        end = self.expect("}")
        return tree.StateMachine(window, tuple(states), start.to(end.span))

    def _declares_type(self) -> bool:
        """`struct name {`, against `struct name variable;`."""
        return self.peek(2).text in ("{", ":")

    def type_declaration(self) -> list[tree.Statement]:
        """A struct or enum, and with it perhaps variables: `struct entry { ... } A[100];`."""
        declaration = self._enum("") if self.at("enum") else self._aggregate("")
        found: list[tree.Statement] = [tree.TypeDeclaration(declaration, declaration.span)]
        if self.token.kind is Kind.NAME and self.peek().text in (";", "[", ",", "="):
            name = declaration.name
            found += self._declarators(ast.NamedType(name.text, name.span), "")
        else:
            self.accept(";")
        return found

    def _at_declaration(self) -> bool:
        if self.at(*PLACEMENTS):
            return True
        if self.token.kind is not Kind.NAME or self.at(*KEYWORDS):
            return False
        if self.at("struct", *C_TYPES):
            return True
        after = self.peek()
        if after.kind is Kind.NAME:
            return True
        return after.text == "*" and self.peek(2).kind is Kind.NAME and self.peek(3).text in ("=", ";")

    def variables(self) -> list[tree.Declaration]:
        """`type name[count] = value, name;`"""
        word = self.next().text if self.at(*PLACEMENTS) else ""
        return self._declarators(self.type(), word)

    def _declarators(self, kind: ast.Type, word: str) -> list[tree.Declaration]:
        found = [self._declarator(kind, word)]
        while self.accept(","):
            found.append(self._declarator(kind, word))
        self._end_of_statement()
        return found

    def _declarator(self, kind: ast.Type, word: str) -> tree.Declaration:
        is_view = self.accept("*") is not None
        name = self.name("the name of a variable")
        counts: list[ast.Expression] = []
        while (count := self._count()) is not None:
            counts.append(count)
        initial = self.expression() if self.accept("=") else None
        end = self.tokens[self.index - 1]
        return tree.Declaration(kind, name, tuple(counts), initial, is_view, word, kind.span.to(end.span))

    def _simple(self) -> tree.Statement:
        """An assignment, `i++`, or a call."""
        if self.at("++", "--"):
            operator = self.next()
            target = self.unary()
            return self._step(target, operator)
        if self.token.kind is Kind.NAME and self.peek().kind is Kind.NAME:
            near = closest(self.token.text, list(KEYWORDS))
            raise self.fail("a statement", f"did you mean '{near}'?" if near else "")
        target = self.expression()
        if self.at(*ASSIGNMENTS):
            operator = self.next()
            value = self.expression()
            return tree.Assign(target, operator.text[:-1], value, target.span.to(value.span))
        if self.at("++", "--"):
            operator = self.next()
            return self._step(target, operator)
        return tree.Evaluate(target, target.span)

    def _step(self, target: ast.Expression, operator: Token) -> tree.Assign:
        """`++` and `--`, before or behind."""
        one = ast.Number(1, operator.span, "1")
        return tree.Assign(target, operator.text[0], one, target.span.to(operator.span))

    def _body(self) -> tree.Block:
        """A block, or one statement."""
        if self.at("{"):
            return self.block()
        start = self.token.span
        with self._inside() as is_readable:
            if not is_readable:
                raise Recover
            statements = tuple(self.statement())
        return tree.Block(statements, start.to(self.tokens[self.index - 1].span))

    def _condition(self, word: str) -> ast.Expression:
        self.expect("(", f"write {word} (condition) {{ … }}")
        condition = self.expression()
        hint = "'=' is an assignment, not an expression; did you mean '=='?" if self.at("=") else ""
        self.expect(")", hint)
        return condition

    def _if(self) -> tree.If:
        """An if with all its `else if`, which are as deep in other blocks as the first."""
        arms: list[tuple[Span, ast.Expression, tree.Block]] = []
        otherwise = None
        while True:
            start = self.next().span
            if len(arms) == MAX_ARMS:
                self.fail("a simpler program", f"use at most {MAX_ARMS} 'else if', or look it up in an array", "E0203")
            arms.append((start, self._condition("if"), self._body()))
            if not self.accept("else"):
                break
            if not self.at("if"):
                otherwise = self._body()
                break
        for start, condition, then in reversed(arms[1:]):
            arm = tree.If(condition, then, otherwise, start.to((otherwise or then).span))
            otherwise = tree.Block((arm,), arm.span)
        start, condition, then = arms[0]
        return tree.If(condition, then, otherwise, start.to((otherwise or then).span))

    def _unroll(self) -> ast.Expression | None:
        if not (self.at(".") and self.peek().text == "unroll"):
            return None
        self.next()
        self.next()
        self.expect("(", ".unroll(8)")
        bound = self.expression()
        self.expect(")")
        return bound

    def _leading_unroll(self) -> tree.Statement:
        bound = self._unroll()
        if self.at("for"):
            return self._for(bound)
        if self.at("while"):
            return self._while(bound)
        raise self.fail("'for' or 'while'", "write .unroll(8) before or after the head of a loop")

    def _for(self, unroll: ast.Expression | None = None) -> tree.For:
        start = self.next().span
        self.expect("(", "write for (i = 0; i < 8; i++) { … }")
        first: list[tree.Statement] = []
        if not self.accept(";"):
            if self._at_declaration():
                first = list(self.variables())
            else:
                first = [self._simple()]
                self.expect(";")
        condition = None if self.at(";") else self.expression()
        self.expect(";")
        step = () if self.at(")") else (self._simple(),)
        self.expect(")")
        unroll = self._unroll() or unroll
        body = self._body()
        return tree.For(tuple(first), condition, step, body, unroll, start.to(body.span))

    def _while(self, unroll: ast.Expression | None = None) -> tree.For:
        start = self.next().span
        condition = self._condition("while")
        unroll = self._unroll() or unroll
        body = self._body()
        return tree.For((), condition, (), body, unroll, start.to(body.span))

    def _switch(self) -> tree.Switch:
        start = self.next().span
        value = self._condition("switch")
        self.expect("{")
        cases: list[tree.Case] = []
        while self.at("case", "default"):
            cases.append(self._case())
        end = self.expect("}", "a switch contains 'case value:' and 'default:'")
        return tree.Switch(value, tuple(cases), start.to(end.span))

    def _case(self) -> tree.Case:
        start = self.token.span
        values: list[ast.Expression] = []
        is_default = False
        while self.at("case", "default"):
            if self.next().text == "default":
                is_default = True
            else:
                values.append(self.expression())
                while self.accept(","):
                    values.append(self.expression())
            self.expect(":")
        statements = self._statements_until("case", "default", "}")
        return tree.Case(tuple(values), is_default, tree.Block(statements, start), start)

    def _jump(self) -> tree.Jump:
        token = self.next()
        self._end_of_statement()
        return tree.Jump(token.text, token.span)

    def _goto(self) -> tree.Goto:
        start = self.next().span
        state = self.name("the name of a state")
        self._end_of_statement()
        return tree.Goto(state, start.to(state.span))

    def _return(self) -> tree.Return:
        token = self.next()
        value = None if self.at(";") else self.expression()
        self._end_of_statement()
        return tree.Return(value, token.span.to(value.span) if value else token.span)
