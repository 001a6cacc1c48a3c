# SPDX-License-Identifier: Apache-2.0
"""`sluice ovs`: Open vSwitch on the simulated device, with hosts that talk through it, and the table of where their flows are."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from host.build import BuildError as HostBuildError
from shell.sim.build import BuildError
from testing.ovs import device as devices
from testing.ovs import spaces, switch
from testing.ovs.demo import KEPT, Outcome, run
from testing.ovs.stages import NAMES, STAGES
from toolchain import ROOT

WIDTH = 100  # columns, where the output is no terminal


def table(outcome: Outcome) -> Table:
    """The flows of a stage for people."""
    shown = Table(title=f"{outcome.title}, {outcome.seconds} s", title_justify="left", expand=True)
    for name, ratio in (("flow and its actions", 8), ("offloaded, or why not", 5)):
        shown.add_column(name, ratio=ratio, overflow="fold")
    for name in ("hardware", "software"):
        shown.add_column(name, justify="right", min_width=len(name))
    for row in outcome.flows:
        state = {"yes": ["[green]in hardware[/green]"], "partial": ["marked only"], "no": []}[row.offloaded]
        actions = re.sub(r"header\(.*\)(?=,out_port)", "header(...)", row.actions)  # of a tunnel: as long as all the rest
        flow = f"{row.in_port} {row.match} -> {actions}"
        shown.add_row(flow, "; ".join([*state, *row.reasons]), f"{row.hardware:,}", f"{row.software:,}")
    return shown


def _print(outcome: Outcome, console: Console) -> None:
    for check in outcome.checks:
        verdict = "passes" if check.passed else "is blocked"
        console.print(f"[{'green' if check.good else 'red'}]{check.what} {verdict}{'' if check.good else ', which is wrong'}[/]")
    console.print(table(outcome))


def ovs(
    stage: list[str] = typer.Option([], help=f"one of {', '.join(NAMES)}; default: all"),
    compare: bool = typer.Option(False, help="repeat on OVS alone, and compare the forwarded packets"),
    functional: bool = typer.Option(False, help="use the functional device (software) instead of the simulated RTL"),
    json_output: bool = typer.Option(False, "--json", help="print checks and flows as JSON"),
) -> None:
    """Run Debian's Open vSwitch with DPDK on the simulated device: hosts talk through it; a table shows where their flows are.

    Takes a minute, plus a few the first time to build the device. Needs root (network
    namespaces), and `make dpdk` once. No huge pages."""
    progress = Console(stderr=True)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if unknown := [name for name in stage if name not in NAMES]:
        raise typer.BadParameter(f"unknown stage {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    chosen = [one for one in STAGES if not stage or one.name in stage]
    switch.clean_up_on_sigterm()

    def say(text: str) -> None:
        progress.log(text, markup=False)

    try:
        switch.require()
        spaces.require()
        device = devices.functional() if functional else devices.build(say)
        outcomes = run(device, chosen, say, seen=lambda outcome: None if json_output else _print(outcome, console))
        alone = run(device, chosen, say, offload=False) if compare else []
    except (switch.OvsError, spaces.SpaceError, BuildError, HostBuildError) as error:
        progress.print(f"ovs-demo: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    differing = [
        f"{with_device.title}: {one.what}"
        for with_device, without in zip(outcomes, alone, strict=False)
        for one, other in zip(with_device.checks, without.checks, strict=True)
        if one.passed != other.passed
    ]
    wrong = [f"{outcome.title}: {check.what}" for outcome in outcomes for check in outcome.checks if not check.good]
    _report(outcomes, wrong, differing if compare else None, json_output, console)
    raise typer.Exit(1 if wrong or differing else 0)


def _report(outcomes: list[Outcome], wrong: list[str], differing: list[str] | None, json_output: bool, console: Console) -> None:
    told = [row for outcome in outcomes for row in outcome.flows]
    figures: dict[str, Any] = {
        "stages": [asdict(outcome) for outcome in outcomes],
        "flows": len(told),
        "flows_in_hardware": sum(row.offloaded == "yes" for row in told),
        "packets_in_hardware": sum(row.hardware for row in told),
        "packets_in_software": sum(row.software for row in told),
        "checks": sum(len(outcome.checks) for outcome in outcomes),
        "wrong": wrong,
        "differing_from_ovs_alone": differing,
    }
    if json_output:
        print(json.dumps(figures, indent=1))
        return
    console.print(
        f"{figures['flows_in_hardware']} of {figures['flows']} flows in hardware, with {figures['packets_in_hardware']:,} packets; "
        f"{figures['packets_in_software']:,} packets in software. {figures['checks']} checks, {len(wrong)} wrong"
        + ("" if differing is None else f", {len(differing)} different from OVS alone")
    )
    for line in [*wrong, *(differing or [])]:
        console.print(line, style="red", markup=False)
    console.print(f"Why: ./sluice why - < {(KEPT / 'flows.txt').relative_to(ROOT)}", markup=False, soft_wrap=True)
