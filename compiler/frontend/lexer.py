# SPDX-License-Identifier: Apache-2.0
"""Source text to tokens. Nothing is lost: comments hang on the token they stand before or behind.

Errors (unknown characters, open comments and strings, malformed numbers) are reported and skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from compiler.frontend.source import Diagnostics, Source, Span

MAX_NUMBER_BITS = 1024
BAD_CHARACTERS = {"#": 'remove it; to read another file: import "file.sl";', "'": "write a character as its number: 0x61"}


class Kind(Enum):
    """What a token is."""

    NAME = "a name"
    NUMBER = "a number"
    STRING = "a string"
    PUNCTUATION = "punctuation"
    END = "the end of the file"


@dataclass(frozen=True)
class Comment:
    """A comment as written, with its slashes."""

    text: str
    span: Span

    @property
    def is_doc(self) -> bool:
        return self.text.startswith("///") and not self.text.startswith("////")

    @property
    def doc(self) -> str:
        """The text of a doc comment without slashes and one leading space."""
        return self.text[3:].removeprefix(" ").rstrip()


@dataclass(frozen=True)
class Token:
    """A token; `leading` comments stand on the lines before it, `trailing` ones behind it on its own line."""

    kind: Kind
    text: str
    span: Span
    leading: tuple[Comment, ...] = ()
    trailing: tuple[Comment, ...] = ()
    value: int = 0

    def describe(self) -> str:
        return self.kind.value if self.kind is Kind.END else f"'{self.text if len(self.text) <= 40 else self.text[:37] + '...'}'"


_MARKS = """
{ } ( ) [ ] < > ; , : @ = + - * / % & | ^ ~ ! ? . :: == != <= >= << >> && || -> =>
+= -= *= /= %= &= |= ^= <<= >>= ++ --
"""
PUNCTUATION = sorted(_MARKS.split(), key=len, reverse=True)
_PATTERN = re.compile(
    r"(?P<space>[ \t\r\n\f\v]+)"
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*(?:[^*]|\*(?!/))*+\*/)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>[0-9][A-Za-z0-9_]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<punctuation>(?!/\*)(?:" + "|".join(re.escape(p) for p in PUNCTUATION) + "))"
)
_NUMBER = re.compile(r"0[xX](?P<hex>[0-9a-fA-F_]+)|0[bB](?P<bin>[01_]+)|(?P<dec>0|[1-9][0-9_]*)")


def number_value(text: str) -> int | None:
    """The value of a number as written, or None where it is malformed or has more than `MAX_NUMBER_BITS`."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > MAX_NUMBER_BITS + 64:
        return None
    for group, base in (("hex", 16), ("bin", 2), ("dec", 10)):
        digits = (match[group] or "").replace("_", "")
        if digits:
            value = int(digits, base)
            return value if value.bit_length() <= MAX_NUMBER_BITS else None
    return None


class Lexer:
    """Turns one source into tokens; the last one is always `Kind.END`."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics
        self.tokens: list[Token] = []
        self.comments: list[Comment] = []

    def run(self) -> list[Token]:
        text, offset = self.source.text, 0
        while offset < len(text):
            match = _PATTERN.match(text, offset)
            if match is None:
                offset = self._skip_bad(offset)
                continue
            span = Span(self.source, offset, match.end())
            offset = match.end()
            if match.lastgroup in ("line", "block"):
                self._comment(Comment(match[0], span))
            elif match.lastgroup != "space":
                self._token(match.lastgroup or "", match[0], span)
        end = Span(self.source, len(text), len(text))
        self.tokens.append(Token(Kind.END, "", end, tuple(self.comments)))
        return self.tokens

    def _comment(self, comment: Comment) -> None:
        if self.tokens and not self.comments:
            last = self.tokens[-1]
            if "\n" not in self.source.text[last.span.end : comment.span.start]:
                self.tokens[-1] = Token(last.kind, last.text, last.span, last.leading, (*last.trailing, comment), last.value)
                return
        self.comments.append(comment)

    def _token(self, group: str, text: str, span: Span) -> None:
        kind, value = Kind[group.upper()], 0
        if kind is Kind.NUMBER:
            found = number_value(text)
            if found is None:
                self.diagnostics.error(
                    "E0104",
                    f"'{text[:40]}' is not a number",
                    span,
                    f"write decimal, 0x… or 0b…, up to {MAX_NUMBER_BITS} bits; '_' may separate digits",
                )
            value = found or 0
        self.tokens.append(Token(kind, text, span, tuple(self.comments), (), value))
        self.comments = []

    def _skip_bad(self, offset: int) -> int:
        text = self.source.text
        line_end = text.find("\n", offset)
        line_end = len(text) if line_end < 0 else line_end
        if text.startswith("/*", offset):
            span = Span(self.source, offset, offset + 2)
            self.diagnostics.error("E0102", "unterminated comment", span, "close it with '*/'")
            return len(text)
        if text[offset] == '"':
            span = Span(self.source, offset, line_end)
            self.diagnostics.error("E0103", "unterminated string", span, "close it with '\"'")
            return line_end
        end = offset + 1
        while end < line_end and _PATTERN.match(text, end) is None:
            end += 1
        bad = text[offset:end]
        span = Span(self.source, offset, end)
        shown = ascii(bad[:20])[1:-1] if not bad[:20].isprintable() else bad[:20]
        hint = BAD_CHARACTERS.get(bad[0], "remove it; only comments may contain non-ASCII characters")
        self.diagnostics.error("E0101", f"unexpected character '{shown}'", span, hint)
        return end


def lex(source: Source, diagnostics: Diagnostics) -> list[Token]:
    """All tokens of a source."""
    return Lexer(source, diagnostics).run()
