# SPDX-License-Identifier: Apache-2.0
"""`sluice fmt`: one way to indent and space programs and layouts."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from compiler.frontend.format import format_text
from compiler.frontend.program import shown
from compiler.frontend.source import Diagnostics, Source
from compiler.layouts import LAYOUTS, write


def fmt(
    files: list[Path] = typer.Argument(..., help="programs or layouts"),
    check: bool = typer.Option(False, "--check", help="change nothing; exit status 1 if a file would change"),
) -> None:
    """Format programs and layouts in place: indentation and spaces. Line breaks and comments are kept.

    A file that cannot be parsed is not changed, and its errors are shown."""
    failed = False
    for file in files:
        diagnostics = Diagnostics()
        try:
            source = Source(shown(file), file.read_text(encoding="utf-8"))
            text = format_text(source, diagnostics, LAYOUTS in file.resolve().parents)
            if text is not None and text != source.text:
                print(f"{source.name}: {'would be' if check else ''} formatted".replace("  ", " "))
                failed |= check
                if not check:
                    write(file, text)
        except (OSError, UnicodeDecodeError) as error:
            diagnostics.error("E0105", f"cannot read or write {file}: {error}", None, "a program must be a UTF-8 text file")
        for message in diagnostics.sorted():
            print(message.render(), file=sys.stderr)
        failed |= bool(diagnostics)
    raise typer.Exit(1 if failed else 0)
