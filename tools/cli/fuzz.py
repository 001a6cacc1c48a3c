# SPDX-License-Identifier: Apache-2.0
"""`sluice fuzz`: random programs through every target, compared with the interpreter; failures as small files."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from compiler.fuzz import driver
from compiler.fuzz.generate import Features
from compiler.fuzz.reduce import reduced
from compiler.fuzz.targets import TARGETS
from testing.simulate import ROOT


def _written(failure: driver.Failure, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.target}-{failure.case.seed}.sl"
    message = "\n".join(f"// {line}" for line in failure.message.splitlines())
    path.write_text(
        f"// sluice fuzz --programs 1 --seed {failure.case.seed} --target {failure.target}\n{message}\n\n{failure.case.text}"
    )
    return path


class _Tally:
    """What was run up to now; `--json` prints it, and the state file keeps where to go on."""

    def __init__(self, seed: int) -> None:
        self.first, self.next = seed, seed
        self.compared: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.failures: list[str] = []
        self.began = time.monotonic()

    def add(self, report: driver.Report) -> None:
        self.next += report.programs
        for target, count in report.compared.items():
            self.compared[target] += count
        for target, found in report.refused.items():
            self.refused.update(f"{target} {reason.split(':')[0]}" for reason in found.values())

    def figures(self) -> dict[str, Any]:
        """Programs, and by target how many were compared."""
        seconds = time.monotonic() - self.began
        return {
            "seeds": [self.first, self.next - 1],
            "programs": self.next - self.first,
            "compared": dict(self.compared),
            "refused": dict(self.refused),
            "failures": self.failures,
            "seconds": round(seconds, 1),
            "programs_per_second": round((self.next - self.first) / seconds, 2),
        }

    def line(self) -> str:
        """The same in one line."""
        figures = self.figures()
        parts = [f"seeds {self.first} to {self.next - 1}"]
        parts += [f"{target}: {count} compared" for target, count in self.compared.items()]
        parts += [f"{count} refused ({what})" for what, count in self.refused.items()]
        return "; ".join([*parts, f"{len(self.failures)} failures", f"{figures['programs_per_second']} programs/s"])


def _reports(programs: int, minutes: float, seed: int, targets: list[str]) -> Iterator[driver.Report]:
    """Batches of so many programs; or of any number, for so many minutes."""
    count = programs if not minutes else 1 << 40
    end = time.monotonic() + 60 * minutes
    for report in driver.fuzz(count, seed, {name: TARGETS[name] for name in targets}, Features(), keep=False):
        yield report
        if minutes and time.monotonic() > end:
            return


def fuzz(
    programs: int = typer.Option(128, min=1, help="how many programs"),
    minutes: float = typer.Option(0.0, min=0.0, help="go on for so long instead"),
    seed: int = typer.Option(1, help="of the first program; each further one has the next"),
    resume: bool = typer.Option(False, help="go on behind the last seed of an earlier run with the same --out"),
    target: list[str] = typer.Option([], help=f"one of {', '.join(TARGETS)}; all where none is named"),
    reduce: bool = typer.Option(True, help="make failing programs small"),
    out: Path = typer.Option(ROOT / "build" / "fuzz", help="folder for the failing programs"),
    json_output: bool = typer.Option(False, "--json", help="print the tally as JSON"),
) -> None:
    """Random elements with random tokens, on every target against the interpreter. Exit status 1 when one disagrees.

    `./sluice fuzz --programs 200 --seed 7 --target cpu`. Programs of 64 seeds share a build, and each runs with three seeds of
    choices (arrival, pauses). What disagrees is made small and written to a file of `--out`, whose first line is the command that
    does it again. What hardware cannot have, or what is large, is counted as refused."""
    console = Console(stderr=True)
    if unknown := [name for name in target if name not in TARGETS]:
        raise typer.BadParameter(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    state = out / "next_seed"
    if resume and state.exists():
        seed = int(state.read_text())
    tally = _Tally(seed)
    for report in _reports(programs, minutes, seed, target or list(TARGETS)):
        tally.add(report)
        for failure in report.failures:
            tally.failures.append(f"{failure.target} {failure.case.seed}: {failure.message.splitlines()[-1][:300]}")
            console.print(f"{_written(failure, out)}: {failure.message.splitlines()[-1][:300]}", markup=False, soft_wrap=True)
            if reduce:
                small = reduced(failure, TARGETS)  # takes a build for every 16 attempts
                console.print(f"{_written(small, out)}: {small.message.splitlines()[-1][:300]}", markup=False, soft_wrap=True)
        out.mkdir(parents=True, exist_ok=True)
        state.write_text(f"{tally.next}\n")
        console.log(tally.line())
    if json_output:
        print(json.dumps(tally.figures(), indent=1))
    raise typer.Exit(1 if tally.failures else 0)
