# SPDX-License-Identifier: Apache-2.0
"""A hostile day of the whole device: `python -m testing.hostile --packets 100000 --seed 1` prints what became of each packet.

Four MACs of 100 Gbps that cannot wait bring packets of random sizes, each lane on 322 MHz, to a core of 200 MHz that takes a
quarter of them at most. Meanwhile rules change, the graph is reset, lanes' clocks stop and go on, and now and then the whole
device is reset with a lane's clock off. The build checks assertions and starts from random contents. The judge knows packets, and
nothing of the device: each says which lane it came by, its number and size, and has a hash of all that a router leaves alone.

A reset of the device clears its counters and loses what is inside. So that packets sent before it are accounted for too, the
process forks there: in the child the device is not reset, everything comes to rest, and each packet is delivered or in a counter.
What is delivered there and not by the device that was reset is `in_reset`; it must not be more than the device has room for.

Exit status 1: a packet is corrupt (wrong bytes, twice, out of order, out of a lane that no rule names), unaccounted (neither
delivered nor in a counter nor lost in a reset), stale (of before a reset), or the core delivered less than 0.95 flits a cycle at
full load. An assertion aborts.
"""

from __future__ import annotations

import argparse
import ctypes as c
import hashlib
import json
import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import sluice_layouts as L

from host.python.device import Device
from shell.sim.build import SMALL
from testing.device import NEXT_HOP, SELF, enable, forward, host_packets, lane_packets, route

SIZES = {**SMALL, "lane_clocks": 1, "hostile": 1}
LANES, STEP, WARM_UP = 4, 32, 1500
LEAST_RATE = 0.95
MACS = bytes.fromhex("0200000000010200000000aa")  # to the router
NEW_MACS = NEXT_HOP.to_bytes(6, "big") + SELF.to_bytes(6, "big")
IDENTITY, SMALLEST = 42, 64  # where the identity stands: behind Ethernet, IPv4 and UDP
INWARD = ("rx_error", "rx_oversize", "rx_overflow", "rx_runt")  # counters of packets that a lane did not receive
# Flits that the device has room for: of each lane its stores, its crossings between clocks and the packet on the line; the store to
# the host, el_deparse's, and pipelines.
ROOM_FLITS = LANES * (2 * 512 + 2 * 16 + -(-L.MTU_BYTES // L.DATA_BYTES)) + 512 + 256 + 128
EDGES = [64, 65, 69, 127, 128, 129, 133, 197, 1514, L.MTU_BYTES]


def checksum(header: bytes | bytearray) -> int:
    """Of an IPv4 header whose checksum is left out."""
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2) if i != 10)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def digest(data: bytes) -> bytes:
    """Over everything that a router leaves alone, and not the hash itself."""
    kept = data[12:22] + data[23:24] + data[26 : IDENTITY + 7] + data[IDENTITY + 15 :]
    return hashlib.blake2b(kept, digest_size=8).digest()


def make(draw: random.Random, lane: int, number: int, size: int) -> bytes:
    """A packet that says what it is: lane, number and size, then the hash; IPv4 to 10.K, or of an EtherType that no table knows."""
    kind = 0x0800 if draw.random() < 0.9 else 0x88B5
    ip = bytearray(b"\x45\0" + (size - 14).to_bytes(2, "big") + draw.randbytes(2) + b"\0\0\x40\x11\0\0")
    ip += bytes([10, 9, lane, 1, 10, draw.randrange(LANES + 1), *draw.randbytes(2)])
    ip[10:12] = checksum(ip).to_bytes(2, "big")
    udp = draw.randbytes(4) + (size - 34).to_bytes(2, "big") + b"\0\0"
    identity = bytes([lane]) + number.to_bytes(4, "big") + size.to_bytes(2, "big")
    data = MACS + kind.to_bytes(2, "big") + ip + udp + identity + bytes(8) + draw.randbytes(size - IDENTITY - 15)
    return data[: IDENTITY + 7] + digest(data) + data[IDENTITY + 15 :]


def added(counters: Sequence[L.Layout], *names: str) -> Counter[str]:
    """Counters of these names, each over all that is given."""
    return Counter({name: sum(int(getattr(one, name)) for one in counters) for name in names})


@dataclass
class Balance:
    """Whether packets that are delivered and counters make up what was sent: since a reset, from a device at rest."""

    dropped: Counter[str]
    unaccounted: int


def balance(sent: Sequence[int], delivered: int, lanes: Sequence[L.Layout], host: L.Layout, graph: L.Layout) -> Balance:
    """`sent` by lane. A packet too few in one place does not make up for one too many in another."""
    received = added(lanes, "rx_packets").total()
    outward = added(lanes, "tx_overflow", "tx_error") + added([host], "to_host_overflow", "to_host_error", "ring_overflow")
    outward += added([graph], "drop_rule", "drop_ttl", "drop_no_port")
    unaccounted = abs(received - delivered - outward.total())
    for count, lane in zip(sent, lanes, strict=True):
        unaccounted += abs(count - added([lane], "rx_packets", *INWARD).total())
    return Balance(outward + added(lanes, *INWARD), unaccounted)


