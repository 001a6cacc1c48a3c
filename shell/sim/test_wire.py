# SPDX-License-Identifier: Apache-2.0
"""The device as a bump in the wire: its host side is lanes to a NIC. Without rules a coupler; a hit never reaches the NIC."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator

import pytest
import sluice_layouts as L

from host.python.device import Device, SluiceError
from shell.sim.build import SMALL
from testing.device import enable, flow, forward, noise, route, routed, run, udp

SEED = 20261121
LANES = 2
PAIR = {0: 2, 1: 3, 2: 0, 3: 1}


@pytest.fixture
def device(power_up: int) -> Iterator[Device]:
    with Device({**SMALL, "lanes": LANES, "host_lanes": LANES}) as opened:
        assert (opened.lanes, opened.host_lanes) == (LANES, LANES)
        yield opened


def test_without_rules_every_packet_passes_both_ways_as_it_came(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    draw = random.Random(SEED)
    edges = [14, 60, 63, 64, 65, 1514, 1920, 1921, 9215, 9216]
    sent = {lane: [noise(draw, size) for size in draw.sample(edges, len(edges))] for lane in range(4)}
    for lane, packets in sent.items():
        packets += [udp("10.0.0.1", f"10.{lane}.0.{n}", tags=[7] * (n % 3), payload=draw.randint(0, 900)) for n in range(60)]
    host, out = run(device, sent)
    assert host == []
    for lane, packets in sent.items():
        assert out[PAIR[lane]] == packets, f"from lane {lane}"
        assert device.counters("lane", lane).rx_packets == device.counters("lane", PAIR[lane]).tx_packets == len(packets)


@pytest.mark.parametrize("table", ["lpm", "exact"])
def test_hits_stay_in_hardware_and_all_else_passes(device: Device, table: str) -> None:
    enable(device, 1 << (L.TABLE_LPM if table == "lpm" else L.TABLE_EXACT))
    hits = [udp("10.9.0.1", "10.1.0.1", payload=n) for n in range(40)]
    if table == "lpm":
        route(device, "10.1.0.0/16", forward(1))
    else:
        flow(device, hits[0], forward(1))
    misses = [udp("10.9.0.1", "10.2.0.1", payload=n) for n in range(40)]
    both = [data for pair in zip(hits, misses, strict=True) for data in pair]
    host, out = run(device, {0: both, 2: both, 3: both[:9]})
    assert host == []
    assert out[2] == misses and out[3] == [], "no hit reaches the NIC"
    assert out[0] == both, "what the NIC sends passes the rules by"
    ours = [routed(data) for data in hits]
    assert [data for data in out[1] if data in set(ours)] == ours
    assert [data for data in out[1] if data not in set(ours)] == both[:9]


def test_bad_packets_of_the_nic_are_dropped_and_counted(device: Device) -> None:
    draw = random.Random(SEED)
    good = [noise(draw, size) for size in (14, 9216, 77)]
    for data, bad in [(good[0], False), (noise(draw, 13), False), (noise(draw, 9217), False), (good[1], False),
                      (noise(draw, 600), True), (good[2], False)]:  # fmt: skip
        assert device.lane_send(3, data, bad)
        device.settle()
    _, out = run(device, {})
    assert out[1] == good and not out[0] and not out[2] and not out[3]
    counters = device.counters("lane", 3)
    assert (counters.rx_packets, counters.rx_runt, counters.rx_oversize, counters.rx_error) == (3, 1, 1, 1)


def test_what_is_lost_at_full_load_is_counted_and_the_rest_is_in_order(device: Device) -> None:
    draw = random.Random(SEED)
    sent = {lane: [noise(draw, 1000) for _ in range(300)] for lane in range(4)}
    _, out = run(device, sent)
    counters = [device.counters("lane", lane) for lane in range(4)]
    lost = sum(one.rx_overflow + one.tx_overflow for one in counters) + device.counters("host").to_host_overflow
    for lane, packets in sent.items():
        rest = iter(packets)
        assert all(data in rest for data in out[PAIR[lane]]), f"order of lane {lane}"
    assert sum(map(len, out.values())) + lost == 4 * 300 and lost > 0


def test_there_is_no_ring(device: Device) -> None:
    with pytest.raises(SluiceError, match="NIC") as caught:
        device.send(bytes(60), 1)
    assert caught.value.errno == errno.ENOTSUP
    with pytest.raises(SluiceError, match="lane 4"):
        device.lane_send(4, bytes(60))
