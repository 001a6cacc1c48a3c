# SPDX-License-Identifier: Apache-2.0
"""Message packets between an agent and a device under full traffic (MPSoC paper, 3.1 and Fig. 7): the round trip of a message, and
a transaction that replaces 1000 entries of an exact table, with forged messages among the agent's.

Cycle-accurate: the overlay with a controller core under Verilator. Three lanes send packets of one flit without a pause; each
packet that leaves is compared with what the old and the new program make of it. The agent's own time is that of this processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import sluice_layouts as L
from rich.console import Console
from rich.table import Table

from bench import CLOCK_MHZ
from bench.pipeline import HEADERS
from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.parser_program import read
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from host.python.device import Device
from host.python.messages import Session, payload
from host.python.pipeline import Overlay
from host.python.windows import window_of
from models.pipeline import model_of
from testing.device import udp
from testing.messages import LaneLink
from toolchain.markdown import table as written

ENTRIES, ECHOES, LANES = 1000, 50, 3
SIZES = {"lanes": 4, "pipeline_units": 1, "pipeline_exact": 4096, "controller": 1}
KEY = bytes(range(16))

Log = Callable[[str], None]


def address(number: int) -> str:
    """Of a host."""
    return f"10.0.{number >> 8}.{number & 0xFF}"


def program(entries: int, generation: int) -> PipelineProgram:
    """Sends to so many hosts, by other lanes and MAC addresses in each generation."""
    headers = read(HEADERS)
    places = headers.containers
    selector = L.UnitSelector([0] * 6 + [*reversed(places["ip4_dst"])], ((1 << 32) - 1) << 96, 1)

    def entry(number: int) -> UnitEntry:
        mac = 0x020000000000 | generation << 32 | number
        rewritten = [*set_words(places["eth_dst"], mac), Operation(places["ip4_ttl"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00)]
        host = (0x0A000000 | number) << 96
        return UnitEntry(host, selector.mask, action(rewritten, verdict=L.VERDICT_FORWARD, ports=[(number + generation) % LANES]))

    return PipelineProgram(headers, (UnitProgram(selector, tuple(map(entry, range(entries))), action(verdict=L.VERDICT_DROP)),))


def packets(entries: int, lane: int) -> list[bytes]:
    """A packet of a lane to each host."""
    return [udp(f"10.9.9.{lane + 1}", address(number)) for number in range(entries)]


class Traffic:
    """Packets of one flit into all lanes but the agent's, without a pause. Each that leaves is one of the first program or of the
    second, and of a lane those of the second entered after those of the first."""

    def __init__(self, device: Device, programs: Sequence[PipelineProgram], entries: int) -> None:
        self.device, self.on = device, False
        self.packets = [packets(entries, lane) for lane in range(LANES)]
        self.expected: dict[bytes, tuple[int, int, int]] = {}  # what leaves: egress lane, ingress lane, program
        for generation, loaded in enumerate(programs):
            model = model_of(loaded)
            for lane, sent in enumerate(self.packets):
                for data in sent:
                    ((left, meta),) = model.run(data, lane)
                    self.expected[left] = meta.egress_mask.bit_length() - 1, lane, generation
        self.sent = [0] * LANES
        self.received = self.wrong = 0
        self.last_old, self.first_new = [-1] * LANES, [2**63] * LANES  # the cycles in which they entered

    def step(self) -> None:
        """Fills the lanes and looks at what has left."""
        for lane, sent in enumerate(self.packets):
            while self.on and self.device.lane_send(lane, sent[self.sent[lane] % len(sent)]):
                self.sent[lane] += 1
        for egress in range(LANES):
            while (left := self.device.lane_receive(egress)) is not None:
                self._compare(egress, left[0], left[1].ingress_cycle)

    def _compare(self, egress: int, data: bytes, entered: int) -> None:
        self.received += 1
        lane, source, generation = self.expected.get(data, (-1, 0, 0))
        if lane != egress:
            self.wrong += 1
        elif generation:
            self.first_new[source] = min(self.first_new[source], entered)
        else:
            self.last_old[source] = max(self.last_old[source], entered)

    def mixed(self) -> int:
        """Packets of neither program, and lanes on which an old one followed a new one."""
        return self.wrong + sum(old > new for old, new in zip(self.last_old, self.first_new, strict=True))


class Link(LaneLink):
    """The agent's lane, on which somebody else sends as well: after each message one with its next number and a wrong tag."""

    def __init__(self, device: Device, traffic: Traffic) -> None:
        super().__init__(device, meanwhile=traffic.step)
        self.messages = self.forged = 0
        self.seconds = 0.0  # that the device was given

    def send(self, data: bytes) -> None:
        begun = time.perf_counter()
        super().send(data)
        head = L.Message.unpack(data[: L.Message.BITS // 8])
        head.sequence_number, head.kind = head.sequence_number + 1, L.MESSAGE_CONTROL
        super().send(payload(head, L.MessageAccess(1, 0, 0, L.SHELL_REGISTERS_HOST_SHARE, 1).pack(), bytes(16)))
        self.messages, self.forged = self.messages + 1, self.forged + 1
        self.seconds += time.perf_counter() - begun

    def receive(self, attempt: int = 0) -> bytes | None:
        begun = time.perf_counter()
        found = super().receive(attempt)
        self.seconds += time.perf_counter() - begun
        return found


def _now(device: Device) -> int:
    """The cycle."""
    return device.read(L.SHELL_REGISTERS_TIME_LOW) | device.read(L.SHELL_REGISTERS_TIME_HIGH) << 32


def measure(log: Log, peers: bool = False, *, entries: int = ENTRIES, echoes: int = ECHOES, **sizes: int) -> dict[str, Any]:
    """All figures of the benchmark; `log` is told what goes on. There are no peers. `sizes`: of another device."""
    del peers
    programs = [program(entries, generation) for generation in range(2)]
    with Device(sizes or SIZES) as device:
        device.call("sluice_device_set_lossless", 1)
        window = window_of(device.read, L.ELEMENT_CONTROLLER)
        assert window is not None
        for at in range(4):
            device.write(window + L.CONTROLLER_REGISTERS_KEY + 4 * at, int.from_bytes(KEY[4 * at : 4 * at + 4], "little"))
        log(f"two programs of {entries} entries, and what they make of {LANES * entries} packets")
        traffic = Traffic(device, programs, entries)
        link = Link(device, traffic)
        session = Session(link, KEY)
        overlay = Overlay(session)
        log("the first program")
        overlay.load(programs[0])
        traffic.on = True
        log(f"{echoes} round trips under full traffic")
        trips, agent = [], []
        for _ in range(echoes):
            begun, cycle, given = time.perf_counter(), _now(device), link.seconds
            session.access([])
            agent.append(time.perf_counter() - begun - (link.seconds - given))
            trips.append(link.left - cycle)
        log(f"a transaction of {entries} entries under full traffic")
        begun, cycle, given, left, count = time.perf_counter(), _now(device), link.seconds, traffic.received, link.messages
        writes = overlay.load(programs[1])
        seconds, cycles = time.perf_counter() - begun - (link.seconds - given), link.left - cycle
        rate, messages = (traffic.received - left) / cycles, link.messages - count
        for _ in range(400):
            session.link.receive()
            if max(traffic.first_new) < 2**63:
                break
        traffic.on = False
        device.settle()
        traffic.step()
        accepted, forged = (device.read(window + at) for at in (L.CONTROLLER_REGISTERS_ACCEPTED, L.CONTROLLER_REGISTERS_FORGED))
        share = device.read(L.SHELL_REGISTERS_HOST_SHARE)
    return {
        "round_trip_cycles": statistics.median(trips),
        "agent_us": round(statistics.median(agent) * 1e6, 1),
        "entries_per_s": round(entries / (cycles / (CLOCK_MHZ * 1e6) + seconds)),
        "device_entries_per_s": round(entries / (cycles / (CLOCK_MHZ * 1e6))),
        "transaction_entries": entries,
        "transaction_cycles": cycles,
        "transaction_writes": writes,
        "transaction_messages": messages,
        "agent_seconds": round(seconds, 3),
        "mixed_versions": traffic.mixed(),
        "lost": sum(traffic.sent) - traffic.received,
        "packets": traffic.received,
        "flits_per_cycle": round(rate, 3),
        "forged": forged,
        "forged_accepted": accepted - link.messages + (link.forged - forged) + int(share == 1),
        "rate_clock_mhz": CLOCK_MHZ,
    }


NAMES = {
    "round_trip_cycles": "round trip of a message, cycles",
    "agent_us": "the agent's own time for it, µs",
    "transaction_entries": "entries of a transaction",
    "transaction_cycles": "its cycles, all messages and answers",
    "entries_per_s": "entries a second, with the agent's time",
    "device_entries_per_s": "entries a second, of the device",
    "flits_per_cycle": "traffic meanwhile, flits a cycle",
    "mixed_versions": "packets of neither program, or of the old after the new",
    "lost": "packets lost",
    "forged_accepted": "forged messages accepted",
}


def _rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(text, f"{result[name]:,}") for name, text in NAMES.items()]


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    shown = Table("figure", "value", title=f"message packets ({CLOCK_MHZ:g} MHz assumed)")
    for row in _rows(result):
        shown.add_row(*row)
    console.print(shown)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    return {"control": written(("", ""), _rows(result))}
