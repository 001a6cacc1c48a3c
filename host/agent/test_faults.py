# SPDX-License-Identifier: Apache-2.0
"""An agent on a bad link is killed at random, again and again, and its device is reset: traffic goes on by the old flows or the new
ones, no packet is lost, and in the end the device does what the agent wants. `make fuzz` kills it 50 times and more."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
import sluice_layouts as L

from host.agent.channel import ChannelError
from host.agent.message_channel import MessageChannel
from host.agent.pipeline import Pipeline
from host.agent.session import Session
from host.agent.switch import Switch
from host.agent.text import read_flow
from host.python.device import Device
from models.pipeline import model_of
from shell.sim.build import OVERLAY
from testing.device import lane_packets, udp
from testing.messages import LaneLink

MINUTES = float(os.environ.get("SLUICE_FUZZ_MINUTES", "0"))
TURNS = int(8 + 50 * MINUTES)
PACKET = udp("10.0.0.1", "10.0.0.2")
PORTS = 3  # the last lane is the agent's


class Killed(Exception):
    """The agent is killed here."""


class DeadlyLink(LaneLink):
    """A bad link, whose agent is killed when it has sent so many messages more."""

    fatal: int | None = None

    def send(self, data: bytes) -> None:
        if self.fatal is not None:
            self.fatal -= 1
            if self.fatal < 0:
                raise Killed
        super().send(data)

    def poll(self, seconds: float = 0.0) -> bytes | None:
        if not self.waiting:
            self.step()
        return self.waiting.popleft() if self.waiting else None


class Bench:
    """A device with traffic into lane 0, and the agents that come after each other."""

    def __init__(self, device: Device, state: Path, draw: random.Random) -> None:
        self.device, self.state, self.draw = device, state, draw
        self.link = DeadlyLink(device, 0.1, draw.getrandbits(32), self.step)
        self.on, self.sent = False, 0
        self.left: Counter[int] = Counter()
        self.kills = self.failures = 0
        self.switch = self.new_switch()

    def step(self) -> None:
        if self.on and self.device.lane_send(0, PACKET):
            self.sent += 1
        for lane in range(PORTS):
            for data in lane_packets(self.device, lane):
                assert data == PACKET
                self.left[lane] += 1

    def new_switch(self) -> Switch:
        """An agent that begins, and gets its flows onto the device."""
        while True:
            try:
                switch = Switch(Pipeline(MessageChannel(self.link), self.state))
                switch.load()
                return switch
            except ChannelError:
                self.failures += 1

    def load(self, deadly: bool = True) -> None:
        """What the agent wants, or what a new one wants where it is killed."""
        self.link.fatal = self.draw.randrange(20) if deadly else None
        try:
            while True:
                try:
                    self.switch.check()
                    self.switch.load()
                    break
                except ChannelError:
                    self.failures += 1
        except Killed:
            self.kills += 1
            self.link.fatal = None
            self.switch = self.new_switch()
        self.link.fatal = None

    def wanted(self) -> int:
        """The lane that packets are to leave by."""
        ((_, meta),) = model_of(self.switch.translation.program).run(PACKET, 0)
        return meta.egress_mask.bit_length() - 1

    def settle(self) -> Counter[int]:
        """What has left by each lane since the last time; nothing is lost."""
        self.on = False
        self.device.settle()
        self.step()
        left, sent, self.left, self.sent = self.left, self.sent, Counter(), 0
        assert sum(left.values()) == sent
        return left


@pytest.mark.fuzz
def test_an_agent_that_is_killed_again_and_again(tmp_path: Path) -> None:
    seed = random.getrandbits(32) if MINUTES else 1
    print(f"seed {seed}")
    draw = random.Random(seed)
    with Device(OVERLAY) as device:
        device.call("sluice_device_set_lossless", 1)
        bench = Bench(device, tmp_path / "state", draw)
        old = None  # the first load has no traffic: everything is dropped before
        for turn in range(TURNS):
            port = 2 + (turn + draw.randrange(2)) % (PORTS - 1)
            assert not [*Session(bench.switch, lambda data: None).handle(bytes(read_flow(f"in_port=1,actions=output:{port}").buf))]
            bench.on = old is not None
            bench.load(turn > 0)
            passed, new = bench.settle(), bench.wanted()
            assert passed.keys() <= {old, new}, "by the old flows or the new ones"
            if turn % 4 == 3:
                device.write(L.SHELL_REGISTERS_CONTROL, device.read(L.SHELL_REGISTERS_CONTROL) | 1)
                while device.read(L.SHELL_REGISTERS_CONTROL) & 1:
                    device.advance(16)
                bench.load()
            bench.on = True
            for _ in range(40):
                bench.link.poll()
            left, old = bench.settle(), bench.wanted()
            assert left.keys() == {old} and left[old] > 20, "the device does what the agent wants"
        print(f"{TURNS} loads, {bench.kills} killed, {bench.failures} given up and done again")
        assert bench.kills
