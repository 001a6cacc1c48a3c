# SPDX-License-Identifier: Apache-2.0
"""The commands that run while one writes, `check`, `fmt`, `explain`: an app of their own, which loads nothing of the others."""

from __future__ import annotations

import typer

from tools.cli import check, explain, fmt

app = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
app.command("check")(check.check)
app.command("fmt")(fmt.fmt)
app.command("explain")(explain.explain)
