# SPDX-License-Identifier: Apache-2.0
"""What a packet costs between device and host, on both sides.

The host (`loop.c`): cycles of the polling thread in DPDK's transmit and receive calls, on the driver whose device is a cable in
software (`functional:join`); the same in the device's buffers, without mbufs; beside both DPDK's net_ring, which hands over
pointers. Behind receiving, what a packet is: by software, or as the device says it; or of which flow it is, by a key that software
makes or that the device put into the buffer. How packets that come one by one are waited for
(`wait.c`): by polling, or by receive interrupts. The device (`device.py`): cycles of the RTL. All in one run.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.hostio import device
from host.build import build as build_library
from host.pmd.build import build as build_driver
from host.pmd.build import build_program
from toolchain.markdown import table as written

SIZES, COUNT, RUNS, PATIENCE = (60, 256, 1514), 200_000, 3, 120
KEYS = ("send", "receive", "empty_poll", "parse")
PAUSES, WAITED = (100, 1000, 10_000), 1.0  # microseconds between two packets; seconds of a run, about


def once(program: Path, driver: Path, ends: Sequence[str], size: int, count: int) -> dict[str, float]:
    """One run of the program between two ends (`loop.c`), the first word the DPDK device or none. Raises RuntimeError with its last
    words."""
    return _run(program, driver, ends[0], [*ends[1:], str(size), str(count)])


def _run(program: Path, driver: Path, vdev: str, words: Sequence[str]) -> dict[str, float]:
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    eal = ["--no-huge", "--legacy-mem", "-m", "128", "--no-pci", "--file-prefix", f"hostio{os.getpid()}", "-d", str(driver)]
    eal += ["--lcores", f"0@({cores})", *(["--vdev", vdev] if vdev else [])]
    command = [str(program), *eal, "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join([vdev, *words])}: status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, size: int, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Medians over the runs, and the packets a second that a core does which only sends and receives; the least share of a core
    that a run had, and how many packets the device and software parsed."""
    cycles = {key: round(median(run[key] for run in runs), 1) for key in KEYS}
    return {
        "driver": name,
        "size": size,
        **cycles,
        "packets_per_s": round(runs[0]["tsc_hz"] / (cycles["send"] + cycles["receive"])),
        "core_share": min(run["core_share"] for run in runs),
        **{key: sum(int(run[key]) for run in runs) for key in ("by_device", "by_software")},
    }


def host_rows(log: Callable[[str], None], peers: bool, sizes: Sequence[int], count: int, runs: int) -> list[dict[str, Any]]:
    """Each size between each pair of ends, the runs in turn, so that other work on the machine meets them alike."""
    program, driver = build_program(Path(__file__).with_name("loop.c"), library=build_library(("-O3",))), build_driver()
    vdev = "net_sluice0,device=functional:join,lanes=[none,none]"
    ends = {
        "sluice": [vdev, "driver", "0", "1"],
        "sluice, parsed": [vdev, "offload", "0", "1"],
        "buffers": ["", "buffers", "functional:join"],
        "buffers, flow by software": ["", "software", "functional:join"],
        "buffers, flow by key": ["", "key", "functional:join"],
    }
    if peers:
        ends["net_ring"] = ["net_ring0", "driver", "0", "0"]
    rows = []
    for size in sizes:
        log(f"packets of {size} bytes on the host")
        found: dict[str, list[dict[str, float]]] = {name: [] for name in ends}
        for _ in range(runs):
            for name, words in ends.items():
                found[name].append(once(program, driver, words, size, count))
        rows += [row(name, size, some) for name, some in found.items()]
    return rows


def waits(log: Callable[[str], None], pauses: Sequence[int], seconds: float, runs: int) -> list[dict[str, Any]]:
    """Both ways to wait for packets that come one by one, the runs in turn; medians."""
    program, driver = build_program(Path(__file__).with_name("wait.c")), build_driver()
    rows = []
    for pause in pauses:
        log(f"packets every {pause} microseconds")
        found: dict[str, list[dict[str, float]]] = {"poll": [], "interrupt": []}
        for _ in range(runs):
            for way, some in found.items():
                with tempfile.TemporaryDirectory(prefix="sl-") as folder:  # a socket's name is short
                    vdev = f"net_sluice0,device=functional,lanes=[unix:{folder}/lane]"
                    count = max(40, round(seconds * 1e6 / pause))
                    some.append(_run(program, driver, vdev, [way, f"{folder}/lane", str(pause), str(count)]))
        for way, some in found.items():
            rows.append({"way": way, "pause_us": pause, **{key: round(median(one[key] for one in some), 3) for key in some[0]}})
    return rows


