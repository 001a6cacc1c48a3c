# SPDX-License-Identifier: Apache-2.0
"""FAS's comparison (Fig. 3, 8, 9, 10): what a packet costs the poll thread of Open vSwitch without offload, with marks, with full
offload.

The device is the functional one, whose lane 0 has a capture again and again, as fast as the host takes it: a packet for each
OpenFlow rule, in random order. Cycles are those of the time stamp counter in the thread's processor time, without what it sleeps;
`profile.py` says how they are split. In a run everything is the same but the offload. One thing is not: OVS asks a device for marks
only where it cannot have the flow whole. So without offload and with marks the rules also set the DSCP, which OVS offloads nowhere.
"""

from __future__ import annotations

import itertools
import random
import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import PcapWriter, checksum

from bench.ovs import latency, profile
from testing.ovs import device as devices
from testing.ovs.switch import OpenVSwitch, OvsError, run_folder
from toolchain.markdown import table as written

MODES = ("none", "partial", "full")
SIZES, RULES = (64, 128, 256, 512, 1024, 1500), (1, 256, 8192, 65536)  # sizes with FCS
ROUNDS, SECONDS = 3, 1.5
LOOKS = 5  # milliseconds of processor time in which a poll thread has looked at all its rings
PATIENCE, STILL = 120.0, 3.0  # seconds for all flows to come, and without a new one
FCS, DESTINATION, HEADER = 4, slice(30, 34), slice(14, 34)
BRIDGE = "br0"
PERF = "dpif-netdev/pmd-perf-show"
BUSY = 10.0  # percent of all cycles: what a poll thread with work uses at least
FLOWS_LIVE = {"max-idle": "600000", "flow-limit": "300000", "min-revalidate-pps": "0"}
# Milliseconds between the looks of OVS at its flows. Each raises its own limit, 10,000 at first, by 1,000; later they disturb.
GROW, MEASURE = {"max-revalidator": "100"}, {"max-revalidator": "10000"}
HITS = {
    "marks": "phwol hits",
    "emc": "emc hits",
    "smc": "smc hits",
    "megaflow": "megaflow hits",
    "upcalls": "miss with success upcall",
}


def _address(number: int) -> int:
    return (10 << 24) + number


def frame_of(size: int, number: int) -> bytes:
    """The packet of a rule, `size` bytes with FCS, without it here."""
    whole = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / IP(src="10.200.0.1", dst="10.0.0.0", chksum=0)
    frame = bytearray(bytes(whole / UDP(sport=1000, dport=2000, chksum=0) / bytes(size - FCS - 42)))
    frame[DESTINATION] = struct.pack(">I", _address(number))
    frame[24:26] = struct.pack(">H", checksum(bytes(frame[HEADER])))
    return bytes(frame)


def write_capture(path: Path, size: int, rules: int) -> None:
    """A packet of `size` bytes, FCS included, for each rule."""
    frame = bytearray(frame_of(size, 0))
    numbers = list(range(rules))
    random.Random(1).shuffle(numbers)
    with PcapWriter(str(path), linktype=1) as writer:
        writer.write_header(None)
        for number in numbers:
            frame[DESTINATION], frame[24:26] = struct.pack(">I", _address(number)), bytes(2)
            frame[24:26] = struct.pack(">H", checksum(bytes(frame[HEADER])))
            writer.write_packet(bytes(frame))


def flows(rules: int, mode: str) -> list[str]:
    """The OpenFlow rules."""
    actions = "output:2" if mode == "full" else "set_field:10->ip_dscp,output:2"
    return [f"priority=10,in_port=1,ip,nw_dst={IPv4Address(_address(number))},actions={actions}" for number in range(rules)]


