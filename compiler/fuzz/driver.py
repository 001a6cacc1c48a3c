# SPDX-License-Identifier: Apache-2.0
"""Random programs through every target, each compared with the interpreter. Many elements share one build.

A target is a function of `targets.py`. Where it raises, the programs are tried in halves, to name the one that it cannot take.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz import generate, tokens
from compiler.fuzz.compare import disagreement
from compiler.fuzz.targets import Ran, Run, Signals, Streams, forget
from compiler.fuzz.writer import Features
from compiler.interpreter.choices import SignalCall

FEATURES = Features()
BATCH = 64  # programs in one build
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


@dataclass
class Report:
    """What became of a batch: programs that every target of it ran, what was refused by target and reason, failures."""

    programs: int = 0
    compared: dict[str, int] = field(default_factory=dict)
    refused: dict[str, dict[str, str]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def case(seed: int, features: Features) -> Case:
    """The program of a seed."""
    return Case(f"E{seed}", generate.element(seed, f"E{seed}", features), seed)


def cases(count: int, seed: int, features: Features) -> list[Case]:
    """The programs of a run: seeds from `seed` on."""
    return [case(number, features) for number in range(seed, seed + count)]


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


def check(batch: Sequence[Case], targets: Mapping[str, Run], keep: bool = True) -> Report:
    """Every case that fails, at most once for each target. `keep`: builds, for another run of the same."""
    report = Report(len(batch))
    good: list[tuple[Case, typed.Program]] = []
    for one in batch:
        program, message = loaded(one)
        if program is None:
            report.failures.append(Failure(one, "check", message))
        else:
            good.append((one, program))
    for name, run in targets.items():
        report.compared[name], report.refused[name] = 0, {}
        _run(good, name, run, keep, report)
    return report


def _run(batch: Sequence[tuple[Case, typed.Program]], target: str, run: Run, keep: bool, report: Report) -> None:
    if not batch:
        return
    streams: dict[str, Mapping[str, Sequence[int]]] = {}
    signals: dict[str, Sequence[SignalCall]] = {}
    for one, program in batch:
        streams |= tokens.streams(program, one.seed)
        signals |= tokens.signals(program, one.seed)
    try:
        ran = run(_joined([program for _, program in batch]), streams, CHOICES, signals)
    except Exception as error:
        if len(batch) == 1:
            report.failures.append(Failure(batch[0][0], target, f"{type(error).__name__}: {error}"[:4000]))
            return
        half = len(batch) // 2
        _run(batch[:half], target, run, keep, report)
        _run(batch[half:], target, run, keep, report)
        return
    if not keep:
        forget(ran.files)
    for one, program in batch:
        if reasons := [ran.refused[element.name] for element in program.elements if element.name in ran.refused]:
            report.refused[target][one.name] = reasons[0]
            continue
        report.compared[target] += 1
        message = _wrong(program, streams, signals, ran)
        if message:
            report.failures.append(Failure(one, target, message))


def _wrong(program: typed.Program, streams: Streams, signals: Signals, ran: Ran) -> str:
    for seed, outcomes in zip(CHOICES, ran.outcomes, strict=True):
        for element in program.elements:
            calls = len(signals.get(element.name, ()))
            message = disagreement(element, streams[element.name], outcomes[element.name], calls=calls)
            if message:
                return f"choices {seed}: {message}"
    return ""


def fuzz(count: int, seed: int, targets: Mapping[str, Run], features: Features = FEATURES, keep: bool = True) -> Iterator[Report]:
    """Batch by batch."""
    for start in range(seed, seed + count, BATCH):
        yield check(cases(min(BATCH, seed + count - start), start, features), targets, keep)
