# SPDX-License-Identifier: Apache-2.0
"""What a packet costs the host: cycles of the polling thread in DPDK's transmit and receive calls, on the driver whose device is
a cable in software (`functional:join`), beside DPDK's net_ring, which hands over pointers, in the same run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from host.pmd.build import build as build_driver
from host.pmd.build import build_program

SIZES, COUNT, RUNS, PATIENCE = (60, 256, 1514), 200_000, 3, 120
KEYS = ("send", "receive", "empty_poll")


def once(program: Path, driver: Path, vdev: str, ports: tuple[int, int], size: int, count: int) -> dict[str, float]:
    """One run of the program. Raises RuntimeError with its last words."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    eal = ["--no-huge", "--legacy-mem", "-m", "128", "--no-pci", "--file-prefix", f"hostio{os.getpid()}", "-d", str(driver)]
    eal += ["--lcores", f"0@({cores})", "--vdev", vdev]
    command = [str(program), *eal, "--", *map(str, (*ports, size, count))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"{vdev}: status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, size: int, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Medians over the runs, and the packets a second that a core does which only sends and receives."""
    cycles = {key: round(median(run[key] for run in runs), 1) for key in KEYS}
    return {
        "driver": name,
        "size": size,
        **cycles,
        "packets_per_s": round(runs[0]["tsc_hz"] / (cycles["send"] + cycles["receive"])),
    }


def measure(
    log: Callable[[str], None], peers: bool, sizes: tuple[int, ...] = SIZES, count: int = COUNT, runs: int = RUNS
) -> dict[str, Any]:
    """Each size on each driver, the runs in turn, so that other work on the machine meets them alike."""
    program, driver = build_program(Path(__file__).with_name("loop.c")), build_driver()
    drivers = {"sluice": ("net_sluice0,device=functional:join,lanes=[none,none]", (0, 1))}
    if peers:
        drivers["net_ring"] = ("net_ring0", (0, 0))
    rows = []
    for size in sizes:
        log(f"packets of {size} bytes")
        found: dict[str, list[dict[str, float]]] = {name: [] for name in drivers}
        for _ in range(runs):
            for name, (vdev, ports) in drivers.items():
                found[name].append(once(program, driver, vdev, ports, size, count))
        rows += [row(name, size, some) for name, some in found.items()]
    return {"burst": 32, "rows": rows}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    table = Table(title="cycles of the time stamp counter a packet, bursts of 32")
    for column in ("driver", "bytes", "send", "receive", "poll of an empty ring", "packets/s, one core"):
        table.add_column(column, justify="left" if column == "driver" else "right")
    for one in result["rows"]:
        cells = [one["driver"], str(one["size"]), *(f"{one[key]:.0f}" for key in KEYS), f"{one['packets_per_s']:,}"]
        table.add_row(*cells)
    console.print(table)
