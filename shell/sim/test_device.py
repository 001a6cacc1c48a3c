# SPDX-License-Identifier: Apache-2.0
"""The whole device under Verilator, small tables, through the library: packets, drops, rules, counters, fence, registers."""

from __future__ import annotations

import ctypes as c
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest
import sluice_layouts as L
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from host.python.device import Action, Device, Received, SluiceError, load, set_field
from shell.sim.build import FLOW, OVERLAY, SMALL, build
from testing.device import (
    ANY_MAC,
    EXACT,
    HOST,
    LPM,
    ROUTER,
    enable,
    flow,
    forward,
    host_packets,
    lane_packets,
    noise,
    route,
    routed,
    run,
    udp,
)

SEED = 20261120


@pytest.fixture(scope="session")
def built() -> None:
    build(SMALL)


@pytest.fixture
def device(built: None, power_up: int) -> Iterator[Device]:
    with Device(SMALL) as opened:
        yield opened


# Packets without rules.


def test_every_size_comes_to_the_host_byte_for_byte_in_the_order_of_its_lane(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    draw = random.Random(SEED)
    edges = [14, 15, 59, 60, 61, 63, 64, 65, 127, 128, 129, 1514, 2048, 9215, 9216]
    sent = {lane: [noise(draw, size) for size in draw.sample(edges, len(edges)) + [draw.randint(14, 400) for _ in range(40)]]
            for lane in range(4)}  # fmt: skip
    host, _ = run(device, sent)
    for lane, packets in sent.items():
        assert [one.data for one in host if one.ingress_port == lane] == packets
    for lane, packets in sent.items():
        counters = device.counters("lane", lane)
        assert (counters.rx_packets, counters.rx_bytes) == (len(packets), sum(map(len, packets)))
    counters = device.counters("host")
    assert (counters.to_host_packets, counters.to_host_bytes) == (len(host), sum(len(one.data) for one in host))
    assert device.counters("graph").to_host_packets == len(host)


def test_without_rules_the_device_is_a_wire_to_the_host(device: Device) -> None:
    draw = random.Random(SEED)
    packets = [udp(f"10.0.0.{i}", f"10.1.{i}.1", tags=[5] * (i % 3), payload=draw.randint(0, 300)) for i in range(30)]
    host, out = run(device, {1: packets})
    assert [one.data for one in host] == packets
    assert not any(out.values())
    assert {one.verdict for one in host} == {L.VERDICT_TO_HOST}


def test_host_packets_leave_the_lanes_of_their_mask(device: Device) -> None:
    draw = random.Random(SEED)
    expected: dict[int, list[bytes]] = defaultdict(list)
    for _ in range(60):
        mask, data = draw.randint(1, 15), noise(draw, draw.choice([14, 60, 64, 65, 1500, 9216]))
        device.send(data, mask)
        device.settle()
        for lane in range(4):
            if mask >> lane & 1:
                expected[lane].append(data)
    for lane in range(4):
        assert lane_packets(device, lane) == expected[lane]
        assert device.counters("lane", lane).tx_packets == len(expected[lane])
        assert device.counters("lane", lane).tx_bytes == sum(map(len, expected[lane]))
    assert device.counters("host").from_host_packets == 60


# Drops.


def test_runts_oversize_and_bad_frames_are_dropped_by_cause_and_good_ones_pass(device: Device) -> None:
    draw = random.Random(SEED)
    good = [noise(draw, size) for size in (14, 60, 9216, 77)]
    for data, bad in [(good[0], False), (noise(draw, 13), False), (bytes(1), False), (good[1], False),
                      (noise(draw, 9217), False), (noise(draw, 20000), False), (good[2], False),
                      (noise(draw, 60), True), (noise(draw, 600), True), (noise(draw, 64), True), (good[3], False)]:  # fmt: skip
        assert device.lane_send(2, data, bad)
        device.settle()
    assert [one.data for one in host_packets(device)] == good
    counters = device.counters("lane", 2)
    assert (counters.rx_packets, counters.rx_runt, counters.rx_oversize, counters.rx_error) == (4, 2, 2, 3)
    assert counters.rx_overflow == 0


def flood(device: Device, count: int) -> list[bytes]:
    """Packets of a lane that nobody reads behind the device: more than its stores hold."""
    draw = random.Random(SEED)
    packets = [noise(draw, 1000) for _ in range(count)]
    waiting = list(packets)
    for _ in range(200 * count):
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        device.advance(8)
        if not waiting:
            break
    device.advance(2000)
    return packets


def test_a_host_that_does_not_read_loses_packets_that_are_counted(device: Device) -> None:
    packets = flood(device, 1500)
    got = []
    for _ in range(200):
        got += [one.data for one in host_packets(device)]
        device.advance(64)
    counters = device.counters("host")
    assert counters.to_host_overflow > 0
    assert len(got) == counters.to_host_packets
    assert counters.to_host_packets + counters.to_host_overflow == len(packets) == device.counters("lane", 0).rx_packets
    rest = iter(packets)
    assert all(data in rest for data in got), "order is kept around the gap"


def test_lossless_presses_back_and_loses_nothing(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    draw = random.Random(SEED)
    packets = [noise(draw, 1000) for _ in range(1500)]
    waiting, got, quiet = list(packets), [], 0
    while waiting and quiet < 50:
        quiet += 1
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
            quiet = 0
        device.advance(64)
    assert waiting, "the lane was pressed back"
    host, _ = run(device, {0: waiting})
    got += [one.data for one in host]
    assert got == packets
    assert device.counters("host").to_host_overflow == 0
    assert device.counters("lane", 0).rx_overflow == 0


# Rules.


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("table", ["lpm", "exact"])
@pytest.mark.parametrize("tags", [0, 1, 2])
def test_a_hit_is_routed_as_scapy_routes_it(device: Device, version: int, table: str, tags: int) -> None:
    enable(device, 1 << (L.TABLE_LPM if table == "lpm" else L.TABLE_EXACT))
    ends = ("10.0.0.1", "10.1.2.3") if version == 4 else ("2001:db8::1", "2001:db8:1::3")
    packets = [udp(*ends, tags=[7, 8][:tags], payload=size) for size in (0, 18, 19, 100, 1400)]
    if table == "lpm":
        rule = route(device, "10.1.0.0/16" if version == 4 else "2001:db8:1::/48", forward(3))
    else:
        rule = flow(device, packets[0], forward(3))
    device.call("sluice_device_set_tick", c.c_uint32(77))
    host, out = run(device, {1: packets})
    assert [data.hex() for data in out[3]] == [routed(data).hex() for data in packets]
    assert host == []
    size = sum(map(len, packets))
    assert device.rule_counters(LPM if table == "lpm" else EXACT, int(version == 6), rule) == (5, size, 77)
    assert device.counters("graph").forwarded_packets == 5


def test_the_longest_prefix_wins_and_a_miss_goes_to_the_host_as_it_came(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    for lane, text in enumerate(["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32"]):
        route(device, text, forward(lane))
    ends = ["10.200.0.1", "10.1.9.1", "10.1.2.9", "10.1.2.3", "11.0.0.1"]
    packets = [udp("10.0.0.1", end) for end in ends]
    host, out = run(device, {0: packets})
    for lane in range(4):
        assert out[lane] == [routed(packets[lane])]
    assert [one.data for one in host] == [packets[4]]
    assert device.counters("graph").misses == 1


def test_required_tables_decide_what_is_a_miss(device: Device) -> None:
    both, routed_only, known_only, none = (udp("10.0.0.1", f"10.{i}.0.1") for i in (1, 1, 3, 4))
    routed_only = udp("10.0.0.2", "10.1.0.1")
    packets = [both, routed_only, known_only, none]
    expected = {1 << L.TABLE_LPM: {0, 1}, 1 << L.TABLE_EXACT: {0, 2}, 1 << L.TABLE_LPM | 1 << L.TABLE_EXACT: {0}, 0: {0, 1, 2}}
    enable(device, 0)
    route(device, "10.1.0.0/16", [Action(L.ACTION_OUTPUT, 2)])
    for data in (both, known_only):
        flow(device, data, [Action(L.ACTION_OUTPUT, 2)])
    for required, hits in expected.items():
        device.call("sluice_admit_set", required, ANY_MAC)
        host, out = run(device, {0: packets})
        assert out[2] == [packets[i] for i in sorted(hits)], f"required {required}"
        assert [one.data for one in host] == [packets[i] for i in range(4) if i not in hits], f"required {required}"


def test_vlan_tags_are_pushed_and_popped(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", [Action(L.ACTION_INSERT_VLAN, 100), Action(L.ACTION_OUTPUT, 0)])
    route(device, "10.2.0.0/16", [Action(L.ACTION_DELETE_VLAN), Action(L.ACTION_OUTPUT, 1)])
    pushed = [udp("10.0.0.1", "10.1.0.1", payload=size) for size in (10, 18, 22, 500)]
    popped = [udp("10.0.0.1", "10.2.0.1", tags=[9, 10], payload=size) for size in (10, 18, 22, 500)]
    _, out = run(device, {0: pushed, 1: popped})
    assert out[0] == [data[:12] + bytes.fromhex("81000064") + data[12:] for data in pushed]
    assert out[1] == [data[:12] + data[16:] for data in popped]


def test_the_largest_packet_may_grow(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", [Action(L.ACTION_INSERT_VLAN, 100), Action(L.ACTION_OUTPUT, 0)])
    head = len(udp("10.0.0.1", "10.1.0.1", payload=0))
    sent = [udp("10.0.0.1", "10.1.0.1", payload=L.MTU_BYTES - head - less) for less in (0, 1, 59, 60, 61)]
    _, out = run(device, {0: sent})
    assert out[0] == [data[:12] + bytes.fromhex("81000064") + data[12:] for data in sent]
    ours = noise(random.Random(SEED), L.EGRESS_BYTES)
    device.send(ours, 0b10)
    device.settle()
    assert lane_packets(device, 1) == [ours]
    assert device.counters("lane", 0).tx_error == 0


def test_the_largest_packet_may_grow_on_its_way_to_the_host(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", [Action(L.ACTION_INSERT_VLAN, 100), Action(L.ACTION_TO_CONTROLLER, 0)])
    head = len(udp("10.0.0.1", "10.1.0.1", payload=0))
    sent = [udp("10.0.0.1", "10.1.0.1", payload=L.MTU_BYTES - head - less) for less in (0, 3, 4)]
    host, _ = run(device, {0: sent})
    assert [packet.data for packet in host] == [data[:12] + bytes.fromhex("81000064") + data[12:] for data in sent]


def test_tcp_checksum_follows_a_new_address(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", [set_field(L.FIELD_IP_DST, 0xC0A80001), set_field(L.FIELD_L4_DST, 8080),
                                  Action(L.ACTION_CHECKSUM), Action(L.ACTION_OUTPUT, 0)])  # fmt: skip
    packet = Ether(src=HOST, dst=ROUTER) / IP(src="10.0.0.1", dst="10.1.0.1") / TCP(sport=5, dport=80, seq=9) / (b"x" * 33)
    _, out = run(device, {2: [bytes(packet)]})
    expected = Ether(bytes(packet))
    expected[IP].dst, expected[TCP].dport = "192.168.0.1", 8080
    del expected[IP].chksum, expected[TCP].chksum
    assert [data.hex() for data in out[0]] == [bytes(expected).hex()]


def test_replication_copies_to_every_lane_of_the_mask(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", [Action(L.ACTION_REPLICATE, 0b1101)])
    packets = [udp("10.0.0.1", "10.1.0.1", payload=n) for n in (18, 900)]
    host, out = run(device, {0: packets})
    assert [out[lane] for lane in range(4)] == [packets, [], packets, packets]
    assert host == []


def test_a_mask_with_the_host_and_lanes_is_left_to_the_host(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.2.0.0/16", [Action(L.ACTION_SUB), Action(L.ACTION_REPLICATE, 0b0010 | 1 << L.HOST_PORT)])
    data = udp("10.0.0.1", "10.2.0.1")
    host, out = run(device, {0: [data]})
    assert ([one.data for one in host], out[1]) == ([data], [])


def test_drops_by_rule_and_by_ttl_are_counted(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", [Action(L.ACTION_DROP)])
    route(device, "10.2.0.0/16", forward(0))
    dying = Ether(udp("10.0.0.1", "10.2.0.1"))
    dying[IP].ttl = 1
    del dying[IP].chksum
    last = udp("10.0.0.1", "10.2.0.7")
    host, out = run(device, {0: [udp("10.0.0.1", "10.1.0.1", payload=n) for n in (0, 300, 4000)] + [bytes(dying), last]})
    assert (host, out[0]) == ([], [routed(last)])
    counters = device.counters("graph")
    assert (counters.drop_rule, counters.drop_ttl, counters.forwarded_packets) == (3, 1, 1)


def test_hits_of_all_lanes_keep_their_order(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    enable(device, 1 << L.TABLE_LPM)
    draw = random.Random(SEED)
    for lane in range(4):
        route(device, f"10.{lane}.0.0/16", forward((lane + 1) % 4))
    sent = {lane: [udp("10.9.0.1", f"10.{lane}.0.{i}", payload=draw.randint(0, 900)) for i in range(60)] for lane in range(4)}
    host, out = run(device, sent)
    assert host == []
    for lane in range(4):
        assert out[(lane + 1) % 4] == [routed(data) for data in sent[lane]]


# Fence and reset.


def test_the_fence_holds_packets_until_it_is_lifted(device: Device) -> None:
    before, behind = noise(random.Random(1), 700), noise(random.Random(2), 60)
    assert device.lane_send(0, before)
    device.advance(40)
    device.call("sluice_device_pause")
    assert device.lane_send(0, behind)
    for _ in range(100):
        device.advance(16)
        if device.call("sluice_device_drained"):
            break
    assert device.call("sluice_device_drained") == 1
    assert [one.data for one in host_packets(device)] == [before]
    device.advance(1000)
    assert host_packets(device) == []
    device.call("sluice_device_resume")
    device.settle()
    assert [one.data for one in host_packets(device)] == [behind]


def test_the_fence_is_closed_while_a_packet_is_in_the_graph(device: Device) -> None:
    data = noise(random.Random(1), 9216)
    assert device.lane_send(0, data)
    seen = False
    for _ in range(40):
        device.advance(8)
        device.call("sluice_device_pause")
        drained = device.call("sluice_device_drained")
        seen = seen or not drained
        if drained and seen:
            break
        device.call("sluice_device_resume")
    assert seen
    assert [one.data for one in host_packets(device)] == [data], "drained means that it is in the ring"


def reset(device: Device) -> None:
    device.write(L.SHELL_REGISTERS_CONTROL, 1)
    for _ in range(100):
        if not device.read(L.SHELL_REGISTERS_CONTROL) & 1:
            return
    raise AssertionError("the reset does not end")


def test_reset_of_the_graph_forgets_the_rules_and_loses_no_packet(device: Device) -> None:
    enable(device, 1 << L.TABLE_LPM)
    route(device, "10.1.0.0/16", forward(1))
    packets = [udp("10.0.0.1", "10.1.0.1", payload=size) for size in (18, 18)]
    _, out = run(device, {0: packets[:1]})
    assert out[1] == [routed(packets[0])]
    reset(device)
    host, out = run(device, {0: packets[1:]})
    assert ([one.data for one in host], out[1]) == (packets[1:], [])


def test_windows_answer_during_and_after_a_reset_of_the_graph(device: Device) -> None:
    for pause in range(12):
        device.write(L.SHELL_REGISTERS_CONTROL, 1)
        device.advance(pause)
        for window in (1, 2, 3):
            try:
                device.read(window * L.WINDOW_SIZE)
            except SluiceError as error:
                assert "refuses" in str(error), "an error while it is in reset, and no silence"
        device.advance(64)
        assert [device.read(window * L.WINDOW_SIZE) for window in (1, 2, 3)] == [L.ELEMENT_ADMIT, EXACT, LPM]


# Registers.


def test_identity_and_capabilities(device: Device) -> None:
    assert device.read(L.SHELL_REGISTERS_MAGIC) == L.DEVICE_MAGIC
    assert device.read(L.SHELL_REGISTERS_LANES) == 4
    windows = device.read(L.SHELL_REGISTERS_WINDOWS)
    words = [device.read(L.SHELL_REGISTERS_CAPABILITY + 4 * i) for i in range(16)]
    exact, templates = SMALL["exact4"].bit_length() - 1, (L.TEMPLATES - 1).bit_length()
    graph = [(L.ELEMENT_SHELL, 4), (L.ELEMENT_ADMIT, 0), (EXACT, exact), (LPM, 6), (L.ELEMENT_DEPARSE, templates)]
    queues = [(L.ELEMENT_QOS, lane) for lane in range(4)]
    assert [(word & 0xFFFF, word >> 16) for word in words] == graph + queues + [(0, 0)] * (16 - windows)


def holes(window: int, block: Sequence[L.Register]) -> list[int]:
    """The first and the last word of a window that is no register."""
    taken = {offset for register in block for offset in register.offsets}
    free = [offset for offset in range(0, L.WINDOW_SIZE, 4) if offset not in taken]
    return [window * L.WINDOW_SIZE + offset for offset in (free[0], free[-1])]


BESIDE = [0x002, 0x2001, 0xF000, 0xFF000, 0x000F_FFFC, 0x0010_0000, 0xFFFF_FFFC]  # no words, or no windows
BLOCKS = [L.SHELL_REGISTERS, L.ADMIT_REGISTERS, L.OFU_REGISTERS, L.OFU_REGISTERS]


@pytest.mark.parametrize("address", [*BESIDE, *(at for window, block in enumerate(BLOCKS) for at in holes(window, block))], ids=hex)
def test_nothing_there_is_an_error_and_the_next_access_is_right(device: Device, address: int) -> None:
    for access in (device.read, lambda at: device.write(at, 1)):
        with pytest.raises(SluiceError, match="refuses"):
            access(address)
        assert device.read(L.SHELL_REGISTERS_MAGIC) == L.DEVICE_MAGIC


def test_read_only_and_write_only_registers_say_so(device: Device) -> None:
    for address in (L.SHELL_REGISTERS_MAGIC, L.SHELL_REGISTERS_STATUS, L.SHELL_REGISTERS_LANE_COUNTERS, L.WINDOW_SIZE,
                    2 * L.WINDOW_SIZE, 3 * L.WINDOW_SIZE + L.OFU_REGISTERS_STATUS):  # fmt: skip
        value = device.read(address)
        with pytest.raises(SluiceError, match="refuses"):
            device.write(address, value ^ 1)
    with pytest.raises(SluiceError, match="refuses"):
        device.read(2 * L.WINDOW_SIZE + L.OFU_REGISTERS_PUSH)


def registers(sizes: dict[str, int]) -> dict[int, int]:
    """Every register of a device that has just been reset, but what refuses a read."""
    found = {}
    with Device(sizes) as device:
        for address in range(0, device.read(L.SHELL_REGISTERS_WINDOWS) * L.WINDOW_SIZE, 4):
            with suppress(SluiceError):
                found[address] = device.read(address)
    return found


@pytest.mark.parametrize("sizes", [SMALL, FLOW, OVERLAY], ids=["rules", "flows", "overlay"])
def test_no_register_shows_what_it_held_before_the_reset(sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for seed in ("1", "2"):
        monkeypatch.setenv("SLUICE_SIM_SEED", seed)
        seen.append(registers(sizes))
    assert len(seen[0]) > 200
    assert seen[0] == seen[1], {hex(at) for at in seen[0] if seen[0][at] != seen[1].get(at)}


def test_time_runs_and_its_words_are_read_as_one(device: Device) -> None:
    first = device.read(L.SHELL_REGISTERS_TIME_LOW) | device.read(L.SHELL_REGISTERS_TIME_HIGH) << 32
    device.advance(1000)
    second = device.read(L.SHELL_REGISTERS_TIME_LOW) | device.read(L.SHELL_REGISTERS_TIME_HIGH) << 32
    assert 1000 < second - first < 1100


# Whatever comes.


@pytest.fixture(scope="module")
def hostile(built: None) -> Iterator[Device]:
    with Device(SMALL, load()) as opened:
        enable(opened, 1 << L.TABLE_LPM)
        route(opened, "10.1.0.0/16", forward(3))
        route(opened, "2001:db8:1::/48", forward(3))
        yield opened


BEGINNINGS = [
    b"",
    bytes(12) + b"\x08\x00\x45",
    bytes(12) + b"\x86\xdd\x60",
    bytes(12) + b"\x81\x00",
    udp("10.0.0.1", "10.1.0.1")[:40],
]


@given(st.lists(st.builds(lambda a, b: a + b, st.sampled_from(BEGINNINGS), st.binary(min_size=1, max_size=300)), max_size=8))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
def test_any_bytes_pass_or_are_dropped_and_good_packets_behind_them_are_right(hostile: Device, garbage: list[bytes]) -> None:
    good = [udp("10.0.0.1", "10.1.0.1"), udp("2001:db8::1", "2001:db8:1::1", payload=77)]
    host, out = run(hostile, {0: [*garbage, *good], 1: garbage})
    assert out[3][-1] == routed(good[1])
    assert routed(good[0]) in out[3]
    expected = sum(len(data) >= 14 for data in garbage) * 2 + 2
    forwarded = sum(map(len, out.values()))
    dropped = hostile.counters("graph")
    assert len(host) + forwarded <= expected
    total = hostile.counters("lane", 0).rx_packets + hostile.counters("lane", 1).rx_packets
    assert (
        total == dropped.to_host_packets + dropped.forwarded_packets + dropped.drop_rule + dropped.drop_ttl + dropped.drop_no_port
    )


def test_channels_of_a_configuration_are_not_there(device: Device) -> None:
    with pytest.raises(SluiceError, match="no element of kind"):
        device.channel_send(0, Received(bytes(60), 0, 0, 0, 0, 0))
