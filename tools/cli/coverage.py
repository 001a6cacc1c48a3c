# SPDX-License-Identifier: Apache-2.0
"""`sluice coverage`: what the tests of parser, deparser, actions and rule FSM have seen come out right, and what they have not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import typer
from rich.console import Console

from testing.coverage import Counts, holes, merged
from toolchain import ROOT

TESTS = {
    "parser": "elements/parse/test_el_parse.py::test_el_parse",
    "deparser": "elements/deparse/test_el_deparse.py::test_el_deparse",
    "actions": "rtl/action/test_sl_action_pipe.py::test_action_pipe",
    "rules": "rtl/stage/test_sl_ofu.py::test_ofu",
}


def measure(part: str) -> Counts:
    """Run the test of a part and say what it has seen. Raises CalledProcessError when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SLUICE_COVERAGE": folder}
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", TESTS[part]], cwd=ROOT, env=environment, check=True, stdout=sys.stderr
        )
        return merged(Path(folder).glob("*.json"))


def _show(part: str, counts: Counts) -> None:
    console = Console(width=100, highlight=False)
    for point, missing in holes(counts).items():
        bins = counts[point]
        console.print(f"{part:10}{point:34}{len(bins) - len(missing):5} of {len(bins):4} seen")
        if missing:
            console.print(f"{'':10}never: {', '.join(missing)}", soft_wrap=False)


def coverage(
    parts: list[str] = typer.Argument(None, help=f"any of {', '.join(TESTS)}; default: all"),
    json_output: bool = typer.Option(False, "--json", help="print every count as JSON"),
) -> None:
    """Run the tests of parser, deparser, actions and rule FSM; report which headers, sizes, faults and actions they saw.

    SLUICE_SEEDS=n runs each with n seeds. Exit status 1 if a test fails."""
    unknown = [part for part in parts or [] if part not in TESTS]
    if unknown:
        raise typer.BadParameter(f"unknown part {unknown[0]}; choose from {', '.join(TESTS)}")
    found: dict[str, Counts] = {}
    for part in parts or TESTS:
        try:
            found[part] = measure(part)
        except subprocess.CalledProcessError:
            print(f"sluice coverage: the test of {part} failed", file=sys.stderr)
            raise typer.Exit(1) from None
        if not json_output:
            _show(part, found[part])
    if json_output:
        print(json.dumps({part: {"counts": counts, "holes": holes(counts)} for part, counts in found.items()}, indent=1))
