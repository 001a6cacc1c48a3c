# SPDX-License-Identifier: Apache-2.0
"""`sluice check`: read programs, and say what is wrong with them."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path

import typer

from compiler.frontend import show
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics


class Stage(StrEnum):
    """What can be printed."""

    TYPED = "typed"


def check(
    files: list[Path] = typer.Argument(..., help="programs: elements, a configuration, or both"),
    json_output: bool = typer.Option(False, "--json", help="print errors and warnings as JSON"),
    emit: Stage | None = typer.Option(None, help="print the program as the compiler understands it"),
) -> None:
    """Check programs: names, types, widths, ports, connections. Errors show file, line, column, and how to fix them.

    Run `./sluice check my.sl` while you write; it takes less than a second. `./sluice explain E0401` explains a code
    with an example. `--emit typed` shows every conversion that the compiler added. Exit status 1: there is an error."""
    found: list[dict[str, object]] = []
    errors = 0
    for file in files:
        diagnostics = Diagnostics()
        program = load(file, diagnostics)
        found += [message.to_json() for message in diagnostics.sorted()]
        errors += len(diagnostics.errors) + diagnostics.suppressed
        if not json_output:
            for message in diagnostics.sorted():
                print(message.render(), file=sys.stderr)
        if program and emit:
            print(show.program(program), end="")
    if json_output:
        print(json.dumps(found, indent=1))
    elif errors:
        print(f"{errors} error{'s' if errors != 1 else ''}", file=sys.stderr)
    raise typer.Exit(1 if errors else 0)
