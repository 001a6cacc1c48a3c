# SPDX-License-Identifier: Apache-2.0
"""`sluice bench`: run one benchmark of the folder `bench/`, each a module with `measure()` and `show()`."""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from bench import machine
from testing.simulate import ROOT

BENCHMARKS = {
    "lpm": "longest prefix match: searches, latency, writes under lookups; rte_lpm and rte_lpm6 beside it (Fig. 21)",
    "exact": "exact match: 128K flows at 90 % fill, moves under lookups; rte_hash beside it (Fig. 21)",
    "forward": "every packet hits: flits per cycle and latency by size; testpmd and OVS-DPDK beside it (Fig. 22, 23)",
    "firewall": "the OpenFlow firewall with full tables: packets a cycle, verdicts, rules inserted meanwhile; ClickNP beside it",
    "elements": "the library as hardware: II, its proof, stages, tokens a cycle, area; ClickNP's Table 2 beside it",
    "updates": "state of a flow that every packet changes: II, its proof, and cycles a packet for 1 and 1000 flows",
    "flows": "rules through rte_flow: dpdk-test-flow-perf on the functional device, on a driver that does nothing, and on the RTL",
    "hostio": "a packet between host and device: cycles on both sides; slot channels (ClickNP: Fig. 8); DPDK's net_ring beside it",
    "ovs": "Open vSwitch without offload, with marks, with full offload: cycles of the poll thread by stage (FAS: Fig. 3, 8, 9)",
    "rules": "populate, delete and update rates of both rule tables, in hardware and through the library (Table 5)",
}
CHOICES = "one of: " + "; ".join(f"{name} ({text})" for name, text in BENCHMARKS.items())


def _origin(name: str) -> dict[str, Any]:
    """What made the figures: command, versions, machine, time."""
    tools = tomllib.loads((ROOT / "toolchain.toml").read_text())["python"]
    revision = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "command": f"./sluice bench {name} --json",
        "revision": revision.stdout.strip(),
        "verilator": tools["verilator"],
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def bench(
    name: str = typer.Argument(..., help=CHOICES),
    json_output: bool = typer.Option(False, "--json", help="print the figures as JSON"),
    peers: bool = typer.Option(True, help="measure the software peers in the same run, where they are installed"),
    fmax: bool = typer.Option(False, "--fmax", help="elements: place and route on the ECP5 what was not yet; hours"),
    bless: bool = typer.Option(
        False, "--bless", help="elements: keep the areas as what they are to be (bench/elements.golden.json)"
    ),
    plot: Path = typer.Option(None, help="write the figure as SVG into this folder, where the benchmark has one"),
) -> None:
    """Run a benchmark: cycle-accurate figures of the RTL beside what users would pick instead."""
    if name not in BENCHMARKS:
        raise typer.BadParameter(f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    if (fmax or bless) and name != "elements":
        raise typer.BadParameter("--fmax and --bless are of the benchmark 'elements'")
    more = {"fmax": fmax, "bless": bless} if name == "elements" else {}
    module = importlib.import_module(f"bench.{name}")
    console, watch = Console(stderr=True), machine.Watch()
    try:
        measured = module.measure(console.log, peers, **more)
    except (RuntimeError, OSError) as error:  # what is missing, or what a program that was measured said
        console.print(f"{name}: {error}", style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    told = watch.told()
    result = {"benchmark": name, **_origin(name), "machine_load": told, **measured}
    if said := machine.warning(told):
        console.print(said, style="yellow", markup=False, highlight=False)
    if plot is not None:
        plot.mkdir(parents=True, exist_ok=True)
        module.plot(result, plot)
    kept = ROOT / "build" / "bench" / f"{name}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(result, indent=1) + "\n")
    if json_output:
        print(json.dumps(result, indent=1))
    else:
        module.show(result, Console())
