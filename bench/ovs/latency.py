# SPDX-License-Identifier: Apache-2.0
"""How long a packet takes that is alone (FAS: Fig. 10): through the RTL, whose rule forwards it, in device cycles; and through the
poll thread of Open vSwitch in cycles of the processor, without offload and with marks, with the device's cycles before and after.

In software each packet is sent when the one before has left, so an iteration of the poll thread has one. OVS counts the cycles of
such iterations: the poll that finds the packet, all up to its hand-over to the device, and a poll of the other lanes. An
interruption by other work counts wholly, so the median is taken, out of OVS's own histogram, in steps of a thousand cycles.
"""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import sluice_layouts as layouts
from scapy.utils import PcapWriter

from bench import CLOCK_MHZ
from bench.forward.device import through
from bench.hostio.device import lanes
from host.python.device import Action, Device
from host.python.flow_table import Flows, error_text
from shell.sim.build import FLOW
from testing.ovs.switch import OpenVSwitch, OvsError

MODES = ("none", "partial")
SIDES = ("lane to lane", "lane to host", "host to lane")
PACKETS, WARM_UP, ALONE, PATIENCE = 1000, 50, 5, 5.0
STEPS = "cycles/pkt"
RUNT = 10  # bytes
OUT = 1  # the lane, as bench.forward.device has it


def hardware(frames: Sequence[bytes]) -> list[dict[str, int]]:
    """Device cycles until all of a packet is there: through its rule from lane to lane, and to the host and from it."""
    found = []
    with Device(FLOW) as device:
        device.call("sluice_device_set_lossless", 1)
        ways = [lanes(device, frame, 3) for frame in frames]
        flows = Flows(device)
        mask = layouts.FlowKey(ingress_port=0xFF, eth_type=0xFFFF, ip_dst=0xFF000000).to_int()
        key = layouts.FlowKey(eth_type=0x800, ip_dst=10 << 24).to_int()
        if flows.add(key, mask, 0, [Action(layouts.ACTION_OUTPUT, OUT)]) < 0:
            raise OvsError(error_text())
        for frame, way in zip(frames, ways, strict=True):
            alone = []
            for _ in range(ALONE):
                ((data, info),) = through(device, [frame])
                if data != frame:
                    raise OvsError(f"the device changed a packet of {len(frame)} bytes")
                alone.append(info.last_cycle - info.ingress_cycle)
            cycles = {f"device_{name}": one["latency_cycles"] for name, one in way.items()}
            found.append({"hardware": round(median(alone)), **cycles})
        flows.close()
    return found


class Ends:
    """The other ends of the two lanes: sockets. A third lane gives packets that are too short, which the device drops: so it never
    sleeps, and nobody has to wake it, which takes the caller of a real device no system call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source, self.sink = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
        self.sink.bind(str(folder / "sink"))
        self.sink.settimeout(PATIENCE)
        with PcapWriter(str(folder / "runts"), linktype=1) as writer:
            writer.write_header(None)
            writer.write_packet(bytes(RUNT))

    @property
    def lanes(self) -> list[str]:
        """What the lanes are connected to, for the driver."""
        return [f"unix:{self.folder}/in", f"unix:{self.folder}/out:{self.folder}/sink", f"replay:{self.folder}/runts"]

    def pass_through(self, frame: bytes, count: int) -> None:
        """Packets, one at a time. Raises OvsError where one does not come."""
        for _ in range(count):
            self.source.sendto(frame, str(self.folder / "in"))
            try:
                self.sink.recv(65536)
            except TimeoutError:
                raise OvsError("a packet sent on lane 0 did not arrive on lane 1") from None

    def close(self) -> None:
        """Close both."""
        self.source.close()
        self.sink.close()


@contextmanager
def ends() -> Iterator[Ends]:
    """The ends, in a folder of a short name."""
    with TemporaryDirectory(prefix="sluice-lanes-") as folder:
        both = Ends(Path(folder))
        try:
            yield both
        finally:
            both.close()


def median_of(told: str) -> int | None:
    """The upper end of the step of cycles a packet that has the median, of what `pmd-perf-show` tells; None: it is above all steps.
    Raises OvsError where there is no histogram with packets."""
    _, found, table = told.partition("Histograms\n")
    heading, *lines = table.splitlines() or [""]
    names = re.split(r"\s{2,}", heading.strip())
    if not found or STEPS not in names:
        raise OvsError(f"pmd-perf-show has no histogram of {STEPS}:\n{told}")
    column, steps = 2 * names.index(STEPS), list[tuple[str, int]]()
    for line in lines:
        cells = line.split()
        if len(cells) != 2 * len(names):
            break
        steps.append((cells[column], int(cells[column + 1])))
    half = (sum(count for _, count in steps) + 1) // 2
    if half == 0:
        raise OvsError(f"the histogram of {STEPS} is empty:\n{told}")
    seen = itertools.accumulate(count for _, count in steps)
    end = next(end for (end, _), sofar in zip(steps, seen, strict=True) if sofar >= half)
    return int(end) if end.isdigit() else None


def software(switch: OpenVSwitch, there: Ends, frame: bytes, count: int = PACKETS) -> int | None:
    """Cycles of the poll thread for a packet that is alone: the upper end of the median's step, see `median_of`."""
    there.pass_through(frame, WARM_UP)
    switch.configure({"pmd-perf-metrics": "true"})
    switch.appctl("dpif-netdev/pmd-stats-clear")
    there.pass_through(frame, count)
    return median_of(switch.appctl("dpif-netdev/pmd-perf-show"))


def row(size: int, device: dict[str, int], spent: dict[str, int | None], hertz: float) -> dict[str, Any]:
    """A size: cycles, and microseconds of the whole way at the device's quoted clock and the processor's. None: not to be told, the
    core of the poll thread was shared."""
    sides = (device["device_receive"] + device["device_send"]) / CLOCK_MHZ
    whole = {name: cycles and round(sides + cycles / hertz * 1e6, 3) for name, cycles in spent.items()}
    times = {"full": round(device["hardware"] / CLOCK_MHZ, 3), **whole}
    return {"size": size, "device_cycles": device, "thread_cycles_up_to": spent, "us": times}
