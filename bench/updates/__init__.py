# SPDX-License-Identifier: Apache-2.0
"""State of a flow that every packet reads, changes and writes: cycles a packet for one flow and for many.

Each `.sl` file here is one such update of 4,096 words in block RAM. It is scheduled for the fastest clock at which it takes a
packet every cycle, its II is proved, and packets of 64 bytes run through it in simulation, without a pause; every output and the
whole state at the end are compared with the interpreter's, so that a lost update shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from bench.compiled import Rate, elements, fastest, flits, rates
from bench.traffic import HOST, ROUTER
from compiler.certificate import certify, verdict
from compiler.compile import Compiled
from toolchain.markdown import table as written

HERE = Path(__file__).parent
FLOWS = (1, 1000)
PACKETS = 4000
FLAGS = ("S", "SA", "A", "PA", "A", "FA", "R")

Log = Callable[[str], None]


def frames(flows: int, count: int, seed: int = 1) -> list[bytes]:
    """`count` TCP packets of 64 bytes on the wire, each of one of `flows` flows, 10.0.x.y, with any sequence number and flags."""
    choose = random.Random(seed)
    found = []
    for _ in range(count):
        flow = choose.randrange(flows)
        address = f"10.0.{flow >> 8}.{flow & 255}"
        tcp = TCP(sport=1024 + flow, dport=80, seq=choose.getrandbits(32), flags=choose.choice(FLAGS))
        found.append(bytes(Ether(src=HOST, dst=ROUTER) / IP(src=address, dst="10.1.0.1") / tcp).ljust(60, b"\0"))
    return found


def rows(log: Log, packets: int = PACKETS, flows: tuple[int, ...] = FLOWS) -> list[dict[str, Any]]:
    """One row an update."""
    found = {path.stem: fastest(elements(path)[0]) for path in sorted(HERE.glob("*.sl"))}
    traffic = {count: frames(count, packets) for count in flows}
    measured: dict[str, dict[int, Rate]] = {name: {} for name in found}
    for clock in sorted({one.plan.clock for one in found.values()}):
        group = {name: one for name, one in found.items() if one.plan.clock == clock}
        for count, given in traffic.items():
            log(f"{', '.join(group)}: {count} flows, {packets} packets")
            streams = {name: {"in": flits(one.element, given)} for name, one in group.items()}
            for name, rate in rates(group, streams).items():
                measured[name][count] = rate
    return [_row(name, one, measured[name], log) for name, one in found.items()]


def _row(name: str, one: Compiled, measured: dict[int, Rate], log: Log) -> dict[str, Any]:
    log(f"{name}: the proof of its II")
    certificate = certify(one)
    return {
        "update": name,
        "patterns": sorted({update.pattern.value for update in one.updates.values()}),
        "clock_mhz": round(1000 / one.plan.clock, 1),
        "ii": one.plan.interval,
        "depth": one.plan.depth,
        **certificate.to_row(),
        "cycles_per_packet": {str(count): rate.cycles for count, rate in measured.items()},
        "disagreements": [rate.disagreement for rate in measured.values() if rate.disagreement],
    }


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures; there is no software peer."""
    del peers
    return {"packets": PACKETS, "packet_bytes": 64, "entries": 4096, "updates": rows(log)}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    counts = list(result["updates"][0]["cycles_per_packet"])
    heads = [f"cycles a packet, {count} flow{'s' if count != '1' else ''}" for count in counts]
    table = Table("update", "clock MHz", "II", "stages", "certified", *heads, "as the interpreter")
    for row in result["updates"]:
        certified = verdict(row["proof"], row["ii"])
        cycles = [f"{row['cycles_per_packet'][count]:.2f}" for count in counts]
        same = "no" if row["disagreements"] else "yes"
        table.add_row(row["update"], f"{row['clock_mhz']:g}", str(row["ii"]), str(row["depth"]), certified, *cycles, same)
    console.print(table)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    counts = list(result["updates"][0]["cycles_per_packet"])
    rows = [
        (
            *(row["update"], f"{row['clock_mhz']:g}", row["ii"], row["depth"], verdict(row["proof"], row["ii"])),
            *(f"{row['cycles_per_packet'][count]:.2f}" for count in counts),
            "no" if row["disagreements"] else "yes",
        )
        for row in result["updates"]
    ]
    cycles = [f"cycles a packet, flows: {count}" for count in counts]
    return {"updates": written(("update", "MHz asked", "II", "stages", "certified", *cycles, "as the interpreter"), rows)}
