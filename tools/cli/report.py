# SPDX-License-Identifier: Apache-2.0
"""`sluice report`: what a program becomes in hardware, element by element."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from compiler import report as figures
from tools.cli.programs import hardware


def report(
    file: Path = typer.Argument(..., help="a program: elements, a configuration, or both"),
    clock: float = typer.Option(200.0, "--clock", help="MHz to schedule for"),
    json_output: bool = typer.Option(False, "--json", help="figures as JSON"),
) -> None:
    """Report the hardware of a program: initiation interval (II), stages, where each state lives and why.

    Where an element takes more than one cycle a token: the way round which its state goes, by source line, and what to write
    instead. Exit status 1: the program has an error, or cannot be hardware."""
    _, compiled = hardware(file, clock, json_output)
    found = [figures.element(element) for element in compiled.values()]
    if json_output:
        print(json.dumps({"file": str(file), "elements": found}, indent=1))
    else:
        print("\n".join(figures.text(element) for element in found))
