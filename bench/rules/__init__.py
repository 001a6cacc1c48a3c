# SPDX-License-Identifier: Apache-2.0
"""Rule operations: how fast both rule tables take populate, update and delete, in hardware and through the host library.

In hardware: instruction FIFO, configuration FSM and tables of each OFU (`rules_harness.sv`) with instructions back to back and
a lookup in every cycle; cycles from response to response. The exact tables are filled from empty to 90 %. Through the
library: `sluice_rule_ops_many` on the simulated device, in cycles of the device and in seconds of this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import CLOCK_MHZ
from bench.simulator import figures, simulator
from toolchain.markdown import table as written

HERE = Path(__file__).parent
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
    """The simulator of an OFU's tables. Raises CalledProcessError."""
    sizes = {"Exact": int(ofu.exact), "Entries0": ofu.entries[0], "Entries1": ofu.entries[1]}
    return simulator("rules", "rules_harness", HERE / "harness.cc", sizes, [HERE / "rules_harness.sv"])


def hardware(ofu: Ofu, updates: int = UPDATES, seed: int = 1) -> dict[str, Any]:
    """Cycles of the operations of each table, and the rate of the slower one at `CLOCK_MHZ`."""
    program = built(ofu)
    tables: dict[str, Any] = {}
    for table, (entries, bits) in enumerate(zip(ofu.entries, ofu.key_bits, strict=True)):
        rules = int(entries * ofu.fill)
        tables[f"{bits}x{entries}"] = figures(program, int(ofu.exact), table, bits, rules, updates, seed)
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


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    mhz = result["rate_clock_mhz"]
    rows: list[tuple[str, ...]] = []
    for name in OFUS:
        for size, found in result[name]["tables"].items():
            cycles = [found[f"{kind}_cycles"]["average"] for kind in KINDS]
            rows.append((f"{name} {size}", *(f"{one:.1f} ({mhz / one:.1f})" for one in cycles)))
    for name, found in result["library"].items():
        rows.append((f"{name}, through the library", *(f"{found[kind]['cycles']:.1f}" for kind in KINDS)))
    return {"rules": written((f"cycles (M/s at {mhz:.0f} MHz)", *KINDS), rows)}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    shown = Table("table", *KINDS, title=f"cycles an operation in hardware, average (rates at {result['rate_clock_mhz']:.0f} MHz)")
    for name in OFUS:
        for size, found in result[name]["tables"].items():
            averages = (found[f"{kind}_cycles"]["average"] for kind in KINDS)
            shown.add_row(f"{name} {size}", *(f"{cycles:.1f} ({result['rate_clock_mhz'] / cycles:.1f} M/s)" for cycles in averages))
    console.print(shown)
    shown = Table("table", *KINDS, title="through the host library, one process: device cycles and microseconds an operation")
    for name, found in result["library"].items():
        shown.add_row(name, *(f"{found[k]['cycles']:.1f} cycles, {found[k]['microseconds']:.1f} us" for k in KINDS))
    console.print(shown)
