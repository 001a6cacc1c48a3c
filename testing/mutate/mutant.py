# SPDX-License-Identifier: Apache-2.0
"""A mutant is one small change of one source file; a schema is a copy of the file that holds many of them.

In a schema each changed expression is `(selected == 17 ? mutated : original)`, each changed statement is guarded likewise, and
`selected` is read from the environment variable SLUICE_MUTANT when the program starts. So one build serves all mutants of a
file, and number 0 is the file as it was. Line numbers do not change.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

VARIABLE = "SLUICE_MUTANT"
PACKAGE = "sluice_mutant_pkg"
PACKAGE_TEXT = f"""package {PACKAGE};
  function automatic int chosen();
    return $c32("(std::getenv(\\"{VARIABLE}\\") ? std::atoi(std::getenv(\\"{VARIABLE}\\")) : 0)");
  endfunction
  int selected = chosen();
endpackage
"""
# The ternaries of a C schema raise warnings that the mutant itself would not.
_QUIET = ("conversion", "sign-conversion", "sign-compare", "parentheses", "type-limits", "int-in-bool-context", "extra")
# Of these the type may be a pointer's on one side; only whether it is 0 counts.
_TRUTH = ("condition negated", "condition stuck", "operand dropped", "logical negation", "logical operator")
_C_SELECTOR = (
    "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in _QUIET)
    + "#ifndef SLUICE_MUTANT_SELECTOR\n#define SLUICE_MUTANT_SELECTOR\n"
    + "extern char *getenv(const char *);\nextern int atoi(const char *);\n"
    + "static int sluice_mutant;\n"
    + "__attribute__((constructor)) static void sluice_mutant_choose(void) {\n"
    + f'    const char *text = getenv("{VARIABLE}");\n'
    + "    sluice_mutant = text ? atoi(text) : 0;\n}\n#endif\n#line 1\n"
)


@dataclass(frozen=True)
class Mutant:
    """Bytes `start` to `end` of `file` (a path in the repository) become `replacement`. `statement`: they are a whole statement."""

    file: str
    operator: str
    start: int
    end: int
    replacement: str
    line: int
    original_line: str
    mutated_line: str
    key: str
    statement: bool = False

    def diff(self) -> str:
        """The changed lines."""
        before, after = self.original_line.split("\n"), self.mutated_line.split("\n")
        found = difflib.ndiff(before, after)
        return "\n".join(text for text in found if text[0] in "-+")


def mutant(file: str, source: bytes, operator: str, span: tuple[int, int], replacement: str, *, statement: bool = False) -> Mutant:
    """The mutant of `file`, whose text is `source`, with the lines that it changes."""
    start, end = span
    first = source.rfind(b"\n", 0, start) + 1
    last = source.find(b"\n", end)
    last = len(source) if last < 0 else last
    before = source[first:last].decode()
    after = (source[first:start] + replacement.encode() + source[end:last]).decode()
    line = source.count(b"\n", 0, start) + 1
    ordinal = source.count(source[first:last], 0, first)  # of the same text in the file
    key = hashlib.sha256(repr((file, operator, before.strip(), after.strip(), ordinal)).encode()).hexdigest()[:16]
    return Mutant(file, operator, start, end, replacement, line, before.rstrip(), after.rstrip(), key, statement)


def direct(source: bytes, it: Mutant) -> bytes:
    """The file with this one change in it."""
    return source[: it.start] + it.replacement.encode() + source[it.end :]


def schema(source: bytes, numbered: Iterable[tuple[int, Mutant]]) -> bytes:
    """The file with all of these mutants in it, each behind its number."""
    chosen = sorted(numbered, key=lambda pair: (pair[1].start, -pair[1].end))
    if not chosen:
        return source
    in_c = not chosen[0][1].file.endswith(".sv")
    body = _render(source, 0, len(source), chosen, "sluice_mutant" if in_c else f"{PACKAGE}::selected", in_c)
    return (_C_SELECTOR.encode() if in_c else b"") + body


def _render(source: bytes, start: int, end: int, inside: Sequence[tuple[int, Mutant]], selected: str, in_c: bool) -> bytes:
    """The text from `start` to `end`; `inside` are the mutants there, outer ones first."""
    out, at, index = b"", start, 0
    while index < len(inside):
        number, it = inside[index]
        following = index + 1
        while following < len(inside) and inside[following][1].start < it.end:
            following += 1
        original = _render(source, it.start, it.end, inside[index + 1 : following], selected, in_c)
        out += source[at : it.start] + _guarded(number, it, original, selected, in_c)
        at, index = it.end, following
    return out + source[at:end]


def _guarded(number: int, it: Mutant, original: bytes, selected: str, in_c: bool) -> bytes:
    opening, closing = (b"{", b"}") if in_c else (b"begin ", b" end")
    replacement = it.replacement.replace("\n", " ").encode()
    if in_c and it.operator in _TRUTH:
        replacement, original = b"!!(" + replacement + b")", b"!!(" + original + b")"
    if not it.statement:
        return f"({selected} == {number} ? ".encode() + replacement + b" : " + original + b")"
    chosen = opening + replacement + closing
    test = f"if ({selected} == {number}) ".encode()
    return opening + test + chosen + b" else " + opening + original + closing + closing