@contextmanager
def polled_switch(device: devices.Device, lanes: Sequence[str], rules: int, mode: str, sleep: int = 1000) -> Iterator[OpenVSwitch]:
    """A switch whose pipeline stands between two lanes; a core polls it, which may sleep some microseconds."""
    with run_folder() as folder, OpenVSwitch(folder) as switch:
        offload, (core, mask) = str(mode != "none").lower(), devices.cores()
        own = {"hw-offload": offload, "dpdk-lcore-mask": mask, "pmd-maxsleep": str(sleep), **FLOWS_LIVE, **GROW}
        switch.start(f"-d {device.driver}", devices.MEGABYTES, own)
        switch.poll(None)
        switch.add_bridge(BRIDGE)
        for number, devargs in enumerate(device.devargs(lanes, lossless=True)):
            switch.add_port(BRIDGE, f"lane{number}", devargs, number + 1)
        switch.set_flows(BRIDGE, flows(rules, mode))
        switch.poll(core)
        yield switch


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def live(switch: OpenVSwitch) -> int:
    """Flows in the datapath."""
    return _number(r"flows:\s+(\d+)", switch.appctl("dpctl/show"))


def offloaded(switch: OpenVSwitch, mode: str) -> int:
    """Flows that the device has, whole or for a mark."""
    if mode == "none":
        return 0  # and no counter
    return _number(r"Total\s+Inserted offloads:\s+(\d+)", switch.appctl("dpctl/offload-stats-show"))


def wait_for_flows(switch: OpenVSwitch, rules: int, mode: str) -> None:
    """Until every rule has its flow, and the device too, or no more come."""
    end, last, since = time.monotonic() + PATIENCE, (0, 0), time.monotonic()
    while time.monotonic() < end:
        now = (live(switch), rules if mode == "none" else offloaded(switch, mode))
        if min(now) >= rules:
            return
        if now != last:
            last, since = now, time.monotonic()
        elif last[0] and time.monotonic() - since > STILL:
            return
        time.sleep(0.2)


def wait_for_rest(switch: OpenVSwitch, thread: int) -> None:
    """Until the poll thread has looked, and the rings held no more packets for it."""
    end, last = time.monotonic() + PATIENCE, -1
    while time.monotonic() < end:
        now = _number(r"packets received: (\d+)", switch.appctl("dpif-netdev/pmd-stats-show"))
        if now == last:
            return
        last, ran = now, profile.processor_time(thread) + LOOKS * 1_000_000
        while profile.processor_time(thread) < ran and time.monotonic() < end:  # a busy machine may not let it run
            time.sleep(0.02)


@dataclass(frozen=True)
class Reading:
    """Counters of a moment."""

    forwarded: int  # packets that left lane 1
    spent: int  # nanoseconds of processor time of the poll thread
    cycles: int  # of the time stamp counter, as OVS counts them while it handles packets

    def since(self, before: Reading) -> Reading:
        """What came since."""
        return Reading(self.forwarded - before.forwarded, self.spent - before.spent, self.cycles - before.cycles)


def poll_thread(switch: OpenVSwitch) -> int:
    """The number of the poll thread."""
    for task in Path(f"/proc/{switch.pid}/task").iterdir():
        if (task / "comm").read_text().startswith("pmd-"):
            return int(task.name)
    raise OvsError(f"no poll thread is running:\n{switch.complaints()}")


def read(switch: OpenVSwitch, thread: int) -> Reading:
    """The counters now."""
    spent, forwarded = profile.processor_time(thread), switch.port_packets(BRIDGE)["2"][1]
    return Reading(forwarded, spent, _number(r"processing cycles: (\d+)", switch.appctl("dpif-netdev/pmd-stats-show")))


def frequency(text: str) -> float | None:
    """Of the time stamp counter, in Hz, from what `pmd-perf-show` prints: cycles, their share of all in tenths of a percent, and
    the time. None: the thread slept, and the share is too small to tell."""
    found = re.search(r"duration: ([\d.]+) s.*?Used TSC cycles:\s+(\d+)\s+\(\s*([\d.]+) %", text, re.DOTALL)
    if not found or float(found[3]) < BUSY:
        return None
    return float(int(found[2]) / (float(found[3]) / 100) / float(found[1]))


def busy_frequency(switch: OpenVSwitch) -> float:
    """Of a switch whose poll thread has work. Raises OvsError where it had none."""
    text = switch.appctl(PERF)
    if (hertz := frequency(text)) is None:
        raise OvsError(f"{PERF} tells no frequency: the poll thread slept\n{text}")
    return hertz


