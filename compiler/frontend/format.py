# SPDX-License-Identifier: Apache-2.0
"""`sluice fmt`: indentation and spaces, from the lossless tokens; line breaks and comments stay where they are.

Lines are indented by the braces around them, one more level where a statement goes on. Columns that are lined up in layouts
and in front of comments stay lined up. The tokens of the result are those of the source, or nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.frontend.lexer import Comment, Kind, Token, lex
from compiler.frontend.parse_element import SECTIONS
from compiler.frontend.parse_program import parse_program
from compiler.frontend.parser import AGGREGATES, parse
from compiler.frontend.source import Diagnostics, Source

INDENT = 4
SPACED_KEYWORDS = ("if", "for", "while", "switch", "return", "repeat", "state_machine", "case")
TEMPLATES = ("uint", "int", "exact", "ternary", "lpm", "flow")
DIRECTIVES = (*SECTIONS, "element", "element_group", "unroll", "state_machine")
LAYOUT_BLOCKS = (*AGGREGATES, "enum", "registers")
BEFORE_VALUE = ("(", "[", ",", "=", "?", ":", ";", "{", "}", "return", "case", "")
ATTACHED = (";", ",", ")", "]", "++", "--")
BINARY = frozenset("+ - * / % & | ^ == != <= >= << >> && || = += -= *= /= %= &= |= ^= <<= >>= ? ~ ! < >".split())  # noqa: SIM905


@dataclass
class _Open:
    """A bracket that is not closed yet: its text, and what kind of block it opens."""

    text: str
    kind: str  # "code", "layout", "graph", "values", "paren", "template"
    ternaries: int = 0  # how many '?' around it wait for their ':'


@dataclass
class Formatter:
    """Formats the tokens of one source."""

    source: Source
    tokens: list[Token]
    out: list[str] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    head: list[str] = field(default_factory=list)  # the texts of this statement so far
    ternaries: int = 0
    is_slice: bool = False  # whether the last ':' stood between two bounds: x[7:0]
    closed: str = ""  # the kind of the bracket that was closed last
    after: int = 0  # where the text behind the last token and its comments begins
    unary: frozenset[int] = frozenset()  # see unary_marks

    def run(self) -> str:
        before: Token | None = None
        for index, token in enumerate(self.tokens):
            following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
            self._token(before, token, following)
            before = token
        text = "".join(self.out)
        lines = [line.rstrip() for line in text.split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(lines) + "\n" if lines else ""

    # Lines and comments

    def _token(self, before: Token | None, token: Token, following: Token | None) -> None:
        if token.kind is Kind.END:
            self._comments(before, token)
            return
        if token.text in ("}", ")", "]") and token.kind is Kind.PUNCTUATION:
            self._comments(before, token)
            self._close(token)
            self._place(before, token, following)
        else:
            self._comments(before, token)
            self._place(before, token, following)
            self._open(before, token)
        self.out.append(token.text)
        self._remember(token)
        for comment in token.trailing:
            start = token.span.end if comment is token.trailing[0] else comment.span.start
            gap = comment.span.start - start
            self.out.append(" " * max(1, gap) + comment.text.rstrip())

    def _comments(self, before: Token | None, token: Token) -> None:
        """Comments on the lines in front of a token."""
        end = self._end(before)
        for comment in token.leading:
            self._line_break(end, comment.span.start, before, None)
            self.out.append(comment.text.rstrip())
            end = comment.span.end
        self.after = end

    def _end(self, token: Token | None) -> int:
        if token is None:
            return 0
        return token.trailing[-1].span.end if token.trailing else token.span.end

    def _place(self, before: Token | None, token: Token, following: Token | None) -> None:
        """The line break or the spaces in front of a token."""
        gap = self.source.text[self.after : token.span.start]
        if before is None and not token.leading:
            return
        ends_line = token.leading and token.leading[-1].text.startswith("//")
        if "\n" in gap or ends_line or (before and before.trailing and before.trailing[-1].text.startswith("//")):
            self._line_break(self.after, token.span.start, before, token)
            return
        if token.leading:
            self.out.append(" ")
            return
        assert before is not None
        wanted = self._spaces(before, token, following)
        in_layout = self._in("layout") or (self.head[:1] == ["constexpr"] and token.text == "=")
        if wanted == 1 and in_layout and "\n" not in gap and token.text not in ("}", "{") and before.text != "{":
            wanted = max(1, len(gap.expandtabs()))
        self.out.append(" " * wanted)

    def _line_break(self, start: int, end: int, before: Token | None, token: Token | None) -> None:
        gap = self.source.text[start:end]
        if not self.out:
            return
        if "\n" not in gap and before is not None and token is None:
            self.out.append(" ")
            return
        blank = gap.count("\n") > 1 and not (before and before.text == "{" and start == before.span.end)
        blank = blank and not (token and token.text == "}")
        self.out.append("\n\n" if blank else "\n")
        if token and self._in("graph") and not self._goes_on(before, token):
            self.head, self.ternaries = [], 0
        self.out.append(" " * (INDENT * self._level(before, token)))

    def _level(self, before: Token | None, token: Token | None) -> int:
        level = sum(1 for item in self.stack if item.text == "{")
        if token and token.kind is Kind.NAME and token.text in ("case", "default") and self._in("code"):
            return level - 1
        if token and token.text == "}":
            return level
        return level + (1 if self._goes_on(before, token) else 0)

    def _goes_on(self, before: Token | None, token: Token | None) -> bool:
        """Whether the line goes on with a statement that began on an earlier one."""
        if before is None or token is None:
            return bool(self.stack) and self.stack[-1].text in ("(", "[")
        if self.stack and self.stack[-1].text in ("(", "["):
            return True
        if self._in("graph"):
            return before.text in ("->", "=>") or token.text in ("->", "=>")
        if self._in("layout") or self._in("values"):
            return before.text not in (",", "{", ";", "}")
        if before.text in (";", "{", "}", "else") or token.text == "{" or not self.head:
            return False
        return not (before.text == ":" and not self.ternaries)

    def _in(self, kind: str) -> bool:
        """The block that the place is in; the file itself is a graph."""
        blocks = [item.kind for item in self.stack if item.text == "{"]
        return (blocks[-1] if blocks else "graph") == kind and not (kind == "graph" and not blocks and self._declares())

    def _declares(self) -> bool:
        """At the top of the file: whether a declaration (not a connection) is under way."""
        return bool(self.head) and self.head[0] in ("constexpr", "import", "static_assert", "struct", "enum", *C_WORDS)

    # Brackets

    def _open(self, before: Token | None, token: Token) -> None:
        if token.kind is not Kind.PUNCTUATION:
            return
        if token.text == "{":
            self.stack.append(_Open("{", self._kind_of_block(before)))
        elif token.text in ("(", "["):
            self.stack.append(_Open(token.text, "paren", self.ternaries))
        elif token.text == "<" and self._is_template(before):
            self.stack.append(_Open("<", "template"))

    def _kind_of_block(self, before: Token | None) -> str:
        behind = before.text if before else ""
        if behind in ("=", ",", "(", "return") or (behind == "{" and self._in("values")):
            return "values"
        if behind == ")" and "=" in self.head and self.head[0] not in ("if", "for", "while", "switch", "."):
            return "values"  # a cast
        if self.head and self.head[0] in LAYOUT_BLOCKS:
            return "layout"
        if self.head[:2] == [".", "element_group"] or (self.head[:2] == [".", "repeat"] and self._in("graph")):
            return "graph"
        return "code"

    def _close(self, token: Token) -> None:
        while self.stack and self.stack[-1].text == "<":
            self.stack.pop()
        if self.stack:
            closed = self.stack.pop()
            self.closed = closed.kind
            if closed.text == "{" and closed.kind != "values":
                self.head, self.ternaries = [], 0

    def _is_template(self, before: Token | None) -> bool:
        if before is None or before.kind is not Kind.NAME:
            return False
        return before.text in TEMPLATES or self._in("graph") or (self.head[:1] == ["."] and "{" not in self.head)

    def _remember(self, token: Token) -> None:
        """What the statement began with, to know what a bracket means."""
        if token.text == "?":
            self.ternaries += 1
        if token.text in (">", ">>") and self.stack and self.stack[-1].text == "<":
            for _ in token.text:
                if self.stack and self.stack[-1].text == "<":
                    self.stack.pop()
        if token.kind is Kind.STRING and self.head[:2] == [".", "native"]:  # ends without a mark
            self.head = []
            return
        starts = token.kind is Kind.PUNCTUATION and token.text in (";", "{", "}")
        if starts and not (self.stack and self.stack[-1].text == "("):
            if not (self.stack and self.stack[-1].kind == "values") and not (token.text == "}" and "=" in self.head):
                self.head, self.ternaries = [], 0
        elif len(self.head) < 64:
            self.head.append(token.text)

    # Spaces

    def _spaces(self, before: Token, token: Token, following: Token | None) -> int:
        """0 or 1 between two tokens of a line."""
        a, b = before.text, token.text
        gap = min(1, token.span.start - self._end(before))
        if token.kind is Kind.PUNCTUATION:
            if b in ATTACHED:
                return 1 if b in ("++", "--") and a in BEFORE_VALUE and a not in ("(", "[") else 0
            if b == "}":
                return 0 if a == "{" or self.closed == "values" else 1
            if b in (".", "::", "->", "=>", "[", "<", ">", ">>", ":", "(", "@"):
                return self._spaces_before_mark(before, token, following, gap)
        return self._spaces_behind(before, token, following, gap)

    def _spaces_before_mark(self, before: Token, token: Token, following: Token | None, gap: int) -> int:
        a, b = before.text, token.text
        in_template = bool(self.stack) and self.stack[-1].text == "<"
        match b:
            case ".":
                directive = (
                    following is not None and following.text in DIRECTIVES and (before.kind is Kind.PUNCTUATION and a != "]")
                )
                return 1 if directive and a != "(" else 0
            case "::":
                return gap
            case "->" | "=>":
                return 1 if self._is_arrow() else 0
            case "[":
                return gap if self._in("graph") else 0 if before.kind is Kind.NAME or a in (")", "]") else 1
            case "<":
                return 0 if self._is_template(before) and not self._behind_element_name() else 1
            case ">" | ">>" if in_template:
                return 0
            case ":":
                self.is_slice = bool(self.stack) and self.stack[-1].text == "[" and self.stack[-1].ternaries == self.ternaries
                if self.is_slice:
                    return 0
                spaced = self.ternaries or (self.head and self.head[0] == "enum")
                self.ternaries -= 1 if self.ternaries else 0
                return 1 if spaced else 0
            case "(":
                return self._space_before_paren(before)
        return 1

    def _behind_element_name(self) -> bool:
        """Behind `.element Name` or `.timer name`."""
        return len(self.head) == 3 and self.head[0] == "." and self.head[1] in ("element", "element_group", "timer")

    def _space_before_paren(self, before: Token) -> int:
        a = before.text
        if before.kind is Kind.NAME:
            return 1 if a in SPACED_KEYWORDS or self._behind_element_name() else 0
        if a in ("->", "=>") and self._is_arrow():
            return 0
        if a in (">", ">>"):
            return 1
        return 0 if a in ("(", "[", "~", "!") or self._is_unary(before) else 1

    def _is_arrow(self) -> bool:
        """`->` as a channel or between ports, not as a member."""
        return self.head[:2] in ([".", "element"], [".", "element_group"]) or not (self._in("code") or self._in("values"))

    def _spaces_behind(self, before: Token, token: Token, following: Token | None, gap: int) -> int:
        a = before.text
        if before.kind is not Kind.PUNCTUATION:
            return 1
        if a in ("(", "[", "."):
            return 0
        if a == "::":
            return gap
        if a == ":" and self.is_slice:
            return 0
        if a == "{":
            return 0 if self._in("values") else 1
        if a in ("->", "=>"):
            return 1 if self._is_arrow() else 0
        if a == "<" and self.stack and self.stack[-1].text == "<":
            return 0
        if a in ("++", "--"):
            return 0 if token.kind is Kind.NAME else 1
        return 0 if self._is_unary(before) else 1

    def _is_unary(self, token: Token) -> bool:
        """Whether an operator stands in front of its only operand."""
        return token.text in ("~", "!") or (token.text in ("-", "&", "*") and token.span.start in self.unary)


C_WORDS = ("uint", "int", "bool", "uchar", "ushort", "ulong", "void")


def unary_marks(tokens: list[Token]) -> frozenset[int]:
    """Where a `-`, `&` or `*` has no left operand, or is the star of a view: `ushort *p =`."""
    found: set[int] = set()
    padded = [None, *tokens]
    for index, token in enumerate(tokens):
        if token.kind is not Kind.PUNCTUATION or token.text not in ("-", "&", "*"):
            continue
        before = padded[index]
        operand = before is not None and (before.kind in (Kind.NUMBER, Kind.STRING) or before.text in (")", "]", "++", "--"))
        operand = operand or (before is not None and before.kind is Kind.NAME and before.text not in ("return", "case"))
        if before is not None and before.text == ")" and token.text in ("&", "*", "-"):
            operand = not _ends_cast(tokens, index - 1)
        if not operand or (token.text == "*" and _is_view(tokens, index)):
            found.add(token.span.start)
    return frozenset(found)


def _is_view(tokens: list[Token], index: int) -> bool:
    """`type *name =` or `type *name;` at the start of a statement."""
    start = index == 1 or (index > 1 and tokens[index - 2].text in (";", "{", "}", ":"))
    named = index + 2 < len(tokens) and tokens[index + 1].kind is Kind.NAME and tokens[index + 2].text in ("=", ";")
    return start and named and tokens[index - 1].kind is Kind.NAME


def _ends_cast(tokens: list[Token], index: int) -> bool:
    """Whether a `)` closes a cast: `(type *)`, `(uint<8>)`, `(uchar)`."""
    if index >= 2 and tokens[index - 1].text == "*" and tokens[index - 2].kind is Kind.NAME:
        return True
    if tokens[index - 1].text == ">":
        return True
    return index >= 2 and tokens[index - 1].text in C_WORDS and tokens[index - 2].text == "("


def format_text(source: Source, diagnostics: Diagnostics, is_layout: bool = False) -> str | None:
    """The formatted text; None where the source cannot be parsed."""
    (parse if is_layout else parse_program)(source, diagnostics)
    if diagnostics:
        return None
    tokens = lex(source, diagnostics)
    text = Formatter(source, tokens, unary=unary_marks(tokens)).run()
    again = lex(Source(source.name, text), Diagnostics())
    if _texts(again) != _texts(tokens):
        raise AssertionError(f"{source.name}: formatting would change the program")
    return text


def _texts(tokens: list[Token]) -> list[str]:
    """Tokens and comments in order, without the spaces around them."""

    def shown(comment: Comment) -> str:
        return "\n".join(line.strip() for line in comment.text.splitlines())

    found: list[str] = []
    for token in tokens:
        found += [*map(shown, token.leading), token.text, *map(shown, token.trailing)]
    return found
