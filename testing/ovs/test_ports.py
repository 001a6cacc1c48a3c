# SPDX-License-Identifier: Apache-2.0
"""Ports of the device come and go under a running Open vSwitch: in any order, and after the device has died."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from host.lib.test_transport_process import processes as device_processes
from testing.ovs import device as devices
from testing.ovs import flows, spaces, switch
from testing.ovs.pipelines import BRIDGE, LANES
from testing.ovs.replay import Wires

PATIENCE = 60.0  # seconds; a loaded machine is slow


@dataclass
class Bridge:
    """A learning switch of the device's lanes, and what lies at them."""

    switch: switch.OpenVSwitch
    device: devices.Device
    wires: Wires
    present: set[int] = field(default_factory=set)
    sent: int = 0

    def add(self, lane: int) -> None:
        self.switch.add_port(BRIDGE, f"lane{lane}", self.device.devargs(self.wires.lanes())[lane], lane + 1)
        self.present.add(lane)

    def remove(self, lane: int) -> None:
        self.switch.vsctl("del-port", BRIDGE, f"lane{lane}")
        self.present.remove(lane)

    def reach(self, lane: int, target: int) -> None:
        """Send frames to the station at a lane until one comes there: while flows of a port that left go, some may not."""
        end = time.monotonic() + PATIENCE
        self.sent += 1
        frame = bytes([2, 0, 0, 0, 2, target, 2, 0, 0, 0, 2, lane, 8, 0]) + bytes(40) + self.sent.to_bytes(4, "big")
        while frame not in self.wires.left[target]:
            assert time.monotonic() < end, self.switch.complaints()
            self.wires.send(lane, frame)
            for _ in range(100):
                self.wires.drain()
                if frame in self.wires.left[target]:
                    break
                time.sleep(0.005)

    def check(self) -> None:
        """Every port that is there hears every other one: by a flood, until its address is learnt, then by its own flow."""
        for _ in range(2):
            for lane in sorted(self.present):
                for other in self.present - {lane}:
                    self.reach(lane, other)

    def offload(self) -> None:
        """Until a flow is in hardware."""
        end = time.monotonic() + PATIENCE
        while not any(flow and flow.state == "yes" for flow in map(flows.parse, self.switch.datapath_flows())):
            assert time.monotonic() < end
            self.reach(0, 1)


@contextlib.contextmanager
def bridge(device: devices.Device) -> Iterator[Bridge]:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(switch.run_folder())
        made = stack.enter_context(spaces.Spaces(0))
        wires = stack.enter_context(contextlib.closing(Wires(folder)))
        ovs = stack.enter_context(switch.OpenVSwitch(folder, made.prefix(made.switch)))
        devices.start(ovs, device, True)
        ovs.add_bridge(BRIDGE, secure=False)
        ovs.poll(devices.cores()[0])
        yield Bridge(ovs, device, wires)


def again(order: list[int], draw: random.Random) -> list[int]:
    """The lanes of `order`, which have left in this order, in another one. The device goes with lane 0 when no other port is there;
    then lane 0 makes it anew."""
    others = draw.sample(order, len(order))
    is_gone = len(order) == LANES and order[-1] == 0
    return sorted(others, key=bool) if is_gone else others


@pytest.mark.parametrize("seed", [1])
def test_ports_leave_and_come_again_in_any_order(seed: int) -> None:
    draw = random.Random(seed)
    orders = [[0], [0, 1, 2, 3], [3, 2, 1, 0]] + [draw.sample(range(LANES), draw.randrange(1, LANES + 1)) for _ in range(3)]
    with bridge(devices.functional()) as net:
        for lane in range(LANES):
            net.add(lane)
        net.check()
        for order in orders:
            for lane in order:
                net.remove(lane)
                if len(net.present) > 1:
                    net.check()
            for lane in again(order, draw):
                net.add(lane)
            net.check()
        assert "Incomplete flush" not in net.switch.log.read_text(errors="replace")


def test_a_device_that_died_is_removed_and_used_again_without_another_start_of_the_switch() -> None:
    device = devices.build()
    with bridge(replace(device, where=device.where.replace("sim:", "sim-process:", 1))) as net:
        for order in ([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]):
            for lane in range(LANES):
                net.add(lane)
            net.check()
            net.offload()
            (process,) = device_processes(net.switch.pid)
            os.kill(process, signal.SIGKILL)
            for lane in order:
                net.remove(lane)
        net.add(0)
        net.add(1)
        net.check()
        assert "Incomplete flush" not in net.switch.log.read_text(errors="replace")
