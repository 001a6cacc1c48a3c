# SPDX-License-Identifier: Apache-2.0
"""`sluice bench`: run one benchmark of the folder `bench/`, each a module with `measure()` and `show()`."""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from bench import every, machine, registry
from testing.simulate import ROOT

BENCHMARKS = {name: one.help for name, one in registry.read().items() if not one.command}
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


def _all(benches: Mapping[str, registry.Bench], json_output: bool) -> int:
    """Exit status: 1 where an aim is missed or a benchmark fails, 2 where it cannot begin."""
    console = Console(stderr=True)
    try:
        revision = every.commit()
    except every.EveryError as error:
        console.print(f"bench: {error}", style="red", markup=False, highlight=False)
        return 2
    results, missed = every.run(benches, revision, every.KEPT, console.log)
    pages: list[str] = []
    try:
        pages = every.write_tables(benches, results, revision)
    except every.EveryError as error:
        missed.append(str(error))
    if json_output:
        print(json.dumps({"commit": revision, "missed": missed, "pages": pages, "results": results}, indent=1))
    for text in missed:
        console.print(f"missed: {text}", style="red", markup=False, highlight=False)
    console.print(
        f"{len(results)} of {len(benches)} on {revision}, {len(missed)} missed; tables in {', '.join(pages) or 'no page'}"
    )
    return 1 if missed else 0


def bench(
    name: str = typer.Argument(None, help=CHOICES),
    json_output: bool = typer.Option(False, "--json", help="print the figures as JSON"),
    peers: bool = typer.Option(True, help="measure the software peers in the same run, where they are installed"),
    fmax: bool = typer.Option(False, "--fmax", help="elements: place and route on the ECP5 what was not yet; hours"),
    bless: bool = typer.Option(
        False, "--bless", help="elements: keep the areas as what they are to be (bench/elements.golden.json)"
    ),
    plot: Path = typer.Option(None, help="write the figure as SVG into this folder, where the benchmark has one"),
    run_all: bool = typer.Option(
        False, "--all", help="every benchmark and certificate on this commit, its aims, the tables of the docs; a day; goes on"
    ),
) -> None:
    """Run a benchmark: cycle-accurate figures of the RTL beside what users would pick instead."""
    if run_all:
        if name or plot or fmax or bless or not peers:
            raise typer.BadParameter("--all takes no benchmark and no other option but --json")
        raise typer.Exit(_all(registry.read(), json_output))
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
