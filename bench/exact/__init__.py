# SPDX-License-Identifier: Apache-2.0
"""Exact match: the hashed table under a lookup in every cycle while it is filled to 131,072 rules at 90 % and churned.

Cycle-accurate: `sl_hash_table` under Verilator, driven by `harness.cc`, every answer compared with a map. A wrong answer or a false
miss is reported in the figures, not raised.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import CLOCK_MHZ
from bench.peers import tables as peer_tables
from bench.simulator import figures, simulator
from toolchain.markdown import table as written

HERE = Path(__file__).parent
RULES = 131072
SLOTS = 145408  # 4 ways of 71 * 512: the smallest such table that 131,072 rules fill to 90 %
KEY_BITS = 104
OPERATIONS = 20000

Log = Callable[[str], None]


def built(slots: int = SLOTS, key_bits: int = KEY_BITS) -> Path:
    """The simulator of a table of that size. Raises CalledProcessError."""
    sizes = {"Entries": slots, "KeyBits": key_bits}
    return simulator("exact", "sl_hash_table", HERE / "harness.cc", sizes, [HERE / "visible.vlt"])


def rtl(
    rules: int = RULES, slots: int = SLOTS, key_bits: int = KEY_BITS, operations: int = OPERATIONS, seed: int = 1
) -> dict[str, Any]:
    """Figures of the hardware table; the rates per second are at `CLOCK_MHZ`."""
    found = figures(built(slots, key_bits), slots, key_bits, rules, operations, seed)
    found |= {"seed": seed, "rate_clock_mhz": CLOCK_MHZ}
    for kind in ("populate", "delete", "update"):
        found[f"{kind}_per_s"] = round(CLOCK_MHZ * 1e6 / found[f"{kind}_cycles"]["average"])
    return found


def _address(rng: random.Random) -> str:
    return ".".join(str(byte) for byte in rng.randbytes(4))


def peer(count: int = RULES) -> dict[str, Any]:
    """DPDK's rte_hash with as many IPv4 5-tuples on one core, or why it could not be measured."""
    rng = random.Random(1)
    rules = [
        f"{_address(rng)} {_address(rng)} {rng.choice((6, 17))} {rng.getrandbits(16)} {rng.getrandbits(16)}" for _ in range(count)
    ]
    return peer_tables.measured("hash4", rules)


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures of the benchmark; `log` is told what goes on."""
    log(f"filling a hashed table of {SLOTS} slots with {RULES} rules under a lookup in every cycle")
    result = rtl()
    if peers:
        log("DPDK's rte_hash on one core")
        result["rte_hash"] = peer()
    return result


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    table = Table(title=f"exact match, {result['entries']} rules of {KEY_BITS} bits in {result['slots']} slots")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in result.items():
        if isinstance(value, dict) and "average" in value:
            table.add_row(name, f"{value['average']:.1f} average, {value['max']} max")
        elif isinstance(value, dict):
            for inner, figure in value.items():
                table.add_row(f"{name} {inner}", str(figure))
        else:
            table.add_row(name, str(value))
    console.print(table)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    cycles = {kind: result[f"{kind}_cycles"] for kind in ("populate", "delete", "update")}
    rows = [
        ("searches a cycle", result["searches_per_cycle"]),
        ("latency, cycles", result["latency_cycles"]),
        *((f"{kind}, cycles: average, most", f"{one['average']:.1f}, {one['max']:,}") for kind, one in cycles.items()),
        ("wrong answers", result["wrong_results"]),
        ("false misses while keys are moved", result["false_misses_during_moves"]),
        ("searches", result["searches"]),
        ("fill at the first refusal", f"{result['fill_at_first_refusal']:.3f}" if result["refused"] else None),
        ("`rte_hash` on one core, same number of rules, M/s (single, bulk)", peer_tables.rates(result.get("rte_hash", {}))),
    ]
    return {"exact": written(("", f"{result['entries']:,} rules of {KEY_BITS} bits in {result['slots']:,} slots"), rows)}
