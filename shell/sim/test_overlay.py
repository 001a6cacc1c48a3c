# SPDX-License-Identifier: Apache-2.0
"""The programmable pipeline in the whole device: without a program packets go to the host; a router is loaded and changed under
traffic; a reset forgets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
import sluice_layouts as L

from bench.pipeline import HEADERS
from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.parser_program import ProgramError, read
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from host.python.device import Device
from host.python.pipeline import Overlay
from shell.sim.build import OVERLAY, SMALL
from testing.device import NEXT_HOP, SELF, host_packets, lane_packets, routed, run, udp

PROGRAM = read(HEADERS)
PLACES = PROGRAM.containers


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(OVERLAY) as opened:
        opened.call("sluice_device_set_lossless", 1)
        yield opened


def router(ports: Mapping[int, int]) -> PipelineProgram:
    """Routes 10.0.N.0/24 to lanes; what has no route goes to the host."""
    selector = L.UnitSelector([0] * 6 + [*reversed(PLACES["ip4_dst"])], 0xFFFFFFFF << 96)
    rewritten = [*set_words(PLACES["eth_dst"], NEXT_HOP), *set_words(PLACES["eth_src"], SELF)]
    rewritten.append(Operation(PLACES["ip4_ttl"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00))
    entries = tuple(
        UnitEntry((0x0A000000 | net << 8) << 96, 0xFFFFFF00 << 96, action(rewritten, verdict=L.VERDICT_FORWARD, ports=[port]))
        for net, port in ports.items()
    )
    return PipelineProgram(PROGRAM, (UnitProgram(selector, entries, action(verdict=L.VERDICT_TO_HOST)),))


def packets(count: int, nets: int = 4) -> list[bytes]:
    return [udp("10.9.9.9", f"10.0.{n % nets}.{n % 250}", sport=n, payload=n * 37 % 1400) for n in range(count)]


def test_a_program_is_loaded_changed_and_forgotten(device: Device) -> None:
    sent = packets(40)
    host, out = run(device, {0: sent})
    assert [one.data for one in host] == sent and {one.fault for one in host} == {L.FAULT_PROGRAM} and not any(out.values())
    overlay = Overlay(device)
    overlay.load(router({0: 1, 1: 2, 2: 3}))
    host, out = run(device, {0: sent})
    assert [one.data for one in host] == sent[3::4]
    assert [out[lane] for lane in range(4)] == [[], *([routed(data) for data in sent[net::4]] for net in range(3))]
    assert device.read(L.SHELL_REGISTERS_GRAPH_COUNTERS) == 30
    full = router(dict.fromkeys(range(70), 1))
    with pytest.raises(ProgramError, match="unit 0: the ternary table has no place for entry 62 of 70: 64 of 64 are taken"):
        overlay.load(full)
    device.write(L.SHELL_REGISTERS_CONTROL, device.read(L.SHELL_REGISTERS_CONTROL) | 1)
    while device.read(L.SHELL_REGISTERS_CONTROL) & 1:
        device.advance(16)
    host, out = run(device, {0: sent})
    assert [one.data for one in host] == sent and not any(out.values())
    Overlay(device).load(router({3: 0}))
    assert run(device, {0: sent})[1][0] == [routed(data) for data in sent[3::4]]


def test_packets_follow_the_old_program_or_the_new_one(device: Device) -> None:
    overlay, sent = Overlay(device), packets(400, nets=1)
    overlay.load(router({0: 1}))
    first = overlay.load(router({0: 2}))
    waiting, writes = list(sent), 0
    for turn in range(3):
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        writes = overlay.load(router({0: 1 + turn % 2}))
    while waiting or not device.library.sluice_device_idle(device.handle):
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        device.advance(16)
    out = [lane_packets(device, lane) for lane in range(4)]
    assert sorted(out[1] + out[2]) == sorted(routed(data) for data in sent) and out[1] and out[2]
    assert not out[0] and not out[3] and not host_packets(device)
    assert first > 1000 > writes, "what both programs have is not written again"


def test_a_device_without_one_says_so() -> None:
    with Device(SMALL) as device, pytest.raises(ValueError, match="no programmable pipeline; hint: SLUICE_SIM_OPTIONS"):
        Overlay(device)
