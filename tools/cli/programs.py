# SPDX-License-Identifier: Apache-2.0
"""What subcommands on programs share: load one, compile its device part, and say what is wrong as `check` does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from compiler.compile import Compiled, HardwareError, compile_program
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.frontend.typed import Program
from compiler.layouts import write


def fail(diagnostics: Diagnostics, as_json: bool) -> typer.Exit:
    """Print what is wrong; the exit to raise."""
    if as_json:
        print(json.dumps([message.to_json() for message in diagnostics.sorted()], indent=1))
    else:
        for message in diagnostics.sorted():
            print(message.render(), file=sys.stderr)
    return typer.Exit(1)


def program_of(file: Path, as_json: bool = False) -> Program:
    """The checked program; exits with its errors if there are any."""
    diagnostics = Diagnostics()
    program = load(file, diagnostics)
    if program is None:
        raise fail(diagnostics, as_json)
    return program


def save(path: Path, text: str) -> None:
    """Write a file; exits with an error if that fails."""
    try:
        write(path, text)
    except OSError as error:
        diagnostics = Diagnostics()
        diagnostics.error("E0107", f"cannot write {path}: {error.strerror}", None, "choose another path")
        raise fail(diagnostics, False) from error


def hardware(file: Path, clock_mhz: float, as_json: bool = False) -> tuple[Program, dict[str, Compiled]]:
    """The program and its elements on the device; exits with its errors if there are any."""
    program = program_of(file, as_json)
    try:
        return program, compile_program(program, 1000 / clock_mhz)
    except HardwareError as error:
        diagnostics = Diagnostics()
        error.report(diagnostics)
        raise fail(diagnostics, as_json) from error