@dataclass
class Run:
    """One mode, size and number of rules."""

    size: int
    rules: int
    mode: str
    live: int
    offloaded: int
    hits: dict[str, int]
    windows: list[Reading]
    samples: list[list[profile.Stack]]  # of each window

    def add(self, other: Run) -> None:
        """The same once more."""
        self.live, self.offloaded = min(self.live, other.live), min(self.offloaded, other.offloaded)
        self.hits = {name: count + other.hits[name] for name, count in self.hits.items()}
        self.windows += other.windows
        self.samples += other.samples

    def row(self, learnt: profile.Map, hertz: float) -> dict[str, Any]:
        """The figures: cycles (of `hertz`) a packet that left the device, medians over the windows."""
        parts: dict[str, list[float]] = {name: [] for name in (*profile.STAGES, profile.LOOP, "switch", "total", "to_mbuf", "ovs")}
        for window, stacks in zip(self.windows, self.samples, strict=True):
            counted = [learnt.of(stack) for stack in stacks]
            packet = window.spent * 1e-9 * hertz / max(1, window.forwarded)
            share = {name: counted.count(name) / max(1, len(stacks)) for name in (*profile.STAGES, profile.LOOP)}
            more = {
                "switch": sum(share[name] for name in profile.SWITCH),
                "total": sum(share.values()),
                "to_mbuf": profile.conversion(stacks),
            }
            for name, part in (share | more).items():
                parts[name].append(part * packet)
            parts["ovs"].append(window.cycles / max(1, window.forwarded))
        return {
            "size": self.size, "rules": self.rules, "mode": self.mode, "live_megaflows": self.live, "offloaded": self.offloaded,
            "hits": self.hits, "packets": sum(one.forwarded for one in self.windows), "samples": sum(map(len, self.samples)),
            "cycles": {name: round(median(some), 2) for name, some in parts.items()},
        }  # fmt: skip


def once(device: devices.Device, capture: Path, size: int, rules: int, mode: str, seconds: float) -> Run:
    """Set up a switch, wait for its flows, and measure."""
    with polled_switch(device, [f"replay:{capture}", "none"], rules, mode) as switch:
        wait_for_flows(switch, rules, mode)
        switch.configure(MEASURE)
        thread, recorded = poll_thread(switch), switch.folder / "perf.data"
        time.sleep(seconds)
        if mode == "full":  # what waits in the rings is of before
            wait_for_rest(switch, thread)
        switch.appctl("dpif-netdev/pmd-stats-clear")
        before = read(switch, thread)
        profile.record(thread, seconds, recorded)
        window = read(switch, thread).since(before)
        told = switch.appctl("dpif-netdev/pmd-stats-show")
        hits = {name: _number(rf"(?m)^\s+{text}: (\d+)", told) for name, text in HITS.items()}
        if not window.forwarded:
            raise OvsError(f"{mode}, {rules} rules: no packet left the device:\n{switch.complaints()}")
        flows_now = (live(switch), offloaded(switch, mode))
        return Run(size, rules, mode, *flows_now, hits, [window], [profile.stacks(recorded)])


def latencies(
    log: Callable[[str], None], device: devices.Device, sizes: Sequence[int], packets: int
) -> tuple[list[dict[str, Any]], float]:
    """Every size alone, with one rule; and the frequency of the time stamp counter, in Hz."""
    log("a packet alone, in the RTL and in the poll thread")
    frames = [frame_of(size, 0) for size in sizes]
    cycles: list[dict[str, int | None]] = [{} for _ in sizes]
    for mode in latency.MODES:
        with latency.ends() as there, polled_switch(device, there.lanes, 1, mode, sleep=0) as switch:
            for frame, found in zip(frames, cycles, strict=True):
                found[mode] = latency.software(switch, there, frame, packets)
            hertz = busy_frequency(switch)
    of_device = latency.hardware(frames)
    return [latency.row(size, one, found, hertz) for size, one, found in zip(sizes, of_device, cycles, strict=True)], hertz


