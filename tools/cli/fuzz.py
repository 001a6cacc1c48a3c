# SPDX-License-Identifier: Apache-2.0
"""`sluice fuzz`: random programs through every target, compared with the interpreter; failures as small files."""

from __future__ import annotations

import json
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from compiler.fuzz import driver, graph_driver, overlay_driver
from compiler.fuzz.graph_targets import GRAPH_TARGETS
from compiler.fuzz.reduce import MOST_SECONDS, reduced, reduced_graph
from compiler.fuzz.targets import TARGETS
from host.program.overlay_fuzz import OVERLAY_TARGETS
from toolchain import ROOT


@dataclass(frozen=True)
class Kind:
    """Programs of one kind: their targets, `fuzz` of so many from a seed on, a failure made small."""

    targets: Mapping[str, Any]
    fuzz: Callable[..., Iterator[driver.Report]]
    reduced: Callable[[driver.Failure, Mapping[str, Any]], driver.Failure]


KINDS = {
    "elements": Kind(TARGETS, driver.fuzz, reduced),
    "graphs": Kind(GRAPH_TARGETS, graph_driver.fuzz, reduced_graph),
    "overlay": Kind(OVERLAY_TARGETS, overlay_driver.fuzz, overlay_driver.reduced),
}
EVERY_TARGET = sorted({name for kind in KINDS.values() for name in kind.targets})


def _written(failure: driver.Failure, kind: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.target}-{failure.case.name}.sl"
    command = f"sluice fuzz {kind} --programs 1 --seed {failure.case.seed} --target {failure.target}"
    message = "\n".join(f"// {line}" for line in failure.message.splitlines())
    path.write_text(f"// {command}\n{message}\n\n{failure.case.text}")
    return path


def _core_seconds() -> float:
    """Processor time of this process and of what it built and ran: what a busy machine does not change."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class _Tally:
    """What was run up to now; `--json` prints it, and the state file keeps where to go on."""

    def __init__(self, seed: int) -> None:
        self.first, self.next = seed, seed
        self.programs: Counter[str] = Counter()
        self.compared: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.failures: list[str] = []
        self.began, self.core_began = time.monotonic(), _core_seconds()

    def add(self, kind: str, report: driver.Report) -> None:
        self.programs[kind] += report.programs
        self.next = max(self.next, self.first + self.programs[kind])
        for target, count in report.compared.items():
            self.compared[f"{kind} on {target}"] += count
        for target, found in report.refused.items():
            self.refused.update(f"{target} {reason.split(':')[0]}" for reason in found.values())

    def figures(self) -> dict[str, Any]:
        """Programs, and by target how many were compared."""
        seconds = time.monotonic() - self.began
        return {
            "seeds": [self.first, self.next - 1],
            "programs": dict(self.programs),
            "compared": dict(self.compared),
            "refused": dict(self.refused),
            "failures": self.failures,
            "seconds": round(seconds, 1),
            "core_seconds": round(_core_seconds() - self.core_began, 1),
            "programs_per_second": round(self.programs.total() / seconds, 2),
            "programs_per_core_second": round(self.programs.total() / (_core_seconds() - self.core_began), 2),
        }

    def line(self) -> str:
        """The same in one line."""
        figures = self.figures()
        rates = [f"{figures['programs_per_second']} programs/s", f"{figures['programs_per_core_second']} per available core"]
        parts = [f"seeds {self.first} to {self.next - 1}"]
        parts += [f"{what}: {count} compared" for what, count in self.compared.items()]
        parts += [f"{count} refused ({what})" for what, count in self.refused.items()]
        return "; ".join([*parts, f"{len(self.failures)} failures", *rates])


def _reports(
    programs: int, minutes: float, seed: int, kinds: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[str, driver.Report]]:
    """Batches of each kind in turn, of so many programs each; or of any number, for so many minutes."""
    count = programs if not minutes else 1 << 40
    end = time.monotonic() + 60 * minutes
    sources = {}
    for name in kinds:
        chosen = {target: run for target, run in KINDS[name].targets.items() if target in targets}
        sources[name] = KINDS[name].fuzz(count, seed, chosen, keep=False) if chosen else iter(())
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop(0)
        report = next(sources[kind], None)
        if report:
            yield kind, report
            waiting.append(kind)
        if minutes and time.monotonic() > end:
            return


def fuzz(
    kind: list[str] = typer.Argument(None, help=f"{', '.join(KINDS)}; default: all"),
    programs: int = typer.Option(128, min=1, help="how many programs of each kind"),
    minutes: float = typer.Option(0.0, min=0.0, help="run for this many minutes instead"),
    seed: int = typer.Option(1, help="seed of the first program; each later program uses the next seed"),
    resume: bool = typer.Option(False, help="continue after the last seed of an earlier run with the same --out"),
    target: list[str] = typer.Option([], help=f"one of {', '.join(EVERY_TARGET)}; default: all that the kind has"),
    reduce: bool = typer.Option(True, help="reduce failing programs"),
    out: Path = typer.Option(ROOT / "build" / "fuzz", help="folder for the failing programs"),
    json_output: bool = typer.Option(False, "--json", help="print the tally as JSON"),
) -> None:
    """Run random elements with random tokens, random configurations with random packets, and random programs of the programmable
    pipeline, on every target, and compare with the interpreter. Exit status 1 on a mismatch.

    `./sluice fuzz elements --programs 200 --seed 7 --target cpu`. `ir` runs the IR after the passes, `cpu` the
    C++, `rtl` the SystemVerilog under Verilator. 64 elements or 16 configurations share a build, and each runs with three seeds of
    choices (arrival, pauses). `overlay` deploys programs with rules to the `functional` device and to the `model` of the pipeline.
    A mismatch is reduced and written to a file in `--out`, whose first line is the command that reproduces it. Programs that a
    target does not support, or that are too large, are counted as refused, by reason."""
    console = Console(stderr=True)
    for given, known in ((target, EVERY_TARGET), (kind or [], KINDS)):
        if unknown := [name for name in given if name not in known]:
            raise typer.BadParameter(f"unknown {', '.join(unknown)}; choose from {', '.join(known)}")
    state = out / "next_seed"
    if resume and state.exists():
        seed = int(state.read_text())
    tally = _Tally(seed)
    for found, report in _reports(programs, minutes, seed, kind or list(KINDS), target or EVERY_TARGET):
        tally.add(found, report)
        for failure in report.failures:
            tally.failures.append(f"{failure.target} {failure.case.name}: {failure.message.splitlines()[-1][:300]}")
            console.print(
                f"{_written(failure, found, out)}: {failure.message.splitlines()[-1][:300]}", markup=False, soft_wrap=True
            )
            if reduce:  # takes a build for every 16 attempts
                console.log(f"{failure.case.name}: reducing, for about {MOST_SECONDS / 60:.0f} minutes at most")
                small = KINDS[found].reduced(failure, KINDS[found].targets)
                text = small.message.splitlines()[-1][:300]
                console.print(f"{_written(small, found, out)}: {text}", markup=False, soft_wrap=True)
        out.mkdir(parents=True, exist_ok=True)
        state.write_text(f"{tally.next}\n")
        console.log(tally.line())
    if json_output:
        print(json.dumps(tally.figures(), indent=1))
    raise typer.Exit(1 if tally.failures else 0)
