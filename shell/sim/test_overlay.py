# SPDX-License-Identifier: Apache-2.0
"""The programmable pipeline in the whole device, simulated and functional: without a program packets go to the host; a router is
loaded and changed under traffic; a reset forgets it. Headers that nobody here knew are a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import sluice_layouts as L
from scapy.fields import ByteField, FieldLenField, ShortField, StrLenField
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from bench.pipeline import HEADERS
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics, Source
from compiler.overlay.deploy import deployed
from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.parser_program import ProgramError, read
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from host.python.device import Device
from host.python.pipeline import Overlay
from shell.sim.build import OVERLAY, SMALL
from testing.device import NEXT_HOP, SELF, host_packets, lane_packets, routed, run, udp
from toolchain import ROOT

PROGRAM = read(HEADERS)
PLACES = PROGRAM.containers


@pytest.fixture(params=["sim", "functional"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with Device(OVERLAY, transport=request.param) as opened:
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


def test_entries_that_both_programs_have_go_on_counting(device: Device) -> None:
    overlay, sent = Overlay(device), packets(40)
    route, longer = router({0: 1, 1: 2}).units[0], router({0: 1, 1: 2, 2: 3}).units[0]
    wide = UnitEntry(0, 0, action(verdict=L.VERDICT_TO_HOST))  # matches all, so what stands behind it is copied to later places
    with_wide, other_miss = replace(route, entries=(wide, *route.entries)), replace(route, miss=action(verdict=L.VERDICT_DROP))
    expected: Counter[str] = Counter()
    lookups = [0, 0]
    programs = (
        (longer, ("third",)),
        (route, ()),
        (longer, ("third",)),  # at the place that it had, with the same action: it begins at 0
        (route, ()),
        (with_wide, ("wide",)),
        (route, ()),
        (with_wide, ("wide",)),
        (other_miss, ("miss",)),
    )
    for turn, (unit, new) in enumerate(programs):
        overlay.load(PipelineProgram(PROGRAM, (unit,)))
        for name in new:
            del expected[name]
        device.write(L.SHELL_REGISTERS_TICK_SOURCE, 0)
        device.write(L.SHELL_REGISTERS_TICK, 1000 + turn)
        run(device, {0: sent})
        hit = ("wide",) * 4 if unit is with_wide else ("first", "second", "third" if unit is longer else "miss", "miss")
        for number, data in enumerate(sent):
            expected[hit[number % 4]] += 1 << 48 | len(data)
            lookups = [lookups[0] + 1, lookups[1] + (hit[number % 4] != "miss")]
        entries = {"first": route.entries[0], "second": route.entries[1], "third": longer.entries[2], "miss": None, "wide": wide}
        for name, entry in entries.items():
            if entry in (*unit.entries, None):
                found = overlay.counters(0, entry)
                assert found.packets << 48 | found.bytes == expected[name], name
    assert overlay.lookups(0) == tuple(lookups) and overlay.lookups(1) == (0, 0)
    idle = device.read(L.SHELL_REGISTERS_TICK) - overlay.counters(0, route.entries[0]).last_hit
    assert idle == 0
    with pytest.raises(KeyError):
        overlay.counters(0, wide)


class Interest(Packet):
    """An interest of CCNx with a name of one segment (RFC 8609)."""

    fields_desc: ClassVar[list[Any]] = [
        ByteField("version", 1),
        ByteField("type", 0),
        ShortField("length", None),
        ByteField("hop_limit", 64),
        ByteField("reserved", 0),
        ByteField("flags", 0),
        FieldLenField("header_length", None, fmt="B", length_of="options", adjust=lambda packet, size: size + 8),
        StrLenField("options", b"", length_from=lambda packet: packet.header_length - 8),
        ShortField("t_interest", 1),
        FieldLenField("interest_length", None, length_of="segment", adjust=lambda packet, size: size + 8),
        ShortField("t_name", 0),
        FieldLenField("name_length", None, length_of="segment", adjust=lambda packet, size: size + 4),
        ShortField("t_segment", 1),
        FieldLenField("segment_length", None, length_of="segment"),
        StrLenField("segment", b"", length_from=lambda packet: packet.segment_length),
    ]

    def post_build(self, header: bytes, payload: bytes) -> bytes:
        return header[:2] + len(header).to_bytes(2, "big") + header[4:] + payload


def interest(name: bytes, hop_limit: int = 64, options: bytes = b"", **fields: Any) -> bytes:
    frame = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b", type=0x88B5)
    return bytes(frame / Interest(segment=name, hop_limit=hop_limit, options=options, **fields) / bytes(40))


def test_a_header_that_the_device_did_not_know_is_parsed_matched_and_rewritten(device: Device) -> None:
    headers = read(ROOT / "configs" / "overlay" / "icn.toml")
    segment = [*headers.containers["segment"]][:7]  # length, 12 bytes
    selector = L.UnitSelector([L.SOURCE_HEADERS, *reversed(segment)], (1 << 128) - 1)
    hop = Operation(headers.containers["hop_limit"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00)

    def named(name: bytes, whole: bool, port: int) -> UnitEntry:
        """Names with this first segment, or with one that begins so."""
        value, mask = int.from_bytes(name.ljust(12, b"\0"), "big"), (1 << 96) - (1 << 8 * (12 - len(name)))
        value, mask = (value | len(name) << 96, mask | 0xFFFF << 96) if whole else (value, mask)
        interests = 1 << 2  # their base
        return UnitEntry(value << 16 | interests, mask << 16 | interests, action([hop], verdict=L.VERDICT_FORWARD, ports=[port]))

    entries = (named(b"video", True, 1), named(b"vid", False, 2), named(b"", False, 3))
    Overlay(device).load(PipelineProgram(headers, (UnitProgram(selector, entries, action()),)))
    names = {b"video": 1, b"videos": 2, b"vid": 2, b"audio": 3, b"a name of more than 12 bytes": 3}
    for options in (b"", bytes(6)):
        host, out = run(device, {0: [interest(name, 9, options) for name in names]})
        for lane in range(4):
            assert out[lane] == [interest(name, 8, options) for name, port in names.items() if port == lane]
        assert not host
    sent = [interest(b"video", type=1), interest(b"video", t_name=7), udp("10.0.0.1", "10.0.0.2"), interest(b"video", 1)]
    host, out = run(device, {2: sent})
    assert [(one.data, one.fault) for one in host] == [(sent[0], 0), (sent[1], L.FAULT_PROGRAM), (sent[2], 0)]
    assert not any(out.values()), "the last packet has used up its hops"


def deployment(name: str, rules: str) -> PipelineProgram:
    folder = ROOT / "configs" / "overlay" / name
    program = load(folder / f"{name}.sl", Diagnostics())
    assert program is not None
    return deployed(program, Source("rules", rules)).program


def test_a_deployed_program_takes_over_from_another_under_traffic(device: Device) -> None:
    routes = "routes 10.0.0.0/24 -> lanes 2, source 02:00:00:00:00:06, next_hop 02:00:00:00:00:05"
    switch = deployment("switch", f"stations 02:00:00:00:00:01 -> router 1\n{routes}")
    overlay, sent = Overlay(device), packets(300, nets=1)
    overlay.load(deployment("filter", "rules ip_dst 10.0.0.0/24, l4_dst 2000 -> lanes 4"))
    start = device.cycles
    waiting = list(sent)
    while len(waiting) > 200:
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        device.advance(16)
    overlay.load(switch)
    assert device.cycles - start < 20_000_000, "100 ms at 200 MHz"
    while waiting or not device.library.sluice_device_idle(device.handle):
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        device.advance(16)
    old, new = lane_packets(device, 2), lane_packets(device, 1)
    assert old == sent[: len(old)] and new == [routed(data) for data in sent[len(old) :]] and old and new
    assert not host_packets(device)


def test_a_device_without_one_says_so() -> None:
    with Device(SMALL) as device, pytest.raises(ValueError, match="no programmable pipeline; hint: SLUICE_SIM_OPTIONS"):
        Overlay(device)
