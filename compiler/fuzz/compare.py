# SPDX-License-Identifier: Apache-2.0
"""Whether what a target gave is right: the interpreter replays its choices and must come to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.frontend import typed
from compiler.interpreter.choices import NotAllowed, Replay
from compiler.interpreter.element import Outcome, run_element
from compiler.interpreter.tables import Rules

SHOWN = 3  # differing tokens that a message has


def disagreement(
    element: typed.Element, streams: Mapping[str, Sequence[int]], got: Outcome, rules: Mapping[str, Rules] | None = None
) -> str:
    """What is wrong with an outcome, or nothing."""
    try:
        expected = run_element(element, streams, Replay(got.log), got.iterations, rules)
    except NotAllowed as error:
        return f"a choice that is not allowed: {error}"
    if expected.iterations != got.iterations:
        return f"{got.iterations} iterations, of which only {expected.iterations} can be"
    for name, tokens in expected.outputs.items():
        found = got.outputs.get(name, [])
        if found != tokens:
            return f"output {name}: {_difference(tokens, found)}"
    for name, value in expected.state.items():
        if got.state.get(name) != value:
            return f"state {name}: expected {value:#x}, got {_hex(got.state.get(name))}"
    for field in ("answers", "lines", "failures", "discarded", "mended"):
        if getattr(expected, field) != getattr(got, field):
            return f"{field}: expected {getattr(expected, field)}, got {getattr(got, field)}"
    return ""


def _hex(value: int | None) -> str:
    return "nothing" if value is None else hex(value)


def _difference(expected: Sequence[int], got: Sequence[int]) -> str:
    if len(expected) != len(got):
        return f"expected {len(expected)} tokens, got {len(got)}"
    wrong = [i for i, (a, b) in enumerate(zip(expected, got, strict=True)) if a != b]
    shown = "; ".join(f"token {i}: expected {expected[i]:#x}, got {got[i]:#x}" for i in wrong[:SHOWN])
    return f"{len(wrong)} tokens differ: {shown}"
