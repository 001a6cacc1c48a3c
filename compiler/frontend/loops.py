# SPDX-License-Identifier: Apache-2.0
"""How often a counting loop runs: `for (i = 0; i < 8; i++)` whose body leaves `i` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.frontend.values import COMPARISONS, fold, largest, read

MOST_BY_TYPE = 255  # a limit that is only known by its type: up to 8 bits


def rounds(
    first: Sequence[typed.Statement], condition: typed.Expression, body: typed.Block, step: typed.Block, most: int
) -> int | None:
    """The number of rounds, at least 1; None where it is not known or more than `most`."""
    compared = _comparison(condition)
    if compared is None:
        return 1 if isinstance(condition, typed.Constant) and not condition.value else None
    variable, operator, limit = compared
    start, change = _start(first, variable), _change(step, variable)
    if start is None or change is None or variable in assigned(body):
        return None
    kind = variable.type
    assert isinstance(kind, typed.Integer)
    value, count = start, 0
    while fold(operator, value, limit, kind):
        count += 1
        if count > most:
            return None
        value = read(value + change & (1 << kind.bits) - 1, kind)
    return max(count, 1)


def assigned(tree: object) -> set[typed.Variable]:
    """Every variable that a part of a program may assign, by a call too."""
    return {place.variable for place in _targets(tree)}


def _targets(tree: object) -> Iterator[typed.Place]:
    if isinstance(tree, typed.Assign):
        yield tree.place
    if isinstance(tree, typed.SelectPort) and tree.index_to:
        yield tree.index_to
    if isinstance(tree, typed.Lookup) and tree.to:
        yield tree.to
    if isinstance(tree, tuple):
        for part in tree:
            yield from _targets(part)
    elif is_dataclass(tree) and not isinstance(tree, typed.Variable | typed.Port | typed.Table | Span):
        for field in fields(tree):
            yield from _targets(getattr(tree, field.name))


def _plain(value: typed.Expression) -> typed.Expression:
    """Without casts that keep the value."""
    while isinstance(value, typed.Cast) and isinstance(value.type, typed.Integer) and isinstance(value.operand.type, typed.Integer):
        if value.type.bits < value.operand.type.bits:
            break
        value = value.operand
    return value


def _variable(value: typed.Expression) -> typed.Variable | None:
    value = _plain(value)
    if isinstance(value, typed.Load) and not value.place.steps and isinstance(value.type, typed.Integer):
        return value.place.variable
    return None


def _comparison(condition: typed.Expression) -> tuple[typed.Variable, str, int] | None:
    if not isinstance(condition, typed.Binary) or condition.operator not in COMPARISONS:
        return None
    variable, right = _variable(condition.left), condition.right
    if variable is None:
        return None
    if isinstance(right, typed.Constant):
        return variable, condition.operator, read(right.value, right.type)
    most = largest(right)
    if condition.operator in ("<", "<=") and most is not None and most <= MOST_BY_TYPE:
        return variable, condition.operator, most
    return None


def _start(first: Sequence[typed.Statement], variable: typed.Variable) -> int | None:
    for statement in reversed(first):
        if isinstance(statement, typed.Assign) and statement.place.variable is variable and not statement.place.steps:
            found = statement.value
            return read(found.value, found.type) if isinstance(found, typed.Constant) else None
    return None


def _change(step: typed.Block, variable: typed.Variable) -> int | None:
    """What one step adds."""
    if len(step.statements) != 1 or not isinstance(step.statements[0], typed.Assign):
        return None
    assign = step.statements[0]
    value = assign.value
    while isinstance(value, typed.Cast):
        value = value.operand
    if assign.place.variable is not variable or assign.place.steps or not isinstance(value, typed.Binary):
        return None
    if value.operator not in ("+", "-") or _variable(value.left) is not variable or not isinstance(value.right, typed.Constant):
        return None
    number = read(value.right.value, value.right.type)
    return number if value.operator == "+" else -number
