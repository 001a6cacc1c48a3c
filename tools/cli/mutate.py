# SPDX-License-Identifier: Apache-2.0
"""`sluice mutate`: do the tests notice when the sources are wrong?"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:  # the parsers take a while to load, and other commands need none
    from testing.mutate.mutant import Mutant
    from testing.mutate.run import Session, Verdict

WORDS = ("mutants", "killed", "equivalent", "survived")


def mutate(
    part: list[str] = typer.Argument(None, help="files, file names without extension, or folders, e.g. sl_fifo, host/switch"),
    every: bool = typer.Option(False, "--all", help="all parts of rtl, elements, shell/core and the C folders of host"),
    seed: int = typer.Option(1, help="seed that selects the mutants"),
    limit: int = typer.Option(0, min=0, help="total number of mutants; default: 300 with --all, else 10 per part"),
    minutes: float = typer.Option(0.0, min=0.0, help="start no mutant after this many minutes; a later run continues"),
    jobs: int = typer.Option(os.cpu_count() or 1, min=1, help="mutants tested in parallel"),
    resume: bool = typer.Option(True, help="keep the verdicts of earlier runs; --no-resume tests all again"),
    list_only: bool = typer.Option(False, "--list", help="show the mutants and the tests that judge them, run nothing"),
    json_output: bool = typer.Option(False, "--json", help="print the result as JSON"),
) -> None:
    """Make small changes to the sources, one at a time, and check that a test or a proof fails. Exit status 1 if a mutant survives.

    `./sluice mutate sl_merge --seed 7` draws ten mutants of one part; `./sluice mutate --all --seed 7 --json` 300 over all parts,
    in hours: stop it at any time, the same command resumes. A mutant is *killed* when a test fails or takes five times as long;
    *survived* means that nothing failed: its lines are shown, and either a test is missing or the mutant is equivalent. Yosys
    proves equivalence where that is quick; otherwise `testing/mutate/equivalent.toml` argues it. See `docs/guide/mutation.md`."""
    from testing.mutate.draw import BrokenSource, parts
    from testing.mutate.run import Session, stop_at_sigterm

    if every == bool(part):
        raise typer.BadParameter("give parts, or --all")
    try:
        files = parts(part or [])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    console = Console(stderr=True)
    try:
        mutants = _drawn(files, limit or (300 if every else 10 * len(files)), seed, jobs, console)
    except BrokenSource as error:
        console.print(f"error: {error}", markup=False)
        raise typer.Exit(2) from None
    if list_only:
        _listed(mutants)
        return
    stop_at_sigterm()
    session = Session(mutants)
    if not resume:
        session.verdicts.clear()
    _judged(session, jobs, minutes, console)
    found = result(session.mutants, session.verdicts, seed)
    if json_output:
        print(json.dumps(found, indent=1))
    else:
        _shown(found)
    raise typer.Exit(1 if found["survived"] or found["waiting"] else 0)


def _drawn(files: Sequence[str], count: int, seed: int, jobs: int, console: Console) -> list[Mutant]:
    from testing.mutate.draw import Compilers, chosen
    from testing.mutate.run import FOLDER

    compilers, mutants = Compilers(FOLDER / "compiles"), []
    with _progress(console) as progress:
        drawing = progress.add_task("drawing", total=count)
        for it in chosen(files, count, seed, compilers, jobs):
            mutants.append(it)
            progress.advance(drawing)
    return mutants


def _judged(session: Session, jobs: int, minutes: float, console: Console) -> None:
    with _progress(console) as progress:
        judging = progress.add_task("judging", total=len(session.mutants), completed=len(session.verdicts))
        for verdict in session.run(jobs, minutes):
            progress.advance(judging)
            if verdict.verdict == "survived" or not console.is_terminal:
                told = f"{verdict.verdict}: {verdict.file}:{verdict.line} ({verdict.operator}) {verdict.by}"
                progress.console.print(told, markup=False, soft_wrap=True)
    for path, text in session.broken.items():
        console.print(f"{path} fails without a mutant; these cases were not used:\n{text[-800:]}", markup=False)


def _progress(console: Console) -> Progress:
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console)


def _listed(mutants: Sequence[Mutant]) -> None:
    from testing.mutate.judges import of_part

    for it in mutants:
        print(f"{it.file}:{it.line} {it.operator}; judged by {', '.join(judge.path for judge in of_part(it.file))}\n{it.diff()}")


def result(mutants: Sequence[Mutant], verdicts: Mapping[str, Verdict], seed: int) -> dict[str, Any]:
    """What is known of these mutants, by part too; those without a verdict are `waiting`, and count nowhere else."""
    by_part: dict[str, Counter[str]] = {}
    judged = [(it, verdicts[it.key]) for it in mutants if it.key in verdicts]
    for it, verdict in judged:
        by_part.setdefault(it.file, Counter()).update(["mutants", verdict.verdict])
    total: Counter[str] = sum(by_part.values(), Counter())
    tellable = total["mutants"] - total["equivalent"]
    shown = ("file", "line", "operator", "original", "mutated")
    return {
        **{word: total[word] for word in WORDS},
        "score": round(total["killed"] / tellable, 4) if tellable else None,
        "waiting": len(mutants) - len(judged),
        "seed": seed,
        "cpu_seconds": round(sum(verdict.seconds for _, verdict in judged)),
        "parts": {file: {word: found[word] for word in WORDS} for file, found in sorted(by_part.items())},
        "survivors": [{name: getattr(one, name) for name in shown} for _, one in judged if one.verdict == "survived"],
    }


def _shown(found: dict[str, Any]) -> None:
    console = Console()
    table = Table("part", *WORDS, box=None)
    for file, numbers in found["parts"].items():
        table.add_row(file, *(str(numbers[word]) for word in WORDS))
    table.add_section()
    table.add_row("all", *(str(found[word]) for word in WORDS))
    console.print(table)
    for one in found["survivors"]:
        place = f"{one['file']}:{one['line']} ({one['operator']})"
        console.print(f"\nsurvived: {place}\n- {one['original']}\n+ {one['mutated']}", markup=False, highlight=False)
    score = "none" if found["score"] is None else f"{100 * found['score']:.1f} %"
    console.print(
        f"\nseed {found['seed']}: {score} of the killable mutants killed; {found['waiting']} without a verdict", markup=False
    )
