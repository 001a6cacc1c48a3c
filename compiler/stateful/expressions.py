# SPDX-License-Identifier: Apache-2.0
"""The text of a program of the process block: assignments and comparisons of one operation each.

number += 1                 also -= &= |= ^=
deadline = tick + gap       also - & | ^ &~
level = min(level, 100)     and the others of FUNCTIONS
high = address >> 8         also <<; by a number
sequence < flow_sequence    also == != <= > >= &; `signed a < b`, `a before b`
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError

Term = str | int  # a name, or a number

OPERATORS = {
    "+": L.KIND_ADD,
    "-": L.KIND_SUBTRACT,
    "&": L.KIND_AND,
    "|": L.KIND_OR,
    "^": L.KIND_XOR,
    "&~": L.KIND_AND_NOT,
}
FUNCTIONS = {
    "min": L.KIND_MINIMUM,
    "max": L.KIND_MAXIMUM,
    "signed_min": L.KIND_MINIMUM_SIGNED,
    "signed_max": L.KIND_MAXIMUM_SIGNED,
    "less": L.KIND_LESS,
    "signed_less": L.KIND_LESS_SIGNED,
    "add_clamped": L.KIND_ADD_CLAMPED,
    "subtract_clamped": L.KIND_SUBTRACT_CLAMPED,
}
COMPARISONS = {
    "==": L.COMPARISON_EQUAL,
    "!=": L.COMPARISON_NOT_EQUAL,
    "<": L.COMPARISON_LESS,
    "<=": L.COMPARISON_LESS_EQUAL,
    "before": L.COMPARISON_BEFORE,
    "&": L.COMPARISON_ANY,
}
SIGNED = {"<": L.COMPARISON_LESS_SIGNED, "<=": L.COMPARISON_LESS_EQUAL_SIGNED}
SWAPPED = {">": "<", ">=": "<="}

TERM = r"([\w.]+|-\d\w*)"
ASSIGNMENT = re.compile(rf"{TERM}\s*([-+&|^]|&~)?=\s*(.+)")
BINARY = re.compile(rf"{TERM}\s*(<<|>>|&~|[-+&|^])\s*{TERM}")
CALL = re.compile(rf"(\w+)\(\s*{TERM}\s*,\s*{TERM}\s*\)")
COMPARISON = re.compile(rf"(signed\s+)?{TERM}\s*(==|!=|<=|>=|<|>|&|\bbefore\b)\s*{TERM}")


@dataclass(frozen=True)
class Expression:
    """One operation. `a` is None where only `b` counts (KIND_SET). KIND_ROTATE has no `b`: it shifts `a` right by
    `shift`, or left by -`shift`."""

    kind: L.ProcessKind
    a: Term | None
    b: Term | None
    shift: int = 0


@dataclass(frozen=True)
class Comparison:
    """A condition."""

    kind: L.ProcessComparison
    a: Term
    b: Term


def expression(text: str) -> Expression:
    """An operation. Raises ProgramError."""
    text = text.strip()
    if re.fullmatch(TERM, text):
        return Expression(L.KIND_SET, None, _term(text))
    if match := BINARY.fullmatch(text):
        a, operator, b = match.groups()
        if operator in ("<<", ">>"):
            return Expression(L.KIND_ROTATE, _term(a), None, _shift(operator, b))
        return Expression(OPERATORS[operator], _term(a), _term(b))
    if (match := CALL.fullmatch(text)) and match[1] in FUNCTIONS:
        return Expression(FUNCTIONS[match[1]], _term(match[2]), _term(match[3]))
    known = ", ".join(FUNCTIONS)
    raise ProgramError(f"{text!r} is not one operation; hint: a {' '.join(OPERATORS)} << >> b, or a function of {known}")


def assignment(text: str) -> tuple[str, Expression]:
    """What is written, and what is computed. Raises ProgramError."""
    match = ASSIGNMENT.fullmatch(text.strip())
    if not match or isinstance(_term(match[1]), int):
        raise ProgramError(f"{text!r} assigns nothing; hint: NAME = NAME + 1, or NAME += 1")
    name, operator, value = match.groups()
    if not operator:
        return name, expression(value)
    if not re.fullmatch(TERM, value.strip()):
        raise ProgramError(f"{text!r} has two operations; hint: an instruction has one")
    return name, Expression(OPERATORS[operator], name, _term(value.strip()))


def comparison(text: str) -> Comparison:
    """A condition. Raises ProgramError."""
    match = COMPARISON.fullmatch(text.strip())
    if not match:
        raise ProgramError(f"{text!r} is not a comparison; hint: a {' '.join([*COMPARISONS, *SWAPPED])} b")
    signed, a, operator, b = match.groups()
    if operator in SWAPPED:
        a, operator, b = b, SWAPPED[operator], a
    if signed and operator not in SIGNED:
        raise ProgramError(f"{text!r}: {operator} is the same for signed and unsigned words; hint: without `signed`")
    return Comparison((SIGNED if signed else COMPARISONS)[operator], _term(a), _term(b))


def _shift(operator: str, text: str) -> int:
    amount = _term(text)
    if not isinstance(amount, int) or not 0 <= amount < 32:
        raise ProgramError(f"a shift by {text}; hint: by a number from 0 to 31")
    return amount if operator == ">>" else -amount


def _term(text: str) -> Term:
    if not text[0].isdigit() and text[0] != "-":
        return text
    try:
        return int(text, 0)
    except ValueError:
        raise ProgramError(f"{text!r} is neither a name nor a number") from None
