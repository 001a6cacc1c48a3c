# SPDX-License-Identifier: Apache-2.0
"""`sluice run FILE.sl`: captures through a configuration, compiled for the CPU, as RTL, or in the interpreter."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from compiler.backends import cpp
from compiler.compile import HardwareError
from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from host.program import InputError
from host.program.captures import read_capture
from host.program.run import EXECUTE, ProgramResult, ProgramRun


def loaded(path: Path) -> typed.Program:
    """The program of a file. Ends the command with exit status 1 where it has errors."""
    diagnostics = Diagnostics()
    program = load(path, diagnostics)
    if program is None:
        for error in diagnostics.sorted():
            print(error.render(), end="", file=sys.stderr)
        raise typer.Exit(1)
    if not program.channels:
        raise typer.BadParameter(f"{path} has no configuration; add one: from_tor -> … -> to_tor")
    return program


def rendered(error: HardwareError) -> str:
    """With its place in the source."""
    diagnostics = Diagnostics()
    error.report(diagnostics)
    return diagnostics.sorted()[0].render()


def figures(result: ProgramResult) -> dict[str, Any]:
    """The result as it is printed with --json; states, answers as bit patterns in hex."""
    return {
        "sent": result.sent,
        "lanes": result.lanes,
        "errors": result.errors,
        "lost": result.lost,
        "unread": result.unread,
        **({"cycles": result.cycles} if result.cycles else {}),
        "instances": {
            name: {
                "iterations": outcome.iterations,
                "state": {state: hex(value) for state, value in outcome.state.items()},
                "answers": [hex(answer) for answer in outcome.answers],
                "lines": outcome.lines,
                "failures": outcome.failures,
                "discarded_flits": outcome.discarded,
                "mended_flits": outcome.mended,
            }
            for name, outcome in result.instances.items()
        },
    }


def _short(value: int) -> str:
    text = f"{value:,}" if value < 1 << 64 else hex(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def table(result: ProgramResult) -> Table:
    """The result for people."""
    rows = Table(show_header=False, box=None, pad_edge=False)
    rows.add_row("packets", f"{result.sent:,} sent, {sum(result.lanes):,} received")
    rows.add_row("by lane", ", ".join(f"{lane}: {count:,}" for lane, count in enumerate(result.lanes)))
    for what, count in (("dropped on error", result.errors), ("lost", result.lost), ("tokens unread", result.unread)):
        if count:
            rows.add_row(what, f"{count:,}")
    if result.cycles:
        rows.add_row("cycles", f"{result.cycles:,}, {result.cycles / max(result.sent, 1):.2f} per packet")
    for name, outcome in result.instances.items():
        states = "; ".join(f"{state} = {_short(value)}" for state, value in outcome.state.items())
        rows.add_row(name, f"{outcome.iterations:,} iterations" + (f"; {states}" if states else ""))
        for answer in outcome.answers:
            rows.add_row("", f"answer {_short(answer)}")
        if outcome.discarded or outcome.mended:
            rows.add_row("", f"packet guard: {outcome.mended} packets ended with error, {outcome.discarded} flits discarded")
    return rows


def run_program(what: ProgramRun, target: str, json_output: bool) -> None:
    """Run and print. Exit status 1 where the program has errors, an assertion fails, or it does not come to rest."""
    console = Console(stderr=True)
    if target not in EXECUTE:
        raise typer.BadParameter(f"unknown target '{target}'; choose from {', '.join(EXECUTE)}")
    program = loaded(what.path)
    try:
        sent = sum(len(read_capture(path)) for path in what.inputs)  # before the build, which takes long
        result = EXECUTE[target](what, program, lambda text: console.log(f"{target}: {text}"))
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    except HardwareError as error:
        print(rendered(error), end="", file=sys.stderr)
        raise typer.Exit(1) from error
    except RuntimeError as error:
        print(f"run: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    result.notes += [f"{i.name}: packets in {what.log(i.name)}" for i in cpp.loggers(program)]
    result.sent = sent
    if json_output:
        print(json.dumps(figures(result), indent=1))
    else:
        for name, outcome in result.instances.items():
            for line in outcome.lines:
                print(f"{name}: {line}")
        for note in result.notes:
            print(note)
        Console().print(table(result))
    failures = [f"{name}: {text}" for name, outcome in result.instances.items() for text in outcome.failures]
    for text in failures:
        print(f"failed: {text}", file=sys.stderr)
    raise typer.Exit(1 if failures else 0)
