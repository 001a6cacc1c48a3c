# SPDX-License-Identifier: Apache-2.0
"""Source files, positions in them, and the messages about them.

A message has a code, a place, the source line with a caret, and a hint that says how to fix it. Every stage reports
into one `Diagnostics` and goes on, so that one run shows every error it can find.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

MAX_ERRORS = 100
TAB_SIZE = 8


@dataclass(frozen=True)
class Source:
    """A source file: its name as messages show it, and its text."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text) + 1
        return self.text[start : end - 1].rstrip("\r")


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of the other."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"


@dataclass(frozen=True)
class Note:
    """A second place that belongs to a message."""

    text: str
    span: Span


@dataclass(frozen=True)
class Diagnostic:
    """One error: what is wrong, where, and how to fix it. Without a span it is about the command or a file."""

    code: str
    text: str
    span: Span | None
    hint: str = ""
    notes: tuple[Note, ...] = ()
    severity: str = "error"

    def render(self) -> str:
        """As people read it: place, message, line, caret, related places, hint."""
        if self.span is None:
            return f"{self.severity}[{self.code}]: {self.text}\n" + (f"  hint: {self.hint}\n" if self.hint else "")
        out = f"{self.span}: {self.severity}[{self.code}]: {self.text}\n{_excerpt(self.span)}"
        for note in self.notes:
            out += f"{note.span}: note: {note.text}\n{_excerpt(note.span)}"
        return out + (f"  hint: {self.hint}\n" if self.hint else "")

    def to_json(self) -> dict[str, object]:
        """As tools read it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.text,
            **_place(self.span),
            "hint": self.hint,
            "notes": [{"message": note.text, **_place(note.span)} for note in self.notes],
        }


def _place(span: Span | None) -> dict[str, object]:
    if span is None:
        return {"file": None, "line": None, "column": None, "end_line": None, "end_column": None}
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {"file": span.source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}


def _excerpt(span: Span) -> str:
    line, column = span.source.position(span.start)
    text = span.source.line(line)
    before = text[: column - 1].expandtabs(TAB_SIZE)
    marked = text[column - 1 : column - 1 + max(1, span.end - span.start)]
    marked_size = max(1, len((before + marked).expandtabs(TAB_SIZE).rstrip()) - len(before))
    number = f"{line:5} | "
    return f"{number}{text.expandtabs(TAB_SIZE)}\n{'| ':>{len(number)}}{' ' * len(before)}{'^' * marked_size}\n"


@dataclass
class Diagnostics:
    """Collects the errors of a run; from `MAX_ERRORS` on only counts them."""

    errors: list[Diagnostic] = field(default_factory=list)
    suppressed: int = 0
    warnings: list[Diagnostic] = field(default_factory=list)
    _seen: set[tuple[str, str, int]] = field(default_factory=set)

    def error(self, code: str, text: str, span: Span | None, hint: str = "", notes: tuple[Note, ...] = ()) -> None:
        """Report; a second error of the same code at the same place is dropped."""
        if not self._is_new(code, text, span):
            return
        if len(self.errors) >= MAX_ERRORS:
            self.suppressed += 1
        else:
            self.errors.append(Diagnostic(code, text, span, hint, notes))

    def warning(self, code: str, text: str, span: Span, hint: str = "", notes: tuple[Note, ...] = ()) -> None:
        """Report what is allowed, and surely not meant."""
        if self._is_new(code, text, span) and len(self.warnings) < MAX_ERRORS:
            self.warnings.append(Diagnostic(code, text, span, hint, notes, "warning"))

    def _is_new(self, code: str, text: str, span: Span | None) -> bool:
        key = (code, span.source.name if span else text, span.start if span else -1)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def sorted(self) -> list[Diagnostic]:
        """Errors and warnings by file and position; those without a place come first."""
        return sorted([*self.errors, *self.warnings], key=lambda e: (e.span.source.name, e.span.start) if e.span else ("", -1))

    def __bool__(self) -> bool:
        return bool(self.errors)


def closest(name: str, known: list[str]) -> str:
    """The known name most like `name`, or nothing: for 'did you mean'."""
    from difflib import get_close_matches

    found = get_close_matches(name, known, 1, 0.6)
    return found[0] if found else ""