def conversions(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What mbufs cost: the driver's calls without those of the library in them."""
    by_driver = {(one["driver"], one["size"]): one for one in rows}
    found = []
    for size in dict.fromkeys(one["size"] for one in rows):
        driver, buffers = by_driver["sluice", size], by_driver["buffers", size]
        more = {f"{way}_mbuf": round(driver[key] - buffers[key], 1) for way, key in (("to", "receive"), ("from", "send"))}
        found.append({"size": size, **more})
    return found


def measure(
    log: Callable[[str], None],
    peers: bool,
    sizes: tuple[int, ...] = SIZES,
    count: int = COUNT,
    runs: int = RUNS,
    pauses: tuple[int, ...] = PAUSES,
    **device_sizes: Any,
) -> dict[str, Any]:
    """Both sides; `device_sizes` are further arguments of `device.measure`."""
    rows = host_rows(log, peers, sizes, count, runs)
    waited = waits(log, pauses, WAITED, runs)
    host = {"burst": 32, "rows": rows, "conversions": conversions(rows), "waits": waited}
    return {**host, "device": device.measure(log, sizes, **device_sizes)}


def _print(console: Console, title: str, names: Mapping[str, str], rows: Sequence[dict[str, Any]]) -> None:
    table = Table(title=title)
    for heading in names.values():
        table.add_column(heading, justify="left" if heading in ("driver", "graph", "way") else "right")
    for one in rows:
        table.add_row(*(f"{one[key]:,.0f}" if key in HOST else str(one[key]) for key in names))
    console.print(table)


HOST = (*KEYS, "packets_per_s", "to_mbuf", "from_mbuf")  # to whole numbers


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    names = {"driver": "driver", "size": "bytes", "send": "send", "receive": "receive", "empty_poll": "poll of an empty ring"}
    names |= {"parse": "what it is", "packets_per_s": "packets/s, one core"}
    _print(console, "cycles of the time stamp counter a packet, bursts of 32", names, result["rows"])
    names = {"size": "bytes", "to_mbuf": "buffer to mbuf", "from_mbuf": "mbuf to buffer"}
    _print(console, "of it, the driver's over the buffers'", names, result["conversions"])
    names = {"way": "way", "pause_us": "µs between packets", "latency_us": "latency, µs", "latency_99_us": "99 in 100"}
    names |= {"thread": "s/s of the thread that waits", "process": "and with the device's"}
    _print(console, "waiting for packets one by one: latency from program to program, processor time", names, result["waits"])
    figures = {"cycles": "cycles a packet", "latency_cycles": "latency, cycles", "gbps": "Gbit/s at 200 MHz"}
    names = {"graph": "graph", "way": "way", "size": "bytes", **figures}
    _print(console, "the device between lane and host, RTL", names, result["device"]["lanes"])
    names = {"size": "bytes", "slots": "slots", "buffer_bytes": "bytes in the ring", **figures}
    _print(console, "messages through slots to the device and back, RTL", names, result["device"]["slots"])


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs: the host's side, waiting, and both parts of the device's."""
    host = [
        (one["size"], one["driver"], *(f"{one[key]:,.{int(one[key] < 10)}f}" for key in KEYS), f"{one['packets_per_s'] / 1e6:.1f}")
        for one in sorted(result["rows"], key=lambda row: int(row["size"]))
    ]
    mbufs = [(one["size"], f"{one['to_mbuf']:.0f}", f"{one['from_mbuf']:.0f}") for one in result["conversions"]]
    waits = [
        (one["pause_us"], one["way"], *(f"{one[key]:.0f}" for key in ("latency_us", "latency_99_us")), *_shares(one))
        for one in result["waits"]
    ]
    lanes = [
        tuple(one[key] for key in ("size", "graph", "way", "cycles", "latency_cycles", "gbps")) for one in result["device"]["lanes"]
    ]
    slots = [
        tuple(one[key] for key in ("size", "slots", "buffer_bytes", "latency_cycles", "cycles", "gbps"))
        for one in result["device"]["slots"]
    ]
    mhz = f"Gbit/s at {result['device']['clock_mhz']:g} MHz"
    return {
        "hostio-host": written(("bytes", "ends", "send", "receive", "empty poll", "what it is", "M packets/s of a core"), host),
        "hostio-mbufs": written(("bytes", "buffer to mbuf", "mbuf to buffer"), mbufs),
        "hostio-waits": written(
            ("us between packets", "way", "latency, us", "99 in 100", "processor time of the thread", "with the device's thread"),
            waits,
        ),
        "hostio-device": written(("bytes", "graph", "way", "cycles a packet", "latency, cycles", mhz), lanes),
        "hostio-slots": written(("bytes", "slots", "in the ring, each way", "latency, cycles", "cycles a message", mhz), slots),
    }


def _shares(waited: dict[str, Any]) -> tuple[str, str]:
    return f"{waited['thread']:.1%}", f"{waited['process']:.1%}"
