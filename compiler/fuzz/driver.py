# SPDX-License-Identifier: Apache-2.0
"""Random programs through every target, each compared with the interpreter. Many elements share one build.

A target is a function `run(program, streams, seed, signals)` that gives the outcome of every element named in `streams`; `seed` is
for the choices of its surroundings (back-pressure, arrival), `signals` are to be served in their order. It may raise: then the
programs are tried in halves, to name the one that it cannot take.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.backends import cpp_run
from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz import generate, tokens
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.element import Outcome
from compiler.targets import rtl_outcome

Run = Callable[
    [typed.Program, Mapping[str, Mapping[str, Sequence[int]]], int, Mapping[str, Sequence[SignalCall]]], Mapping[str, Outcome]
]
TARGETS: dict[str, Run] = {"cpu": cpp_run.run, "rtl": rtl_outcome.run}
FEATURES = {"cpu": generate.Features(), "rtl": generate.Features()}  # what each target can do
BATCH = 32  # programs in one build
CHOICES = (0, 1, 2)  # seeds of the surroundings that each program runs with


@dataclass(frozen=True)
class Case:
    """One program: the text of an element, its name in the text, and the seed that made it and its tokens."""

    name: str
    text: str
    seed: int


@dataclass(frozen=True)
class Failure:
    """A case that a target, or the front end (`target` "check"), gets wrong."""

    case: Case
    target: str
    message: str


def cases(count: int, seed: int, features: generate.Features) -> list[Case]:
    """The programs of a run: seeds from `seed` on."""
    return [Case(f"E{n}", generate.element(n, f"E{n}", features), n) for n in range(seed, seed + count)]


def loaded(case: Case) -> tuple[typed.Program | None, str]:
    """The program, or what the front end says against it."""
    diagnostics = Diagnostics()
    try:
        program = load_text(case.text, f"{case.name}.sl", diagnostics)
    except Exception:
        return None, traceback.format_exc(limit=-4)
    return program, "" if program else diagnostics.sorted()[0].render()


def _joined(programs: Sequence[typed.Program]) -> typed.Program:
    return typed.Program(tuple(element for program in programs for element in program.elements), (), (), 0)


def check(batch: Sequence[Case], targets: Mapping[str, Run]) -> Iterator[Failure]:
    """Every case that fails, at most once for each target."""
    good: list[tuple[Case, typed.Program]] = []
    for case in batch:
        program, message = loaded(case)
        if program is None:
            yield Failure(case, "check", message)
        else:
            good.append((case, program))
    for name, run in targets.items():
        yield from _run(good, name, run)


def _run(batch: Sequence[tuple[Case, typed.Program]], target: str, run: Run) -> Iterator[Failure]:
    if not batch:
        return
    whole = _joined([program for _, program in batch])
    streams: dict[str, Mapping[str, Sequence[int]]] = {}
    signals: dict[str, Sequence[SignalCall]] = {}
    for case, program in batch:
        streams |= tokens.streams(program, case.seed)
        signals |= tokens.signals(program, case.seed)
    try:
        runs = [run(whole, streams, seed, signals) for seed in CHOICES]
    except Exception as error:
        if len(batch) == 1:
            yield Failure(batch[0][0], target, f"{type(error).__name__}: {error}"[:4000])
            return
        half = len(batch) // 2
        yield from _run(batch[:half], target, run)
        yield from _run(batch[half:], target, run)
        return
    for case, program in batch:
        message = _wrong(program, streams, runs)
        if message:
            yield Failure(case, target, message)


def _wrong(
    program: typed.Program, streams: Mapping[str, Mapping[str, Sequence[int]]], runs: Sequence[Mapping[str, Outcome]]
) -> str:
    for seed, outcomes in zip(CHOICES, runs, strict=True):
        for element in program.elements:
            message = disagreement(element, streams[element.name], outcomes[element.name])
            if message:
                return f"choices {seed}: {message}"
    return ""


def fuzz(count: int, seed: int, targets: Mapping[str, Run], features: generate.Features) -> Iterator[tuple[int, list[Failure]]]:
    """Batch by batch: how many programs were run up to now, and the failures of this batch."""
    found = cases(count, seed, features)
    for start in range(0, count, BATCH):
        batch = found[start : start + BATCH]
        yield start + len(batch), list(check(batch, targets))
