# SPDX-License-Identifier: Apache-2.0
"""Longest prefix match: full tables under a lookup in every cycle while rules are rewritten back to back.

Cycle-accurate: `sl_lpm_table` 32 x 512 and 128 x 512 under Verilator, driven by `harness.cc`, every answer compared with a
model. A wrong answer is reported in the figures, not raised. The software peers get the same rules.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import CLOCK_MHZ
from bench.peers import tables as peer_tables
from bench.simulator import BUILD, figures, simulator
from toolchain.markdown import table as written

HERE = Path(__file__).parent
ENTRIES = 512
KEY_BITS = (32, 128)
LOOKUPS = 200_000
SPEED_CYCLES = 400_000

Log = Callable[[str], None]


def built(key_bits: int, entries: int = ENTRIES) -> Path:
    """The simulator of a table. Raises CalledProcessError."""
    return simulator("lpm", "sl_lpm_table", HERE / "harness.cc", {"Entries": entries, "KeyBits": key_bits})


def rules_file(key_bits: int, entries: int = ENTRIES) -> Path:
    """Where a run leaves the rules of its full table."""
    return BUILD / f"lpm-rules-{key_bits}x{entries}.txt"


def table(key_bits: int, entries: int = ENTRIES, lookups: int = LOOKUPS, seed: int = 1) -> dict[str, Any]:
    """Figures of one table. Raises RuntimeError where the simulation ends without figures."""
    found = figures(built(key_bits, entries), key_bits, entries, lookups, SPEED_CYCLES, seed, rules_file(key_bits, entries))
    return {**found, "seed": seed}


def rtl(lookups: int = LOOKUPS, seed: int = 1) -> dict[str, Any]:
    """Figures of both tables, and over both: the worst of each."""
    tables = {f"{bits}x{ENTRIES}": table(bits, ENTRIES, lookups, seed) for bits in KEY_BITS}
    every = list(tables.values())
    together = 1 / sum(1 / one["simulated_cycles_per_s"] for one in every)
    return {
        "searches_per_cycle": min(one["searches_per_cycle"] for one in every),
        "latency_cycles": max(one["latency_cycles"] for one in every),
        "write_cycles": max(one["write_cycles"] for one in every),
        "delete_cycles": max(one["delete_cycles"] for one in every),
        "lookup_stalls_during_write": sum(one["lookup_stalls_during_write"] for one in every),
        "wrong_results": sum(one["wrong_results"] for one in every),
        "lookups": sum(one["lookups"] for one in every),
        "rate_clock_mhz": CLOCK_MHZ,
        "write_per_s": round(CLOCK_MHZ * 1e6 / max(one["write_cycles"] for one in every)),
        "delete_per_s": round(CLOCK_MHZ * 1e6 / max(one["delete_cycles"] for one in every)),
        "simulated_cycles_per_s_both": round(together),
        "tables": tables,
    }


def peer(key_bits: int) -> dict[str, Any]:
    """DPDK's rte_lpm or rte_lpm6 with the rules of the hardware table on one core, or why it could not be measured."""
    kind, version = ("lpm4", ipaddress.IPv4Address) if key_bits == 32 else ("lpm6", ipaddress.IPv6Address)
    lines = (line.split() for line in rules_file(key_bits).read_text().splitlines())
    rules = [f"{version(int(address, 16))}/{length}" for address, length in lines]
    return peer_tables.measured(kind, rules)


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures of the benchmark; `log` is told what goes on."""
    log(f"{LOOKUPS} lookups in each of two full tables, a key in every cycle, rules rewritten back to back")
    result = rtl()
    if peers:
        log("DPDK's rte_lpm and rte_lpm6 on one core")
        result["rte_lpm"], result["rte_lpm6"] = peer(32), peer(128)
    return result


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    names = list(result["tables"])
    shown = Table("figure", *names, title="longest prefix match")
    for figure in result["tables"][names[0]]:
        shown.add_row(figure, *(str(result["tables"][name][figure]) for name in names))
    console.print(shown)
    for name in ("rte_lpm", "rte_lpm6"):
        if name in result:
            console.print(f"{name}: {json.dumps(result[name])}")


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    names = list(result["tables"])
    shown = {
        "searches a cycle": "searches_per_cycle",
        "latency, cycles": "latency_cycles",
        "write, cycles": "write_cycles",
        "lookups stalled by a write": "lookup_stalls_during_write",
        "wrong answers": "wrong_results",
        "lookups": "lookups",
    }
    rows = [(text, *(result["tables"][name][key] for name in names)) for text, key in shown.items()]
    rates = (peer_tables.rates(result.get(name, {})) for name in ("rte_lpm", "rte_lpm6"))
    peers = "`rte_lpm`, `rte_lpm6` on one core, same rules, M/s (single, bulk)"
    return {"lpm": written(("", *names), [*rows, (peers, *rates)])}
