# SPDX-License-Identifier: Apache-2.0
"""The device's side of `bench hostio`: cycles of the RTL from a lane into the host's ring, from the ring out of a lane, and of
messages of the host through a slot channel and back.

The host takes no time here: it looks at its ring in every cycle, and always has the next packet ready. There is no bus between
them. Every packet is compared with what was sent.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

import sluice_layouts as layouts

from bench import CLOCK_MHZ, traffic
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from host.program.device_run import Design, design, stdout_to
from host.python.device import Device, Received
from shell.sim.build import FLOW

SLOTS = Path(__file__).with_name("slots.sl")
LANE, LANE_CHANNEL = 0, 4  # of the device, and of the configuration's channels to the host
MESSAGES = (64, 128, 256, 512, 1024, 2048, 8192)  # bytes
SLOT_COUNTS = (1, 4)
PACKETS, WARM_UP, ALONE = 320, 64, 3  # of a burst; of them before the steady state; and one by one
STUCK = 20_000  # cycles in which nothing comes

Send = Callable[[int], bool]  # put packet number n on its way; False: there is no room
Take = Callable[[], bytes | None]


@dataclass(frozen=True)
class Burst:
    """Cycles at which the packets of a burst were on their way, and were there whole."""

    sent: list[int]
    there: list[int]

    @property
    def each(self) -> float:
        """Cycles a packet in the steady state."""
        skipped = min(WARM_UP, len(self.there) // 3)
        return (self.there[-1] - self.there[skipped - 1]) / (len(self.there) - skipped)


def burst(device: Device, send: Send, take: Take, data: bytes, count: int) -> Burst:
    """Packets as fast as they go, looked for in every cycle. Raises RuntimeError where one is lost or changed."""
    found = Burst([], [])
    quiet = 0
    while len(found.there) < count and quiet < STUCK:
        while len(found.sent) < count and send(len(found.sent)):
            found.sent.append(device.cycles)
        device.advance(1)
        quiet += 1
        while (got := take()) is not None:
            if got != data:
                raise RuntimeError(f"packet {len(found.there)} of {len(data)} bytes was changed")
            found.there.append(device.cycles)
            quiet = 0
    if len(found.there) < count:
        raise RuntimeError(f"{len(found.there)} of {count} packets of {len(data)} bytes arrived")
    return found


def row(device: Device, send: Send, take: Take, data: bytes, count: int) -> dict[str, Any]:
    """Latency of packets alone, and cycles a packet in a burst."""
    alone = [burst(device, send, take, data, 1) for _ in range(ALONE)]
    each = burst(device, send, take, data, count).each
    return {
        "latency_cycles": median_low(one.there[0] - one.sent[0] for one in alone),
        "cycles": round(each, 3),
        "gbps": round(len(data) * 8 * CLOCK_MHZ / each / 1000, 2),
    }


def _take_host(device: Device) -> Take:
    def take() -> bytes | None:
        packet = device.receive()
        return packet.data if packet else None

    return take


def _take_lane(device: Device) -> Take:
    def take() -> bytes | None:
        packet = device.lane_receive(LANE)
        return packet[0] if packet else None

    return take


def _send_host(device: Device, data: bytes) -> Send:
    def send(number: int) -> bool:
        del number
        return device.call("sluice_packet_send", data, len(data), 1 << LANE, 0, allow=[errno.EAGAIN]) == 0

    return send


def lanes(device: Device, data: bytes, count: int) -> dict[str, dict[str, Any]]:
    """A packet from a lane to the host, and from the host to the lane."""
    received = row(device, lambda number: device.lane_send(LANE, data), _take_host(device), data, count)
    return {"receive": received, "send": row(device, _send_host(device, data), _take_lane(device), data, count)}


def slots(device: Device, size: int, used: int, count: int) -> dict[str, Any]:
    """Messages of the host through slots in turn, and back."""
    data = bytes(n * 7 % 251 for n in range(size))

    def send(number: int) -> bool:
        return device.channel_send(number % used, Received(data, 0, 0, 0, 0, 0))

    return row(device, send, _take_host(device), data, count)


def configuration() -> Design:
    """The one without a parser."""
    diagnostics = Diagnostics()
    program = load(SLOTS, diagnostics)
    if program is None:
        raise RuntimeError("".join(error.render() for error in diagnostics.sorted()))
    return design("slots", program)


@contextmanager
def _opened(sizes: dict[str, int], graph: dict[str, str] | None) -> Iterator[Device]:
    """A device that drops nothing. A configuration prints which packets enter; what is on the standard output is the figures."""
    with stdout_to(Path(os.devnull)), Device(sizes, graph=graph) as device:
        device.call("sluice_device_set_lossless", 1)
        yield device


def buffer_bytes(size: int) -> int:
    """Bytes of the host's memory that a packet takes in a ring: metadata and key of each of its buffers, and itself."""
    buffers = -(-size // layouts.BUFFER_DATA_SIZE)
    return buffers * (layouts.BUFFER_META_SIZE + layouts.BUFFER_KEY_SIZE) + size


def measure(
    log: Callable[[str], None],
    sizes: tuple[int, ...],
    messages: tuple[int, ...] = MESSAGES,
    slot_counts: tuple[int, ...] = SLOT_COUNTS,
    count: int = PACKETS,
) -> dict[str, Any]:
    """Both devices: with the parser and the flow table, and without."""
    made = configuration()
    packets = {size: traffic.packet(next(traffic.flows(4, 1)), size + traffic.FCS) for size in sizes}
    rows, channels = [], []
    for name, shape, graph in (("flow table", FLOW, None), ("none", made.sizes, made.texts)):
        log(f"the RTL, graph: {name}")
        with _opened(shape, graph) as device:
            for size, data in packets.items():
                found = lanes(device, data, count)
                rows += [{"graph": name, "way": way, "size": size, **one} for way, one in found.items()]
            for size, used in ((size, used) for size in messages for used in slot_counts if graph):
                found_one = slots(device, size, used, count)
                channels.append({"size": size, "slots": used, "buffer_bytes": buffer_bytes(size), **found_one})
    return {"clock_mhz": CLOCK_MHZ, "lanes": rows, "slots": channels}
