# SPDX-License-Identifier: Apache-2.0
"""The agent on the simulated device: controllers that come and go, a device that is reset, an agent that is killed in a load."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sluice_layouts as L
from c65of import ofproto as of
from c65of.ofproto import parser as codec

from host.agent import agent as agents
from host.agent import messages
from host.agent.agent import Agent
from host.agent.channel import Access
from host.agent.device_channel import DeviceChannel, open_device
from host.agent.local import ask
from host.agent.pipeline import Pipeline
from host.agent.session import Session
from host.agent.switch import Switch
from host.agent.testing.model import parsed
from host.agent.text import read_flow
from testing.device import lane_packets, udp

PACKET = udp("10.0.0.1", "10.0.0.2")
BURST = 20


@pytest.fixture
def channel() -> Iterator[DeviceChannel]:
    opened = open_device("sim:pipeline_units=2,controller=1")  # the build of other tests
    opened.device.call("sluice_device_set_lossless", 1)
    yield opened
    opened.close()


def leaves_by(channel: DeviceChannel, count: int = BURST, before: Callable[[], object] = lambda: None) -> dict[int, int]:
    """How many of so many packets into lane 0 leave by each lane; `before` runs while they are in flight."""
    waiting = [PACKET] * count
    while waiting and channel.device.lane_send(0, waiting[0]):
        waiting.pop()
    before()
    while waiting or not channel.device.library.sluice_device_idle(channel.device.handle):
        while waiting and channel.device.lane_send(0, waiting[0]):
            waiting.pop()
        channel.device.advance(64)
    found = {lane: lane_packets(channel.device, lane) for lane in range(channel.lanes)}
    assert all(data == PACKET for packets in found.values() for data in packets)
    return {lane: len(packets) for lane, packets in found.items() if packets}


def add(switch: Switch, text: str) -> None:
    assert not [*Session(switch, lambda data: None).handle(bytes(read_flow(text).buf))], switch.why_refused


class Killed(Exception):
    """The agent is killed here."""


class Deadly(DeviceChannel):
    """A channel whose agent is killed before a write to a register of the pipeline."""

    fatal: int | None = None

    def access(self, batch: Sequence[Access]) -> list[int]:
        found = []
        for one in batch:
            if one.value is not None and one.address % L.WINDOW_SIZE == self.fatal:
                raise Killed
            found += super().access([one])
        return found


def test_an_agent_killed_in_a_load_stops_no_traffic(channel: DeviceChannel, tmp_path: Path) -> None:
    deadly = Deadly(channel.device)
    switch = Switch(Pipeline(deadly, tmp_path / "state"))
    old, new = 1, 2
    add(switch, f"in_port=1,actions=output:{old + 1}")
    switch.load()
    for fatal in (L.PIPELINE_REGISTERS_PLACE, L.PIPELINE_REGISTERS_VERSION):  # the first write to a memory, the last of all
        add(switch, f"in_port=1,actions=output:{new + 1}")
        deadly.fatal = fatal
        with pytest.raises(Killed):
            switch.load()
        deadly.fatal = None
        assert leaves_by(channel) == {old: BURST}, "a load that was not finished changes nothing"
        made: list[Switch] = []
        during = leaves_by(channel, before=lambda made=made: made.append(Switch(Pipeline(deadly, tmp_path / "state"))))
        assert sum(during.values()) == BURST and during.keys() <= {old, new}, "a new agent loads beside the program that runs"
        switch = made[0]
        assert leaves_by(channel) == {new: BURST}, "what was wanted is there"
        old, new = new, old


def test_a_device_that_was_reset_gets_its_program_again(channel: DeviceChannel) -> None:
    switch = Switch(Pipeline(channel))
    add(switch, "in_port=1,actions=output:3")
    switch.load()
    loads = switch.pipeline.loads
    switch.check()
    assert switch.pipeline.loads == loads and leaves_by(channel) == {2: BURST}
    channel.device.write(L.SHELL_REGISTERS_CONTROL, channel.device.read(L.SHELL_REGISTERS_CONTROL) | 1)
    while channel.device.read(L.SHELL_REGISTERS_CONTROL) & 1:
        channel.device.advance(16)
    assert leaves_by(channel) == {}
    while channel.receive():
        pass
    switch.check()
    assert leaves_by(channel) == {2: BURST} and switch.counters["reset"] == 1


def test_a_tag_comes_and_goes_on_the_way_through_a_device(channel: DeviceChannel) -> None:
    """At once to a controller and to a lane."""
    switch = Switch(Pipeline(channel))
    add(switch, "in_port=1,vlan_vid=0,actions=push_vlan:0x8100,set_field:vlan_vid=0x1064,set_field:vlan_pcp=5,output:2")
    add(switch, "in_port=2,vlan_vid=0x1064,actions=pop_vlan,output:1,output:CONTROLLER")
    switch.load()
    tagged = PACKET[:12] + bytes.fromhex("8100a064") + PACKET[12:]
    for lane, sent, left in ((0, PACKET, tagged), (1, tagged, PACKET)):
        assert channel.device.lane_send(lane, sent)
        channel.device.advance(2000)
        assert lane_packets(channel.device, 1 - lane) == [left]
    received = channel.receive()
    assert received is not None and (received.port, received.data) == (1, PACKET)


class Controller:
    """A controller that a test plays."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, request: Any, xid: int = 1) -> None:
        request.xid = xid
        request.serialize()
        self.writer.write(bytes(request.buf))

    async def receive(self) -> Any:
        head = await self.reader.readexactly(8)
        return parsed(head + await self.reader.readexactly(messages.header(head)[2] - 8))

    async def until(self, kind: int) -> Any:
        while (message := await self.receive()).msg_type != kind:
            pass
        return message


