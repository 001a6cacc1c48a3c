# SPDX-License-Identifier: Apache-2.0
"""Port knocking takes over in a device that runs, under traffic: each packet obeys the program before or this one, whole, and none
is lost. After a reset the device gets it back. The stateful unit is the second of the row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sluice_layouts as L

from compiler.interpreter.packets import Packet
from compiler.overlay.deploy import deployed
from compiler.pipeline.actions import action
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitProgram
from configs.stateful import judges
from configs.stateful.test_applications import FORGETTING, program_of, to_port
from host.program.overlay_run import exchange_in_time, load, sizes_of
from host.python.device import Device
from host.python.pipeline import Overlay
from shell.sim.build import OVERLAY
from testing.device import host_packets, lane_packets

PORTS = [1111, 2222, 3333, 22, 80, 22]
CYCLES = 20_000_000  # 100 ms at 200 MHz


@pytest.fixture(params=["sim", "functional"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with Device({**OVERLAY, "stateful_units": 2}, transport=request.param) as opened:
        opened.call("sluice_device_set_lossless", 1)
        yield opened


def to_lane(number: int) -> UnitProgram:
    """All packets leave by a lane, as they came."""
    return UnitProgram(L.UnitSelector(), (), action(verdict=L.VERDICT_FORWARD, ports=[number]))


def send(device: Device, packets: list[bytes], least: int) -> None:
    """Until no more than `least` wait."""
    while len(packets) > least:
        while packets and device.lane_send(0, packets[0]):
            packets.pop(0)
        device.advance(16)


def test_port_knocking_takes_over_under_traffic(device: Device) -> None:
    hosts = [host for turn in range(20) for host in range(3 * turn, 3 * turn + 3) for _ in range(2)]
    sent = [to_port(host % 250, PORTS[at % len(PORTS)], 6, 0).data for at in range(len(PORTS)) for host in hosts]
    overlay = Overlay(device)
    knocking = deployed(program_of("knocking"), sizes=sizes_of(overlay), lanes=device.lanes)
    assert [*knocking.program.stateful] == [1]
    overlay.load(PipelineProgram(knocking.program.headers, (to_lane(1),)))
    waiting = list(sent)
    send(device, waiting, len(sent) - 100)
    took = load(device, overlay, knocking)
    print(f"{took.writes} register writes in {took.cycles} cycles")
    assert took.cycles < CYCLES
    send(device, waiting, 0)
    while not device.library.sluice_device_idle(device.handle):
        device.advance(16)
    old, new = lane_packets(device, 1), lane_packets(device, 0)
    judge = judges.knocking()
    assert old == sent[: len(old)] and len(old) >= 100
    assert new == [left.data for data in sent[len(old) :] for left in judge(data, 0)] and new
    assert not lane_packets(device, 2) and not host_packets(device)
    counts = overlay.flows(1)
    assert counts.looked_up == len(sent) - len(old) and counts.made == len({*hosts}) and not counts.absent


def test_a_device_that_was_reset_gets_the_program_with_its_time_out_again(device: Device) -> None:
    """The reset forgets hosts, and the settings of the unit: without them hosts would have access for ever."""
    overlay = Overlay(device)
    load(device, overlay, deployed(program_of("knocking"), sizes=sizes_of(overlay), lanes=device.lanes))
    opens = [to_port(7, port, 6, 0) for port in (1111, 2222, 3333, 22)]

    def left(packets: list[Packet]) -> int:
        device.advance(FORGETTING)
        return len(exchange_in_time(device, [packets])[0][0])

    assert left([*opens, to_port(7, 22, 6, judges.MINUTE - 1)]) == 2
    device.write(L.SHELL_REGISTERS_CONTROL, device.read(L.SHELL_REGISTERS_CONTROL) | 1)
    while device.read(L.SHELL_REGISTERS_CONTROL) & 1:
        device.advance(16)
    assert overlay.restore() and not overlay.restore()
    assert left([to_port(7, 22, 6, 0)]) == 0, "hosts are forgotten"
    assert left([*opens, to_port(7, 22, 6, judges.MINUTE)]) == 1, "and who knocks has access for a minute"
