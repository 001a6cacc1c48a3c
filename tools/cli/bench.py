# SPDX-License-Identifier: Apache-2.0
"""`sluice bench`: run one benchmark of the folder `bench/`, each a module with `measure()` and `show()`."""

from __future__ import annotations

import functools
import importlib
import json
import platform
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from bench import every, machine, registry
from toolchain import ROOT

BENCHMARKS = {name: one.help for name, one in registry.read().items() if not one.command}
IN_PARALLEL = ("elements", "line_rate")  # whose syntheses may run side by side
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


def _chosen(names: Sequence[str]) -> dict[str, registry.Bench]:
    """These benchmarks, or all, in the order of the list."""
    every_one = registry.read()
    if unknown := [name for name in names if name not in every_one]:
        raise typer.BadParameter(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(every_one)}")
    return {name: one for name, one in every_one.items() if not names or name in names}


def _all(benches: Mapping[str, registry.Bench], json_output: bool, fresh: bool = False) -> int:
    """Exit status: 1 where an aim is missed or a benchmark fails, 2 where it cannot begin."""
    console = Console(stderr=True, log_path=False)
    try:
        store = every.Store(every.KEPT, every.commit())
    except every.EveryError as error:
        console.print(f"bench: {error}", style="red", markup=False, highlight=False)
        return 2
    for one in benches.values() if fresh else ():
        store.forget(one)
    results, missed = every.run(benches, store, functools.partial(console.log, markup=False, highlight=False))
    pages: list[str] = []
    try:
        pages = every.write_tables(benches, results, store.revision)
        every.write_ledger(results)
    except every.EveryError as error:
        missed.append(str(error))
    busy = every.busy(results)
    if json_output:
        said = {"commit": store.revision, "missed": missed, "busy": busy, "pages": pages, "results": results}
        print(json.dumps(said, indent=1))
    for text in missed:
        console.print(f"missed: {text}", style="red", markup=False, highlight=False)
    if busy:
        warning = f"the machine was busy during {', '.join(busy)}; to measure one again: `--fresh --only NAME`"
        console.print(warning, style="yellow", markup=False, highlight=False)
    console.print(
        f"{len(results)} of {len(benches)} on {store.revision}, {len(missed)} missed; tables in {', '.join(pages) or 'no page'}"
    )
    return 1 if missed else 0


def bench(
    name: str = typer.Argument(None, help=CHOICES),
    json_output: bool = typer.Option(False, "--json", help="print the figures as JSON"),
    peers: bool = typer.Option(True, help="also measure the software peers that are installed, in the same run"),
    fmax: bool = typer.Option(
        False, "--fmax", help="elements: place and route those without a clock figure on the ECP5; takes hours"
    ),
    bless: bool = typer.Option(False, "--bless", help="elements: save the areas as golden values (bench/elements/golden.json)"),
    plot: Path = typer.Option(None, help="write the figure of the benchmark, if it has one, as SVG into this folder"),
    run_all: bool = typer.Option(
        False,
        "--all",
        help="run every benchmark and certificate on this commit, check the aims, update the tables of the docs; resumes",
    ),
    only: list[str] = typer.Option([], "--only", metavar="NAME", help="with --all: only these, and their tables; may be repeated"),
    fresh: bool = typer.Option(False, "--fresh", help="with --all: measure again, ignoring stored results"),
    jobs: int = typer.Option(1, min=1, help="elements, line_rate: number of parallel synthesis runs"),
) -> None:
    """Run a benchmark: cycle-accurate figures of the RTL next to those of its software alternatives."""
    if run_all:
        if name or plot or fmax or bless or not peers or jobs > 1:
            raise typer.BadParameter("--all takes no benchmark name, and no options except --only, --fresh and --json")
        raise typer.Exit(_all(_chosen(only), json_output, fresh))
    if only or fresh:
        raise typer.BadParameter("--only and --fresh require --all")
    if name not in BENCHMARKS:
        raise typer.BadParameter(f"unknown benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    if (fmax or bless) and name != "elements":
        raise typer.BadParameter("--fmax and --bless are only for the benchmark 'elements'")
    if jobs > 1 and name not in IN_PARALLEL:
        raise typer.BadParameter(f"--jobs is only for the benchmarks {' and '.join(IN_PARALLEL)}")
    more: dict[str, Any] = {"jobs": jobs} if name in IN_PARALLEL else {}
    more |= {"fmax": fmax, "bless": bless} if name == "elements" else {}
    module = importlib.import_module(f"bench.{name}")
    console, watch = Console(stderr=True, log_path=False), machine.Watch()
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
