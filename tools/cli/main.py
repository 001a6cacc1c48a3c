# SPDX-License-Identifier: Apache-2.0
"""The top of the command line: its help, and the subcommands, one file each."""

from __future__ import annotations

import subprocess
import tomllib
from typing import Annotated

import typer

from toolchain import ROOT
from tools.cli import (
    agent,
    bench,
    build,
    check,
    cost,
    coverage,
    deploy,
    doctor,
    explain,
    fmt,
    fuzz,
    layouts,
    mutate,
    netdev,
    new,
    ovs,
    report,
    run,
    signal,
    test,
    top,
    why,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""An open, FPGA-accelerated SDN data plane.

Start with `make run`, or with files of your own:

`./sluice run --rules my.rules --in capture.pcap --out out.pcap`

Packets that hit a rule are parsed, matched, changed and forwarded in the simulated hardware. On a miss, the packet goes
to the software forwarder, which installs a rule. Every output packet is compared with the output of a second
implementation of the rules.

To write an element: `./sluice new element NAME`, then `check`, `test`, `run my.sl`, `report`, `build`;
see `docs/guide/tutorial.md`. Every command has `--help`.""",
)


def version() -> str:
    """The version of pyproject.toml, and the commit where there is one: `0.1.0 (a1d114e)`."""
    number = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return f"{number} ({git.stdout.strip()})" if git.returncode == 0 else number


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"sluice {version()}")
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="print version and commit, and exit")
    ] = False,
) -> None:
    pass


app.command("run")(run.run)
app.command("bench")(bench.bench)
app.command("cost")(cost.cost)
app.command("coverage")(coverage.coverage)
app.command("check")(check.check)
app.command("fmt")(fmt.fmt)
app.command("explain")(explain.explain)
app.command("build")(build.build)
app.command("deploy")(deploy.deploy)
app.command("report")(report.report)
app.add_typer(new.app, name="new")
app.command("test")(test.test)
app.command("fuzz")(fuzz.fuzz)
app.command("mutate")(mutate.mutate)
app.command("ovs")(ovs.ovs)
app.command("agent")(agent.agent)
app.add_typer(agent.table, name="table")
app.command("netdev")(netdev.netdev)
app.command("top")(top.top)
app.command("why")(why.why)
app.command("signal")(signal.signal)
app.command("layouts")(layouts.layouts)
app.command("doctor")(doctor.doctor)
