# SPDX-License-Identifier: Apache-2.0
"""An agent behind the second controller core of a device, beside somebody at the first: its packets come to it, and where the other
has loaded a program meanwhile it loads all of its own."""

from __future__ import annotations

import pytest
import sluice_layouts as L

from host.agent.channel import ChannelError
from host.agent.message_channel import MessageChannel
from host.agent.pipeline import Pipeline
from host.agent.session import Session as Controller
from host.agent.switch import Switch
from host.agent.text import read_flow
from host.python.device import Device
from host.python.messages import Session
from host.python.pipeline import Overlay
from host.python.windows import own_core
from shell.sim.build import OVERLAY
from shell.sim.test_overlay import router
from testing.device import lane_packets, udp
from testing.messages import LaneLink

PACKET = udp("10.0.0.1", "10.0.0.2")


class PolledLink(LaneLink):
    """A link that is asked without waiting."""

    def poll(self, seconds: float = 0.0) -> bytes | None:
        self.step()
        return self.waiting.popleft() if self.waiting else None


def add(switch: Switch, flow: str) -> None:
    assert not [*Controller(switch, lambda data: None).handle(bytes(read_flow(flow).buf))]


def test_the_second_core_has_an_agent() -> None:
    with Device(OVERLAY | {"controller": 2}) as device:
        link = PolledLink(device)
        other = Session(link)
        other_core = own_core(other.read)
        assert other_core is not None
        other.write_all([(other_core + L.CONTROLLER_REGISTERS_CONTROL, 1)])
        overlay = Overlay(other)
        channel = MessageChannel(PolledLink(device, core=1, beside=link))
        switch = Switch(Pipeline(channel))
        assert switch.pipeline.core == 1
        add(switch, "in_port=1,actions=output:CONTROLLER")
        add(switch, "in_port=2,actions=output:3")
        switch.load()
        for _ in range(2):
            assert device.lane_send(0, PACKET) and device.lane_send(1, PACKET)
            device.settle()
            received = [packet for _ in range(400) if (packet := channel.receive()) is not None]
            assert [(packet.port, packet.data) for packet in received] == [(0, PACKET)]
            assert lane_packets(device, 2) == [PACKET]
            assert other.packet_in() is None
            with pytest.raises(KeyError):
                overlay.counters(0)
            overlay.load(router({}))  # the other one's turn
            switch.pipeline.sample_flows()  # reads nothing, and the next load knows that it does not know the memories
            assert not switch.pipeline.known
            other.write_all([(L.SHELL_REGISTERS_LOCK, 1)])
            with pytest.raises(ChannelError, match="refused"):
                switch.pipeline.load(switch.translation)
            other.write_all([(L.SHELL_REGISTERS_LOCK, 0)])
            assert device.lane_send(0, PACKET)
            device.settle()
            packet_in = other.packet_in()
            assert packet_in is not None and packet_in.data == PACKET
            switch.pipeline.load(switch.translation)
