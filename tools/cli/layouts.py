# SPDX-License-Identifier: Apache-2.0
"""`sluice layouts`: generate SystemVerilog, C, Python and the reference page from the layouts."""

from __future__ import annotations

import subprocess
import sys

import typer

from toolchain import ROOT


def layouts(
    out: str = typer.Option("build/gen", help="folder for the generated files"),
    json_output: bool = typer.Option(False, "--json", help="print errors as JSON"),
) -> None:
    """Generate SystemVerilog, C, Python and the reference page from `layouts/`; errors show file, line and column."""
    flags = ["--json"] if json_output else []
    done = subprocess.run([sys.executable, "-m", "compiler.layouts", "--out", out, *flags], cwd=ROOT, check=False)
    raise typer.Exit(done.returncode)