def measure(
    log: Callable[[str], None],
    peers: bool,
    sizes: Sequence[int] = SIZES,
    rules: Sequence[int] = RULES,
    seconds: float = SECONDS,
    rounds: int = ROUNDS,
    packets: int = latency.PACKETS,
) -> dict[str, Any]:
    """Every size with one rule, and every number of rules with the smallest size; the modes in turn, and all again. Then packets
    alone."""
    del peers
    profile.require()
    device = devices.functional()
    pairs = dict.fromkeys([(sizes[0], 1), *((size, 1) for size in sizes), *((sizes[0], count) for count in rules)])
    runs: dict[tuple[int, int, str], Run] = {}
    with TemporaryDirectory(prefix="sluice-bench-") as folder:
        for size, count in pairs:
            write_capture(Path(folder) / f"{size}-{count}.pcap", size, count)
        for turn in range(rounds):
            for (size, count), mode in itertools.product(pairs, MODES):
                log(f"round {turn + 1} of {rounds}: {size} bytes, {count} rules, {mode}")
                run = once(device, Path(folder) / f"{size}-{count}.pcap", size, count, mode, seconds)
                if turn:
                    runs[size, count, mode].add(run)
                else:
                    runs[size, count, mode] = run
    plain, marked = ([stack for some in runs[sizes[0], 1, mode].samples for stack in some] for mode in MODES[:2])
    learnt = profile.learn(plain, marked)
    alone, hertz = latencies(log, device, sizes, packets)
    rows = [run.row(learnt, hertz) for run in runs.values()]
    return {"rounds": rounds, "seconds": seconds, "hertz": round(hertz), "rows": rows, "latency": alone}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    table = Table(title="cycles of the poll thread a packet that leaves the device")
    names = (*profile.STAGES, "loop", "switch", "total", "to_mbuf", "ovs")
    titles = (*profile.STAGES, "loop", "parse to execute", "total", "buffer to mbuf", "as OVS counts")
    for column in ("bytes", "rules", "offload", "megaflows", "in device", *titles):
        table.add_column(column, justify="left" if column == "offload" else "right")
    for row in result["rows"]:
        cells = [str(row["size"]), f"{row['rules']:,}", row["mode"], f"{row['live_megaflows']:,}", f"{row['offloaded']:,}"]
        cells += [f"{row['cycles'][name]:.0f}" for name in names]
        table.add_row(*cells)
    console.print(table)
    table = Table(title="a packet alone")
    columns = [*(f"{name}, cycles" for name in latency.SIDES), *(f"poll thread, {mode}, cycles" for mode in latency.MODES)]
    for column in ("bytes", *columns, *(f"{name}, us" for name in ("full", *latency.MODES))):
        table.add_column(column, justify="right")
    for row in result["latency"]:
        cells = [*row["device_cycles"].values(), *row["thread_cycles_up_to"].values(), *row["us"].values()]
        table.add_row(str(row["size"]), *("-" if cell is None else str(cell) for cell in cells))
    console.print(table)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs: by rules, by size, and packets alone."""
    stages = (*profile.STAGES, "loop", "switch", "total", "to_mbuf")
    smallest = min(row["size"] for row in result["rows"])
    by_rules = [
        (
            row["rules"],
            row["mode"],
            f"{row['live_megaflows']:,}, {row['offloaded']:,}",
            *(f"{row['cycles'][s]:,.0f}" for s in stages),
        )
        for row in result["rows"]
        if row["size"] == smallest
    ]
    parts = ("receive", "to_mbuf", "send", "total")
    by_size = [
        (row["size"], row["mode"], *(f"{row['cycles'][s]:,.0f}" for s in parts)) for row in result["rows"] if row["rules"] == 1
    ]
    alone = [
        (row["size"], *row["device_cycles"].values(), *row["thread_cycles_up_to"].values(), *row["us"].values())
        for row in result["latency"]
    ]
    titles = (*profile.STAGES, "loop", "parse to execute", "total", "buffer to mbuf")
    threads = (f"poll thread, {mode}, cycles up to" for mode in latency.MODES)
    times = (f"{name}, us" for name in ("full", *latency.MODES))
    return {
        "ovs-rules": written(("rules", "offload", "megaflows, in device", *titles), by_rules),
        "ovs-sizes": written(("bytes", "offload", "receive", "of it buffer to mbuf", "send", "total"), by_size),
        "ovs-latency": written(("bytes", *(f"{side}, cycles" for side in latency.SIDES), *threads, *times), alone),
    }
