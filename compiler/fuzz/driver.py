# SPDX-License-Identifier: Apache-2.0
"""Random programs through every target, each compared with the interpreter. Many elements share one build.

A target is a function of `targets.py`. Where it raises, the programs are tried in halves, to name the one that it cannot take.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz import generate, tokens
from compiler.fuzz.compare import disagreement
from compiler.fuzz.targets import Ran, Run, Signals, Streams, forget
from compiler.fuzz.writer import Features
from compiler.interpreter.choices import host_calls

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


class Finished(Protocol):
    """What a target gave for some programs."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that only this run needed."""


Made = TypeVar("Made")
Result = TypeVar("Result", bound=Finished)


@dataclass(frozen=True)
class Kind(Generic[Made, Result]):
    """How programs of one kind are checked.

    `made`: of a case, what targets run; `refused`: why the target does not take it, or nothing; `wrong`: of the n-th of those that
    ran together, or nothing.
    """

    made: Callable[[Case, typed.Program], Made]
    refused: Callable[[Made, Result], str]
    wrong: Callable[[Made, int, Result], str]


def checked(
    kind: Kind[Made, Result], batch: Sequence[Case], targets: Mapping[str, Callable[[Sequence[Made]], Result]], keep: bool
) -> Report:
    """Every case that fails, at most once for each target. `keep`: builds, for another run of the same."""
    report = Report(len(batch))
    good: list[tuple[Case, Made]] = []
    for one in batch:
        program, message = loaded(one)
        if program is None:
            report.failures.append(Failure(one, "check", message))
        else:
            good.append((one, kind.made(one, program)))
    for name, run in targets.items():
        report.compared[name], report.refused[name] = 0, {}
        for part, ran in _ran(good, name, run, report) if good else ():
            if not keep:
                forget(ran.files)
            for number, (one, made) in enumerate(part):
                if reason := kind.refused(made, ran):
                    report.refused[name][one.name] = reason
                    continue
                report.compared[name] += 1
                if message := kind.wrong(made, number, ran):
                    report.failures.append(Failure(one, name, message))
    return report


def _ran(
    batch: Sequence[tuple[Case, Made]], target: str, run: Callable[[Sequence[Made]], Result], report: Report
) -> Iterator[tuple[Sequence[tuple[Case, Made]], Result]]:
    """A target's run of all of a batch; where that raises, of its halves. One that raises alone is a failure."""
    try:
        ran = run([made for _, made in batch])
    except Exception as error:
        if len(batch) == 1:
            report.failures.append(Failure(batch[0][0], target, f"{type(error).__name__}: {error}"[:4000]))
            return
        half = len(batch) // 2
        yield from _ran(batch[:half], target, run, report)
        yield from _ran(batch[half:], target, run, report)
        return
    yield batch, ran


@dataclass(frozen=True)
class Job:
    """The elements of a program, with the tokens and calls that each gets."""

    program: typed.Program
    streams: Streams
    signals: Signals


def _job(one: Case, program: typed.Program) -> Job:
    return Job(program, tokens.streams(program, one.seed), tokens.signals(program, one.seed))


def _together(run: Run, jobs: Sequence[Job]) -> Ran:
    program = typed.Program(tuple(element for job in jobs for element in job.program.elements), (), (), 0)
    streams = {name: found for job in jobs for name, found in job.streams.items()}
    signals = {name: found for job in jobs for name, found in job.signals.items()}
    return run(program, streams, CHOICES, signals)


def _refused(job: Job, ran: Ran) -> str:
    return next((ran.refused[element.name] for element in job.program.elements if element.name in ran.refused), "")


def _wrong(job: Job, _number: int, ran: Ran) -> str:
    for seed, outcomes in zip(CHOICES, ran.outcomes, strict=True):
        for element in job.program.elements:
            calls = len(host_calls(element, job.signals[element.name]))
            message = disagreement(element, job.streams[element.name], outcomes[element.name], calls=calls)
            if message:
                return f"choices {seed}: {message}"
    return ""


def check(batch: Sequence[Case], targets: Mapping[str, Run], keep: bool = True) -> Report:
    """Random tokens through every program, on every target; otherwise as `checked`."""
    return checked(Kind(_job, _refused, _wrong), batch, {name: partial(_together, run) for name, run in targets.items()}, keep)


def fuzz(count: int, seed: int, targets: Mapping[str, Run], features: Features = FEATURES, keep: bool = True) -> Iterator[Report]:
    """Batch by batch."""
    for start in range(seed, seed + count, BATCH):
        yield check(cases(min(BATCH, seed + count - start), start, features), targets, keep)
