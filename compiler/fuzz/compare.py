# SPDX-License-Identifier: Apache-2.0
"""Whether what a target gave is right: the interpreter replays its choices and must come to the same, and to rest where it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.frontend import typed
from compiler.interpreter.choices import NotAllowed, Replay, SignalCall, round_robin
from compiler.interpreter.element import Instance, Outcome, Step, run_instance

SHOWN = 3  # differing tokens that a message has
LATER = (1 << 50, (1 << 50) + 4711)  # cycles: when all has come to rest


class _AtRest:
    """Choices when nothing is under way any more: every token has arrived."""

    def __init__(self, time: int) -> None:
        self.time = time

    def available(self, iteration: int, port: int, has_token: bool, must: bool) -> bool:
        return has_token

    def select(self, iteration: int, ready: Sequence[int], after: int) -> int:
        return round_robin(ready, after)

    def now(self, iteration: int) -> int:
        return self.time

    def signal(self, iteration: int) -> SignalCall | None:
        return None

    def pending(self) -> bool:
        return False


def disagreement(
    element: typed.Element,
    streams: Mapping[str, Sequence[int]],
    got: Outcome,
    calls: int | None = None,
    has_state: bool = True,
    is_blocked: bool = False,
) -> str:
    """What is wrong with an outcome, or nothing. `calls`: how many signals there were; `has_state`: whether it tells its state,
    which a native body does not; `is_blocked`: an output may be full, and iterations that began are then still on their way."""

    def replayed() -> tuple[Instance, Step]:
        """The instance, and how its last iteration ended."""
        instance = run_instance(element, streams, Replay(got.log), got.iterations - 1)
        return instance, instance.step() if got.iterations else Step.RAN

    try:
        instance, last = replayed()
        expected = instance.finish()
    except NotAllowed as error:
        return f"a choice that is not allowed: {error}"
    if is_blocked:
        return _different_begin(expected, got)
    found = _different(expected, got, has_state)
    if not found and calls is not None and len(got.answers) != calls:
        found = f"{calls} signals, and {len(got.answers)} answers"
    # One whose last iteration took no token may be one that never ends, and was stopped anywhere.
    if not found and not got.was_cut and last is Step.RAN and _goes_on(instance, LATER[0]) and _goes_on(replayed()[0], LATER[1]):
        found = f"it stopped behind {got.iterations} iterations, and could go on"
    return found


def _goes_on(instance: Instance, time: int) -> bool:
    """Whether an instance can take tokens at a time when all have arrived."""
    instance.choices = _AtRest(time)
    return instance.step() is Step.RAN


def _different(expected: Outcome, got: Outcome, has_state: bool) -> str:
    if expected.iterations != got.iterations:
        return f"{got.iterations} iterations, of which only {expected.iterations} can be"
    for name, tokens in expected.outputs.items():
        found = got.outputs.get(name, [])
        if found != tokens:
            return f"output {name}: {_difference(tokens, found)}"
    for name, value in expected.state.items():
        if has_state and got.state.get(name) != value:
            return f"state {name}: expected {value:#x}, got {_hex(got.state.get(name))}"
    for field in ("answers", "lines", "failures", "discarded", "mended"):
        if getattr(expected, field) != getattr(got, field):
            return f"{field}: expected {getattr(expected, field)}, got {getattr(got, field)}"
    return ""


def _different_begin(expected: Outcome, got: Outcome) -> str:
    """What differs in as much as has come out."""
    if expected.iterations != got.iterations:
        return f"{got.iterations} iterations, of which only {expected.iterations} can be"
    for name, tokens in expected.outputs.items():
        found = got.outputs.get(name, [])
        if found != tokens[: len(found)]:
            return f"output {name}: {_difference(tokens[: len(found)], found)}"
    for field in ("answers", "lines", "failures"):
        seen = getattr(got, field)
        if seen != getattr(expected, field)[: len(seen)]:
            return f"{field}: expected {getattr(expected, field)}, got {seen}"
    return ""


def _hex(value: int | None) -> str:
    return "nothing" if value is None else hex(value)


def _difference(expected: Sequence[int], got: Sequence[int]) -> str:
    if len(expected) != len(got):
        return f"expected {len(expected)} tokens, got {len(got)}"
    wrong = [i for i, (a, b) in enumerate(zip(expected, got, strict=True)) if a != b]
    shown = "; ".join(f"token {i}: expected {expected[i]:#x}, got {got[i]:#x}" for i in wrong[:SHOWN])
    return f"{len(wrong)} tokens differ: {shown}"
