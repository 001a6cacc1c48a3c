# SPDX-License-Identifier: Apache-2.0
"""The commands that make hardware of a program, `build` and `report`: an app of their own, which loads nothing of the others."""

from __future__ import annotations

import typer

from tools.cli import build, report

app = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
app.command("build")(build.build)
app.command("report")(report.report)
