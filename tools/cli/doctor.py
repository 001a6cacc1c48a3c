# SPDX-License-Identifier: Apache-2.0
"""`sluice doctor`: tools that are missing or not the version in `toolchain.toml`, and how to install them."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass
from importlib import metadata

import typer
from rich.console import Console
from rich.table import Table

from toolchain import ROOT
from toolchain.setup.setup import present


@dataclass(frozen=True)
class Finding:
    """One tool: what is wanted, what is there ("" where nothing), whether that is right, and the cure."""

    tool: str
    wanted: str
    found: str
    ok: bool
    needed_for: str
    cure: str


def _python(pins: dict[str, str]) -> list[Finding]:
    findings = []
    for name, wanted in pins.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = ""
        findings.append(Finding(name, wanted, found, found == wanted, "the project's environment", "make setup"))
    return findings


def _debian(tools: dict[str, dict[str, str]], cure: str) -> list[Finding]:
    return [
        Finding(t["package"], "Debian 12", "present" if present(t) else "", present(t), t["for"], cure.format(t["package"]))
        for t in tools.values()
    ]


def doctor(json_output: bool = typer.Option(False, "--json", help="print the findings as JSON")) -> None:
    """Report which tools are missing or have the wrong version, and how to install them. Exit status 1 if one is required."""
    wanted = tomllib.loads((ROOT / "toolchain.toml").read_text())
    needed = [*_python(wanted["python"]), *_debian(wanted["debian"], "apt-get install {}")]
    optional = _debian(wanted["debian-bench"], "apt-get install {}  (only for sluice bench)")
    if json_output:
        print(json.dumps({"needed": [asdict(f) for f in needed], "optional": [asdict(f) for f in optional]}, indent=1))
    else:
        table = Table("tool", "wanted", "found", "needed for", "how to install")
        for finding in [*needed, *optional]:
            state = finding.found or "missing"
            table.add_row(
                finding.tool,
                finding.wanted,
                state if finding.ok else f"[red]{state}[/red]",
                finding.needed_for,
                "" if finding.ok else finding.cure,
            )
        Console().print(table)
    raise typer.Exit(0 if all(f.ok for f in needed) else 1)
