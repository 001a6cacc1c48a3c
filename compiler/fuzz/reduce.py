# SPDX-License-Identifier: Apache-2.0
"""Makes a failing program small: takes away lines and blocks, opens blocks, puts constants for parts of expressions.

Candidates are tried many at a time, since a build of many costs little more than a build of one. What does not check any more is
no candidate.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from compiler.fuzz import graph_driver
from compiler.fuzz.driver import Case, Failure, Report, check, loaded
from compiler.fuzz.graph_targets import GraphRun
from compiler.fuzz.targets import Run

TRIED_AT_ONCE = 16
MOST_SECONDS = 240.0  # beside what the last attempts take
MOST_ROUNDS = 60

Fails = Callable[[Sequence[str]], list[bool]]
Check = Callable[[Sequence[Case]], Report]


def end_of(lines: Sequence[str], start: int) -> int:
    """Behind the last line of the statement or block that begins at `start`."""
    depth = 0
    for at in range(start, len(lines)):
        depth += lines[at].count("{") - lines[at].count("}")
        if depth <= 0:
            return at + 1
    return len(lines)


def _without(lines: Sequence[str], start: int, end: int) -> str:
    return "\n".join([*lines[:start], *lines[end:]]) + "\n"


def _shorter(lines: Sequence[str]) -> Iterator[str]:
    """Without a block or line, the largest first; then blocks opened."""
    parts = [(start, end_of(lines, start)) for start in range(len(lines)) if lines[start].strip() not in ("}", "")]
    for start, end in sorted(parts, key=lambda part: part[0] - part[1]):
        yield _without(lines, start, end)
    for start, end in parts:
        if end > start + 1:
            yield "\n".join([*lines[:start], *lines[start + 1 : end - 1], *lines[end:]]) + "\n"


def _groups(line: str) -> Iterator[tuple[int, int]]:
    """Every pair of parentheses."""
    opened: list[int] = []
    for at, char in enumerate(line):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            yield opened.pop(), at + 1


def _simpler(lines: Sequence[str]) -> Iterator[str]:
    """A part of an expression replaced: by a constant, or by a part of its own."""
    for number, line in enumerate(lines):
        groups = sorted(_groups(line), key=lambda group: group[0] - group[1])
        for start, end in groups:
            inner = [line[a:b] for a, b in groups if start < a and b < end and not re.fullmatch(r"\((u?int<\d+>|\w+)\)", line[a:b])]
            for new in ("0", "1", "true", "false", *inner[:3]):
                if len(new) < end - start:
                    yield "\n".join([*lines[:number], line[:start] + new + line[end:], *lines[number + 1 :]]) + "\n"


def _first_failing(candidates: Iterator[str], fails: Fails) -> str | None:
    batch: list[str] = []
    for candidate in candidates:
        batch.append(candidate)
        if len(batch) == TRIED_AT_ONCE:
            found = _try(batch, fails)
            if found:
                return found
            batch = []
    return _try(batch, fails)


def _try(batch: Sequence[str], fails: Fails) -> str | None:
    return next((text for text, failed in zip(batch, fails(batch), strict=True) if failed), None) if batch else None


def smallest(text: str, fails: Fails, rounds: int = MOST_ROUNDS, seconds: float = MOST_SECONDS) -> str:
    """A text from which nothing more can be taken; or what was reached after so many steps, or so much time."""
    end = time.monotonic() + seconds
    for _ in range(rounds):
        lines = text.splitlines()
        candidates = takewhile(lambda _: time.monotonic() < end, chain(_shorter(lines), _simpler(lines)))
        found = _first_failing(candidates, fails)
        if found is None:
            return text
        text = found
    return text


def failing(case: Case, target: str, checked: Check) -> Fails:
    """Which of some variants of a case still fail on a target (or, for "check", raise in the front end)."""

    def renamed(text: str, number: int) -> Case:
        name = f"{case.name}v{number}"
        return Case(name, re.sub(rf"\b{case.name}(?=\b|_)", name, text), case.seed)

    def fails(texts: Sequence[str]) -> list[bool]:
        variants = [renamed(text, number) for number, text in enumerate(texts)]
        if target == "check":
            return ["Traceback" in loaded(variant)[1] for variant in variants]
        good = [variant for variant in variants if loaded(variant)[0] is not None]
        wrong = {failure.case.name for failure in checked(good).failures}
        return [variant.name in wrong for variant in variants]

    return fails


def reduced(failure: Failure, targets: Mapping[str, Run]) -> Failure:
    """The failure with the smallest program found, and what goes wrong with that one. Where the RTL is wrong because the passes
    are, the program is made small for these, which takes no build."""
    target = failure.target
    if target == "rtl" and "ir" in targets and check([failure.case], {"ir": targets["ir"]}).failures:
        target = "ir"
    failure = replace(failure, target=target)
    chosen = {name: run for name, run in targets.items() if name == target}
    return reduced_by(failure, lambda cases: check(cases, chosen, keep=False))


def reduced_graph(failure: Failure, targets: Mapping[str, GraphRun]) -> Failure:
    """The same for a configuration."""
    chosen = {name: run for name, run in targets.items() if name == failure.target}
    return reduced_by(failure, lambda cases: graph_driver.check(cases, chosen, keep=False))


def reduced_by(failure: Failure, checked: Check) -> Failure:
    """The failure with the smallest program that `checked` still finds wrong."""
    case = failure.case
    if failure.target == "check" and "Traceback" not in failure.message:
        return failure
    text = smallest(case.text, failing(case, failure.target, checked))
    small = Case(case.name, text, case.seed)
    again = checked([small]).failures
    return again[0] if again else failure
