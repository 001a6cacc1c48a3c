# SPDX-License-Identifier: Apache-2.0
"""The whole device with a clock for each lane, faster and slower than the core's: every packet arrives unharmed, in order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import sluice_layouts as L

from host.python.device import Device, LaneInfo
from shell.sim.build import SMALL
from testing.device import enable, forward, host_packets, noise, route, routed, run, udp

SEED = 20261121
# The model's periods over the core's: what a flit of each lane takes, in core cycles (shell/sim/sim_model.cc).
RATIOS = [3107 / 5000, 7919 / 5000, 4999 / 5000, 12473 / 5000]
BIG = L.MTU_BYTES


@pytest.fixture
def device(power_up: int) -> Iterator[Device]:
    with Device({**SMALL, "lane_clocks": 1}) as opened:
        yield opened


def mixed(draw: random.Random, count: int) -> list[bytes]:
    edges = [14, 60, 63, 64, 65, 128, 1514, BIG]
    return [noise(draw, draw.choice(edges) if draw.random() < 0.3 else draw.randint(14, 600)) for _ in range(count)]


def test_each_lane_has_the_rate_of_its_own_clock(device: Device) -> None:
    data = noise(random.Random(SEED), BIG)
    for lane, ratio in enumerate(RATIOS):
        device.send(data, 1 << lane)
        device.settle()
        received = device.lane_receive(lane)
        assert received is not None and received[0] == data
        info: LaneInfo = received[1]
        flits = BIG // L.DATA_BYTES - 1
        assert abs((info.last_cycle - info.first_cycle) / flits - max(1, ratio)) < 0.05, f"lane {lane}"


def test_packets_of_every_lane_reach_the_host_unharmed_in_order(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    draw = random.Random(SEED)
    sent = {lane: mixed(draw, 80) for lane in range(4)}
    host, out = run(device, sent)
    for lane, packets in sent.items():
        assert [one.data for one in host if one.ingress_port == lane] == packets
    assert not any(out.values())


def test_hits_and_the_hosts_packets_cross_between_all_clocks_in_order(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    enable(device, 1 << L.TABLE_LPM)
    for lane in range(4):
        route(device, f"10.{lane}.0.0/16", forward(lane))
    draw = random.Random(SEED)
    flows = {(at, to): [udp(f"10.9.{at}.1", f"10.{to}.{at}.{n}", payload=draw.randint(0, 900)) for n in range(20)]
             for at in range(4) for to in range(4)}  # fmt: skip
    sent = {at: [flows[at, to][n] for n in range(20) for to in range(4)] for at in range(4)}
    ours = [[noise(draw, draw.randint(14, 2000)) for _ in range(15)] for _ in range(4)]
    for lane, packets in enumerate(ours):
        for data in packets:
            device.send(data, 1 << lane)
    host, out = run(device, sent)
    assert host == []
    for to in range(4):
        for at in range(4):
            expected = [routed(data) for data in flows[at, to]]
            assert [data for data in out[to] if data in set(expected)] == expected, f"lane {at} to lane {to}"
        assert [data for data in out[to] if data in set(ours[to])] == ours[to]
        assert len(out[to]) == 4 * 20 + 15


def test_what_is_lost_at_full_load_is_counted_and_the_rest_is_in_order(device: Device) -> None:
    draw = random.Random(SEED)
    sent = {lane: [noise(draw, 1000) for _ in range(300)] for lane in range(4)}
    host, _ = run(device, sent)
    lost = device.counters("host").to_host_overflow
    for lane, packets in sent.items():
        counters = device.counters("lane", lane)
        assert counters.rx_packets + counters.rx_overflow == len(packets)
        assert counters.rx_error == counters.rx_runt == counters.rx_oversize == 0
        lost += counters.rx_overflow
        rest = iter(packets)
        assert all(one.data in rest for one in host if one.ingress_port == lane), f"order of lane {lane}"
    assert len(host) + lost == 4 * 300 and lost > 0
    assert host_packets(device) == []
