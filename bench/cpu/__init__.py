# SPDX-License-Identifier: Apache-2.0
"""Configurations on a core of the CPU (`host/cpu/packets`), beside the same jobs by hand for DPDK (`by_hand.c`) and as flows of
OVS-DPDK.

Both take packets from a capture that comes again and again (net_pcap, infinite_rx) and send what passes into it, where it ends;
`io` by hand only hands packets on: what is left of the core for a job. Processor time, contenders in turn, medians of ratios within
a turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.cpu.jobs import JOBS, Job
from bench.peers import forward
from bench.peers.tables import PeerMissing, built, eal
from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from host.program import live
from host.program.captures import read_capture, write_capture
from host.program.run import EXECUTE, ProgramRun
from toolchain.markdown import table as written

SOURCE = Path(__file__).with_name("by_hand.c")
RUNS, SECONDS, COMPARED, MANY_COMPARED, PATIENCE = 5, 0.5, 10_000, 1_000_000, 120
PCAP_HEADER = 24  # bytes
MOST_RULES = 2000  # of the interpreter
MBUFS, MEGABYTES = 40_000, 512

Log = Callable[[str], None]


def program_of(job: Job) -> typed.Program:
    """Its program."""
    diagnostics = Diagnostics()
    program = load(job.program, diagnostics)
    if program is None:
        raise RuntimeError(diagnostics.sorted()[0].render())
    return program


def by_hand(program: Path, job: str, rules: Path | None, capture: Path, seconds: float) -> dict[str, float]:
    """One run of the program by hand: packets, and processor time. Raises RuntimeError with its words."""
    options = [*eal(f"by-hand-{os.getpid()}", MEGABYTES), "--force-max-simd-bitwidth=512"]
    options += ["--vdev", f"net_pcap0,rx_pcap={capture},infinite_rx=1"]
    command = [str(program), job, str(rules or "-"), str(seconds), str(MBUFS), "--", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"by_hand {job}: {done.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class Contender:
    """A configuration with its rules."""

    def __init__(self, binary: Path, job: Job, capture: Path, threads: int = 1) -> None:
        self.stages: dict[str, float] = {}  # of the last run: ns of each, for a packet
        self.engine = live.Engine(binary, [f"replay:{capture}"], ["--mbufs", str(MBUFS)], threads)
        for signal, answer in zip(job.signals, self.engine.signals(job.signals), strict=True):
            if answer != "0":
                raise RuntimeError(f"{job.name}: {signal} is refused with {answer}")

    def end(self, seconds: float) -> dict[str, float]:
        """Start, and stop after so long."""
        self.engine.start()
        time.sleep(seconds)
        told = self.engine.end()
        found = live.counters_of(told)
        scale = 1e9 / found.ticks_per_second / max(found.lanes[0].received, 1)
        self.stages = {stage.name: round(stage.ticks * scale, 1) for stage in found.stages}
        return {
            "received": found.lanes[0].received,
            "sent": found.lanes[0].sent,
            "processor_seconds": sum(core["processor_seconds"] for core in told["cores"]),
            "seconds": told["seconds"],
            "inside": sum(stage.ticks for stage in found.stages) / found.ticks_per_second,
            "hertz": found.ticks_per_second,
        }


def rate(run: dict[str, float]) -> float:
    """Packets per second of a core."""
    return run["received"] / run["processor_seconds"]


def is_identical(job: Job, program: typed.Program, folder: Path, compared: int, judge: str) -> bool:
    """Whether so many packets leave the ports as they leave the judge, `interpreter` or `cpu-exact`."""
    source, expected, got = (folder / f"{name}.pcap" for name in ("in", "expected", "got"))
    write_capture(source, [Packet(data) for data in islice(cycle(job.packets), compared)])
    signals = [_as_option(signal) + "@0" for signal in job.signals]
    EXECUTE[judge](ProgramRun(job.program, [source], [expected], signals, 0), program, lambda _: None)
    engine = live.Engine(live.build(program)[0], [f"pcap:{source},{got}"])
    engine.signals(job.signals)
    engine.start()
    begin = time.monotonic()
    while sum(lane.received for lane in engine.counters().lanes) < compared:
        if time.monotonic() - begin > PATIENCE:
            raise RuntimeError(f"{job.name}: packets do not arrive")
    engine.end()
    return same_packets(expected, got)


def same_packets(one: Path, other: Path) -> bool:
    """Whether two captures have the same packets in the same order, whenever they came."""
    left, right = _records(one), _records(other)
    if left is not None and right is not None:
        return left.shape == right.shape and bool((left == right).all())
    return [p.data for p in read_capture(one)] == [p.data for p in read_capture(other)]


def _records(path: Path) -> NDArray[np.uint8] | None:
    """A row for each packet, with its length in front; None where they have several lengths."""
    data = np.fromfile(path, np.uint8)[PCAP_HEADER:]
    size = 16 + int.from_bytes(data[8:12].tobytes(), "little") if len(data) else 16
    if len(data) % size:
        return None
    rows = data.reshape(-1, size)[:, 8:]  # behind the time
    return rows if (rows[:, :8] == rows[:1, :8]).all() else None


def _as_option(signal: str) -> str:
    instance, name, *arguments = signal.split("/")
    return f"{instance}.{name}:{','.join(str(int(argument, 16)) for argument in arguments)}"


def row(
    log: Log, job: Job, runs: int, seconds: float, peers: bool, compared: int = COMPARED, many: int = MANY_COMPARED
) -> dict[str, Any]:
    """A job: its rates, and those by hand in the same turns. `share_inside`: of the core's time, that between ports, and
    `stages_ns` of it for a packet; `two_threads`: how many times as fast, where the job can be in threads; `identical`: `compared`
    packets leave as the interpreter has them (of long lists of rules: flit by flit), and `many` as flit by flit."""
    log(job.name)
    program = program_of(job)
    binary, made = live.build(program)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture, rules = folder / "packets.pcap", folder / "rules"
        write_capture(capture, [Packet(data) for data in job.packets])
        rules.write_text("".join(f"{line}\n" for line in job.lines))
        found: dict[str, list[dict[str, float]]] = {"sluice": []}
        in_threads = len(os.sched_getaffinity(0)) > 1 and (job.partitioned or live.not_in_threads(program) is None)
        for _ in range(runs):
            contender = Contender(binary, job, capture)
            found["sluice"].append(contender.end(seconds))
            if in_threads:
                found.setdefault("threads", []).append(Contender(binary, job, capture, 2).end(seconds))
            for other in ("io", job.by_hand) if peers else ():
                if other:
                    found.setdefault(other, []).append(by_hand(built(SOURCE, "by_hand"), other, rules, capture, seconds))
        passed = found["sluice"][0]["sent"] / found["sluice"][0]["received"]
        switch = by_ovs(job, capture, passed) if peers and job.openflow else None
        judge = "interpreter" if len(job.signals) <= MOST_RULES else "cpu-exact"
        identical = is_identical(job, program, folder, compared, judge) and is_identical(job, program, folder, many, "cpu-exact")
    ours = [rate(run) for run in found["sluice"]]
    result: dict[str, Any] = {
        "job": job.name,
        "mpps": round(median(ours) / 1e6, 2),
        "ns_per_packet": round(1e9 / median(ours), 1),
        "cycles_per_packet": round(median(run["hertz"] for run in found["sluice"]) / median(ours), 1),
        "share_inside": round(median(run["inside"] / run["processor_seconds"] for run in found["sluice"]), 3),
        "stages_ns": contender.stages,
        "identical": identical,
        "passed": round(passed, 3),
        "sees_every_flit": {name: why for name, why in made.whole.items() if why},
    }
    if in_threads:
        result["two_threads"] = round(2 * median(rate(two) / mine for two, mine in zip(found["threads"], ours, strict=True)), 2)
    if "io" in found:
        result["share_of_floor"] = _ratio(ours, found["io"])
        result["io_floor"] = round(median(map(rate, found["io"])) / 1e6, 2)
    if job.by_hand in found:
        result["ratio_to_handwritten"] = _ratio(ours, found[job.by_hand])
        result["handwritten_mpps"] = round(median(map(rate, found[job.by_hand])) / 1e6, 2)
        shares = [run["sent"] / run["received"] for run in found[job.by_hand]]
        if abs(median(shares) - result["passed"]) > 0.01:
            raise RuntimeError(f"{job.name}: {result['passed']} of the packets pass here, {median(shares):.3f} by hand")
    if switch:
        result["ratio_to_ovs"] = round(median(ours) / switch, 2)
        result["ovs_mpps"] = round(switch / 1e6, 2)
    return result


def by_ovs(job: Job, capture: Path, passed: float) -> float | None:
    """Packets a second of Open vSwitch on DPDK, for a whole core; None where it is not installed."""
    try:
        return float(forward.ovs_dpdk(capture, job.openflow, passed=passed)["packets_per_s"])
    except PeerMissing:
        return None


def _ratio(ours: Sequence[float], theirs: Sequence[dict[str, float]]) -> float:
    return round(median(mine / rate(other) for mine, other in zip(ours, theirs, strict=True)), 3)


def measure(
    log: Log,
    peers: bool = True,
    jobs: Sequence[Callable[[], Job]] = JOBS,
    runs: int = RUNS,
    seconds: float = SECONDS,
    compared: int = COMPARED,
    many: int = MANY_COMPARED,
) -> dict[str, Any]:
    """All jobs; by hand too, with `peers`."""
    try:
        return {"rows": [row(log, make(), runs, seconds, peers, compared, many) for make in jobs], "runs": runs, "seconds": seconds}
    except PeerMissing as reason:
        return {"missing": str(reason), "rows": []}


COLUMNS = {
    "job": "job",
    "mpps": "M packets/s",
    "ns_per_packet": "ns a packet",
    "share_inside": "of it between ports",
    "share_of_floor": "of io",
    "handwritten_mpps": "by hand, M packets/s",
    "ratio_to_handwritten": "of by hand",
    "ratio_to_ovs": "times OVS-DPDK",
    "two_threads": "two threads, times",
    "identical": "same bytes",
}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    shown = Table(title="configurations on one core, packets of 64 bytes")
    for title in COLUMNS.values():
        shown.add_column(title, justify="right")
    for one in result["rows"]:
        shown.add_row(*(str(one.get(key, "-")) for key in COLUMNS))
    console.print(shown)
    if "missing" in result:
        console.print(result["missing"])


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    cells = [[("yes" if one[key] else "no") if key == "identical" else one.get(key) for key in COLUMNS] for one in result["rows"]]
    return {"cpu": written(tuple(COLUMNS.values()), cells)}