async def _served(port: int, work: Callable[[Controller], Awaitable[None]]) -> None:
    """A controller that serves one connection, then is gone."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            controller = Controller(reader, writer)
            controller.send(codec.OFPHello(None))
            await controller.until(of.OFPT_HELLO)
            await work(controller)
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", port):
        await asyncio.wait_for(done, 20)


def test_controllers_come_and_go(channel: DeviceChannel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "PROBE", 0.3)
    monkeypatch.setattr(agents, "SILENCE", 0.9)
    monkeypatch.setattr(agents, "LONGEST_WAIT", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    switch = Switch(Pipeline(channel))
    running = Agent(switch, [("127.0.0.1", port)], tmp_path / "api")

    async def first(controller: Controller) -> None:
        controller.send(codec.OFPFeaturesRequest(None))
        assert (await controller.until(of.OFPT_FEATURES_REPLY)).n_tables == 2
        controller.send(read_flow("priority=0,actions=output:CONTROLLER"))
        controller.send(codec.OFPBarrierRequest(None), 9)
        assert (await controller.until(of.OFPT_BARRIER_REPLY)).xid == 9
        channel.device.lane_send(3, PACKET)
        event = await controller.until(of.OFPT_PACKET_IN)
        assert (event.match["in_port"], event.data) == (4, PACKET)
        controller.send(read_flow("in_port=1,actions=output:2"))
        controller.send(
            codec.OFPPacketOut(
                None, of.OFP_NO_BUFFER, of.OFPP_CONTROLLER, [codec.OFPActionOutput(1), codec.OFPActionOutput(2)], PACKET
            )
        )
        controller.send(codec.OFPEchoRequest(None, b"there?"))
        assert (await controller.until(of.OFPT_ECHO_REPLY)).data == b"there?"
        await controller.until(of.OFPT_ECHO_REQUEST)  # the agent asks a controller that is silent
        with pytest.raises(asyncio.IncompleteReadError):
            await controller.until(of.OFPT_ERROR)  # and gives it up in the end

    async def second(controller: Controller) -> None:
        controller.send(codec.OFPFlowStatsRequest(None))
        assert len((await controller.until(of.OFPT_MULTIPART_REPLY)).body) == 2, "the flows are still there"
        controller.writer.write(b"\4\0\0\2garbage!")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await controller.until(of.OFPT_ERROR)

    async def play() -> None:
        task = asyncio.create_task(running.run())
        await asyncio.sleep(0.3)
        assert running.connections[0].attempts > 0 and not running.connections[0].connected
        await _served(port, first)
        assert [(lane, lane_packets(channel.device, lane)) for lane in (0, 1)] == [(0, [PACKET]), (1, [PACKET])]
        assert leaves_by(channel) == {1: BURST}, "without a controller traffic goes on"
        await _served(port, second)
        (answer,) = await asyncio.to_thread(lambda: [*ask(tmp_path / "api", {"do": "dump"})])
        assert answer["flows"] == [
            "table=0,priority=0,actions=output:CONTROLLER",
            "table=0,priority=32768,in_port=1,actions=output:2",
        ]
        wrong = await asyncio.to_thread(lambda: [*ask(tmp_path / "api", {"do": "add", "flow": "table=9,actions=drop"})])
        assert wrong == [{"error": "there is no table 9; there are 2", "type": 5, "code": 2}]
        shown = await asyncio.to_thread(lambda: [*ask(tmp_path / "api", {"do": "packets"})])
        assert [(one["port"], one["reason"], bytes.fromhex(one["data"])) for one in shown] == [(4, "no match", PACKET)]
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(play(), 30))
