# SPDX-License-Identifier: Apache-2.0
"""Whether what a target gave is right: the interpreter replays its choices and must come to the same, and to rest where it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.frontend import typed
from compiler.interpreter.choices import NotAllowed, Replay, SignalCall, round_robin
from compiler.interpreter.element import Instance, Outcome, Step, run_instance

SHOWN = 3  # differing tokens that a message has
SHOWN_BYTES = 8  # of a long field
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
        return f"invalid choice: {error}"
    if is_blocked:
        return _different_begin(element, expected, got)
    found = _different(element, expected, got, has_state)
    if not found and calls is not None and len(got.answers) != calls:
        found = f"{calls} signals sent, but {len(got.answers)} answered"
    # One whose last iteration took no token may be one that never ends, and was stopped anywhere.
    if not found and not got.was_cut and last is Step.RAN and _goes_on(instance, LATER[0]) and _goes_on(replayed()[0], LATER[1]):
        found = f"stopped after {got.iterations} iterations although another one can run"
    return found


def _goes_on(instance: Instance, time: int) -> bool:
    """Whether an instance can take tokens at a time when all have arrived."""
    instance.choices = _AtRest(time)
    return instance.step() is Step.RAN


def _different(element: typed.Element, expected: Outcome, got: Outcome, has_state: bool) -> str:
    if expected.iterations != got.iterations:
        return f"{got.iterations} iterations, but at most {expected.iterations} are possible"
    for port in element.outputs:
        tokens, found = expected.outputs[port.name], got.outputs.get(port.name, [])
        if found != tokens:
            return f"output {port.name}: {_difference(port.type, tokens, found)}"
    kinds = {state.name: state.type for state in element.states}
    in_part = {state.name for state in element.placement}
    for name, value in expected.state.items():
        found_value = got.state.get(name)
        if has_state and found_value is None and name not in in_part:
            return f"state {name}: expected {value:#x}, got nothing"
        if has_state and found_value is not None and found_value != value:
            return f"state {name}: {_unlike(kinds[name], value, found_value)}"
    for field in ("answers", "lines", "failures", "discarded", "mended"):
        if getattr(expected, field) != getattr(got, field):
            return f"{field}: expected {getattr(expected, field)}, got {getattr(got, field)}"
    return ""


def _different_begin(element: typed.Element, expected: Outcome, got: Outcome) -> str:
    """What differs in as much as has come out."""
    if expected.iterations != got.iterations:
        return f"{got.iterations} iterations, but at most {expected.iterations} are possible"
    for port in element.outputs:
        tokens, found = expected.outputs[port.name], got.outputs.get(port.name, [])
        if found != tokens[: len(found)]:
            return f"output {port.name}: {_difference(port.type, tokens[: len(found)], found)}"
    for field in ("answers", "lines", "failures"):
        seen = getattr(got, field)
        if seen != getattr(expected, field)[: len(seen)]:
            return f"{field}: expected {getattr(expected, field)}, got {seen}"
    return ""


def _difference(kind: typed.Type, expected: Sequence[int], got: Sequence[int]) -> str:
    wrong = [i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b]
    shown = "; ".join(f"token {i}: {_unlike(kind, expected[i], got[i])}" for i in wrong[:SHOWN])
    if len(expected) != len(got):
        return f"expected {len(expected)} tokens, got {len(got)}" + (f"; first differences: {shown}" if wrong else "")
    return f"{len(wrong)} tokens differ: {shown}"


def _unlike(kind: typed.Type, expected: int, got: int) -> str:
    """Two values: of a structure the fields that differ, of an array the first entry, of a long field the bytes from there on."""
    if isinstance(kind, typed.Struct):
        parts = [
            (f.name, f.type, expected >> f.low & (1 << f.type.bits) - 1, got >> f.low & (1 << f.type.bits) - 1) for f in kind.fields
        ]
        return ", ".join(f"{name}: {_unlike(of, one, other)}" for name, of, one, other in parts if one != other)
    if isinstance(kind, typed.Array):
        low = _lowest(expected ^ got) // kind.element.bits * kind.element.bits
        values = [value >> low & (1 << kind.element.bits) - 1 for value in (expected, got)]
        return f"entry {low // kind.element.bits}: {_unlike(kind.element, *values)}"
    if kind.bits <= 64:
        return f"expected {expected:#x}, got {got:#x}"
    low = _lowest(expected ^ got) & ~7
    ones = [(value >> low & (1 << 8 * SHOWN_BYTES) - 1).to_bytes(SHOWN_BYTES, "little").hex() for value in (expected, got)]
    return f"at byte {low // 8}: expected {ones[0]}, got {ones[1]}"


def _lowest(bits: int) -> int:
    """Of those that are 1."""
    return (bits & -bits).bit_length() - 1
