# SPDX-License-Identifier: Apache-2.0
"""An agent's link over a lane of a simulated device, as good or bad as a test wants it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import sluice_layouts as L
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from host.python.device import Device

AGENT_LANE = 3
MACS = [f"02:53:4c:00:00:{1 + core:02x}" for core in range(4)]
ROUND_TRIP = 4000  # cycles that an answer may take
STEP = 16  # cycles between two looks


class LaneLink:
    """The last lane as a link to a controller core, which loses, repeats and reorders frames of both directions with the
    probability `trouble`. `meanwhile` is called every STEP cycles, for what else happens. `beside`: the link to another core of
    the lane."""

    def __init__(
        self,
        device: Device,
        trouble: float = 0.0,
        seed: int = 1,
        meanwhile: Callable[[], None] = lambda: None,
        core: int = 0,
        beside: LaneLink | None = None,
    ) -> None:
        self.mac = MACS[core]
        self.links: dict[str, LaneLink] = beside.links if beside else {}
        self.links[self.mac] = self
        self.device, self.trouble, self.draw, self.meanwhile = device, trouble, random.Random(seed), meanwhile
        self.waiting: deque[bytes] = deque()
        self.others: list[bytes] = []  # what the lane sends that is not for the agent
        self.sent: list[bytes] = []
        self.left = 0  # the cycle in which the last message to the agent left the device

    def send(self, data: bytes) -> None:
        """Puts a message before the lane."""
        head = (
            Ether(src="02:00:00:00:00:0a", dst=self.mac)
            / IP(src="192.0.2.2", dst="192.0.2.1")
            / UDP(sport=5000, dport=L.MESSAGE_PORT)
        )
        self.sent.append(bytes(head / Raw(data)))
        for one in self._passed([self.sent[-1]]):
            while not self.device.lane_send(AGENT_LANE, one):
                self.step()

    def receive(self, attempt: int = 0) -> bytes | None:
        """The next message, if one leaves within ROUND_TRIP cycles."""
        for _ in range(ROUND_TRIP // STEP):
            if self.waiting:
                return self.waiting.popleft()
            self.step()
        return None

    def step(self) -> None:
        """Lets STEP cycles pass and takes what has left."""
        self.meanwhile()
        self.device.advance(STEP)
        found: dict[str, list[bytes]] = {mac: [] for mac in self.links}
        while (left := self.device.lane_receive(AGENT_LANE)) is not None:
            data, info = left
            mac = Ether(data).src
            if mac in found:
                found[mac].append(data)
                self.links[mac].left = info.last_cycle
            else:
                self.others.append(data)
        for mac, link in self.links.items():
            link.waiting.extend(bytes(Ether(data)[UDP].payload) for data in link._passed(found[mac]))

    def _passed(self, frames: list[bytes]) -> list[bytes]:
        kept = [one for one in frames if self.draw.random() >= self.trouble]
        kept += [one for one in kept if self.draw.random() < self.trouble]
        if self.draw.random() < self.trouble:
            self.draw.shuffle(kept)
        return kept
