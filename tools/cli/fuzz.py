# SPDX-License-Identifier: Apache-2.0
"""`sluice fuzz`: random programs through every target, compared with the interpreter; failures as small files."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from compiler.fuzz import driver
from compiler.fuzz.reduce import reduced
from testing.simulate import ROOT


def _written(failure: driver.Failure, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.target}-{failure.case.seed}.sl"
    message = "\n".join(f"// {line}" for line in failure.message.splitlines())
    path.write_text(
        f"// sluice fuzz --programs 1 --seed {failure.case.seed} --target {failure.target}\n{message}\n\n{failure.case.text}"
    )
    return path


def fuzz(
    programs: int = typer.Option(100, min=1, help="how many programs"),
    seed: int = typer.Option(1, help="of the first program; each further one has the next"),
    target: list[str] = typer.Option([], help=f"one of {', '.join(driver.TARGETS)}; all where none is named"),
    reduce: bool = typer.Option(True, help="make failing programs small"),
    out: Path = typer.Option(ROOT / "build" / "fuzz", help="folder for the failing programs"),
) -> None:
    """Random elements with random tokens, on every target against the interpreter. Exit status 1 when one disagrees.

    `./sluice fuzz --programs 200 --seed 7 --target cpu`. What disagrees is made small and written to a file of `--out`, whose first
    line is the command that does it again."""
    console = Console(stderr=True)
    if unknown := [name for name in target if name not in driver.TARGETS]:
        raise typer.BadParameter(f"no target {', '.join(unknown)}; there are {', '.join(driver.TARGETS)}")
    failures = 0
    for name in target or driver.TARGETS:
        targets = {name: driver.TARGETS[name]}
        for done, found in driver.fuzz(programs, seed, targets, driver.FEATURES[name]):
            failures += len(found)
            console.log(f"{name}: {done} programs, {failures} failures")
            for failure in found:
                console.print(f"{_written(failure, out)}: {failure.message.splitlines()[-1][:300]}", markup=False, soft_wrap=True)
                if not reduce:
                    continue
                small = reduced(failure, targets)  # takes a build for every 16 attempts
                console.print(f"{_written(small, out)}: {small.message.splitlines()[-1][:300]}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if failures else 0)