class Judge:
    """Which packets were delivered, and whether each may be."""

    def __init__(self) -> None:
        self.corrupt = self.stale = self.packets = self.flits = 0
        self.first = [0] * LANES  # of each lane, the first number that may come
        self.newest: dict[tuple[int, int], int] = {}  # by lane and place
        self.seen: set[tuple[int, int]] = set()

    def take(self, data: bytes, place: int) -> None:
        """A packet that left by a lane, or to the host."""
        self.packets += 1
        self.flits += -(-len(data) // L.DATA_BYTES)
        if len(data) < SMALLEST or not self._is_whole(data) or not self._belongs(data, place):
            self.corrupt += 1
            return
        lane, number = data[IDENTITY], int.from_bytes(data[IDENTITY + 1 : IDENTITY + 5], "big")
        if number < self.first[lane]:
            self.stale += 1
        elif (lane, number) in self.seen or number < self.newest.get((lane, place), -1):
            self.corrupt += 1
        self.seen.add((lane, number))
        self.newest[lane, place] = number

    def _is_whole(self, data: bytes) -> bool:
        size = int.from_bytes(data[IDENTITY + 5 : IDENTITY + 7], "big")
        header = data[14:34]
        return (
            size == len(data)
            and digest(data) == data[IDENTITY + 7 : IDENTITY + 15]
            and checksum(header) == int.from_bytes(header[10:12], "big")
        )

    def _belongs(self, data: bytes, place: int) -> bool:
        """To the host as it came; out of a lane as a router sends it, to where a rule of 10.K leads."""
        if place == L.HOST_PORT:
            return data[:12] == MACS and data[22] == 64
        network = data[31]
        routed = data[:12] == NEW_MACS and data[22] == 63 and data[12:14] == b"\x08\x00"
        return routed and network < LANES and place in (network, (network + 1) % LANES)


class Day:
    """The device, what it is given, and the tally."""

    def __init__(self, device: Device, seed: int, packets: int, core_period_ps: int = 5000) -> None:
        self.device, self.draw, self.left, self.judge = device, random.Random(seed), packets, Judge()
        self.model = c.CDLL(str(device.simulated))
        self.model.sim_model_last.restype = c.c_void_p
        self.handle = c.c_void_p(self.model.sim_model_last())
        assert self.handle and self.model.sim_model_macs(self.handle, core_period_ps) == 0
        self.number = [0] * LANES
        self.next: list[tuple[bytes, bool] | None] = [None] * LANES
        self.events: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.unaccounted = self.in_reset = self.load_flits = self.load_cycles = 0
        self.before = [0] * LANES  # of each lane, packets sent before the last reset of the device
        self.delivered_before = 0

    def packet(self, lane: int) -> tuple[bytes, bool]:
        """The next of a lane, and whether its FCS is bad; a few are longer or shorter than a lane may send."""
        draw = self.draw
        if draw.random() < 0.01:
            return draw.randbytes(draw.choice([13, L.MTU_BYTES + 1])), False
        size = draw.choice(EDGES) if draw.random() < 0.2 else draw.randint(SMALLEST, draw.choice([128, 600, 1514]))
        return make(draw, lane, self.number[lane], size), draw.random() < 0.02

    def feed(self) -> None:
        """Put packets before all lanes, as many as fit there."""
        for lane in range(LANES):
            while self.left > 0:
                data, bad = self.next[lane] = self.next[lane] or self.packet(lane)
                if not self.device.lane_send(lane, data, bad):
                    break
                self.next[lane] = None
                self.number[lane] += 1
                self.left -= 1

    def collect(self) -> None:
        for packet in host_packets(self.device):
            self.judge.take(packet.data, L.HOST_PORT)
        for lane in range(LANES):
            for data in lane_packets(self.device, lane):
                self.judge.take(data, lane)

    def run(self, cycles: int) -> None:
        for _ in range(cycles // STEP):
            self.feed()
            self.device.advance(STEP)
            self.collect()

    def rules(self) -> None:
        """Each of four networks to its lane or the next one, in tables that were just emptied; the fifth has no rule."""
        enable(self.device, 1 << L.TABLE_LPM)
        for network in range(LANES):
            route(self.device, f"10.{network}.0.0/16", forward(network if self.draw.random() < 0.8 else (network + 1) % LANES))
        self.events["rule changes"] += 1

    def load(self) -> None:
        """Full load, rules changing; what is delivered counts for the rate."""
        self.run(WARM_UP)
        flits, cycles = self.judge.flits, self.device.cycles
        for _ in range(self.draw.randint(1, 3)):
            self.run(self.draw.randint(300, 1500))
            if not self.left:
                return
            self.rules()
        self.collect()
        self.load_flits += self.judge.flits - flits
        self.load_cycles += self.device.cycles - cycles

    def stop_clocks(self) -> None:
        """Some lanes' clocks off for a while."""
        stopped = self.draw.sample(range(LANES), self.draw.randint(1, 3))
        for lane in stopped:
            self.model.sim_model_lane_clock(self.handle, lane, 0)
        self.run(self.draw.randint(100, 1000))
        for lane in stopped:
            self.model.sim_model_lane_clock(self.handle, lane, 1)
        self.events["clocks stopped"] += len(stopped)

    def reset_graph(self) -> None:
        control = self.device.read(L.SHELL_REGISTERS_CONTROL)
        self.device.write(L.SHELL_REGISTERS_CONTROL, control | 1)
        for _ in range(1000):
            self.run(STEP)
            if not self.device.read(L.SHELL_REGISTERS_CONTROL) & 1:
                break
        else:
            raise TimeoutError("the graph is not reset")
        self.rules()
        self.events["graph resets"] += 1

    def reset_device(self) -> None:
        """Reset it under load while lanes' clocks are off; nothing that began before may come after."""
        self.run(self.draw.randint(100, 600))
        stopped = self.draw.sample(range(LANES), self.draw.randint(0, LANES))
        for lane in stopped:
            self.model.sim_model_lane_clock(self.handle, lane, 0)
        self.run(self.draw.randint(0, 3) * STEP)
        self.collect()
        self.close_books_without_reset(stopped)
        waiting = [self.model.sim_model_lane_waiting(self.handle, lane) for lane in range(LANES)]
        self.judge.first = self.before = [number - count for number, count in zip(self.number, waiting, strict=True)]
        assert self.model.sim_model_reset(self.handle) == 0
        self.delivered_before = self.judge.packets
        self.run(self.draw.randint(0, 10) * STEP)
        for lane in stopped:
            self.model.sim_model_lane_clock(self.handle, lane, 1)
        self.rules()
        self.events["device resets"] += 1
        self.events["clocks stopped"] += len(stopped)

    def close_books_without_reset(self, stopped: Sequence[int]) -> None:
        """What becomes of the packets that have begun to enter the device, if it is not reset now: in a fork, which ends there."""

        def fork(end: Connection) -> None:
            for lane in range(LANES):
                self.number[lane] -= self.model.sim_model_lane_forget(self.handle, lane)
            for lane in stopped:
                self.model.sim_model_lane_clock(self.handle, lane, 1)
            self.close_books()
            end.send((self.judge, self.dropped, self.unaccounted))

        context = multiprocessing.get_context("fork")
        mine, other = context.Pipe(duplex=False)
        process = context.Process(target=fork, args=(other,))
        process.start()
        other.close()
        try:
            judge, self.dropped, self.unaccounted = mine.recv()
        except EOFError:
            raise ChildProcessError("the device that was not reset failed; what it said stands above") from None
        process.join()
        lost, flits = judge.packets - self.judge.packets, judge.flits - self.judge.flits
        self.judge.corrupt, self.judge.stale = judge.corrupt, judge.stale
        self.in_reset += lost
        if flits > ROOM_FLITS:
            self.unaccounted += lost

    def close_books(self) -> None:
        """Let everything come to rest: each packet since the last reset was delivered, or a counter has it."""
        kept, self.left = self.left, 0
        for _ in range(10_000):
            self.device.advance(STEP)
            self.collect()
            if self.device.library.sluice_device_idle(self.device.handle):
                break
        else:
            raise TimeoutError("packets do not come to rest")
        self.left = kept
        sent = [number - before for number, before in zip(self.number, self.before, strict=True)]
        lanes = [self.device.counters("lane", lane) for lane in range(LANES)]
        host, graph = self.device.counters("host"), self.device.counters("graph")
        found = balance(sent, self.judge.packets - self.delivered_before, lanes, host, graph)
        self.unaccounted += found.unaccounted
        self.dropped += found.dropped

    def live(self) -> dict[str, object]:
        """Until no packet is left; the tally."""
        self.rules()
        events = [self.load, self.load, self.stop_clocks, self.reset_graph, self.reset_device]
        while self.left > 0:
            self.draw.shuffle(events)
            for event in events:
                event()
        self.close_books()
        rate = self.load_flits / self.load_cycles if self.load_cycles else 0.0
        return {
            "sent": sum(self.number), "delivered": self.judge.packets, "dropped": dict(self.dropped), "in_reset": self.in_reset,
            "flits_a_cycle": round(rate, 4), "cycles_at_load": self.load_cycles, **self.events,
            "corrupt": self.judge.corrupt, "unaccounted": self.unaccounted, "stale": self.judge.stale,
        }  # fmt: skip


def is_good(tally: Mapping[str, Any]) -> bool:
    """Whether a day's tally is as it should be; every packet is in it once."""
    places = tally["delivered"] + sum(tally["dropped"].values()) + tally["in_reset"]
    faults = tally["corrupt"], tally["unaccounted"], tally["stale"], tally["sent"] - places
    return not any(faults) and tally["flits_a_cycle"] >= LEAST_RATE


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["SLUICE_SIM_SEED"] = str(options.seed)
    with Device(SIZES) as device:
        result = Day(device, options.seed, options.packets).live()
    print(json.dumps({"seed": options.seed, **result}))
    return 0 if is_good(result) else 1


if __name__ == "__main__":
    sys.exit(main())
