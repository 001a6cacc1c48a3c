# SPDX-License-Identifier: Apache-2.0
"""The whole device against MACs that cannot wait, stopped clocks, resets and random contents at power-up; and its judge against
packets that must not be."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest
import sluice_layouts as L

from host.python.device import Device
from shell.sim.hostile import IDENTITY, LANES, LEAST_RATE, NEW_MACS, SIZES, STEP, Day, Judge, checksum, make
from testing.simulate import GENERATED, ROOT

PACKETS = 4000  # `python -m shell.sim.hostile --packets 100000` is the whole day


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_packet_is_delivered_whole_or_counted(seed: int) -> None:
    command = [sys.executable, "-m", "shell.sim.hostile", "--packets", str(PACKETS), "--seed", str(seed)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{GENERATED}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout, done.stderr
    tally = json.loads(done.stdout)
    print(tally)
    assert (tally["corrupt"], tally["unaccounted"], tally["stale"]) == (0, 0, 0)
    assert tally["flits_a_cycle"] >= LEAST_RATE and tally["cycles_at_load"] > 1000
    assert tally["sent"] == PACKETS and tally["dropped"]["rx_overflow"] > 0
    assert min(tally[event] for event in ("rule changes", "graph resets", "device resets", "clocks stopped")) > 0
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("core_period_ps", [4000, 5000])
@pytest.mark.parametrize("size", [69, 133, 197])
def test_a_lane_that_brings_more_than_the_core_takes_loses_whole_packets(
    size: int, core_period_ps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_SIM_SEED", str(size))
    with Device(SIZES) as device:
        day = Day(device, size, 0, core_period_ps)
        sent = 0
        while sent < 400:
            while sent < 400 and device.lane_send(0, make(day.draw, 0, sent, size)):
                sent += 1
            day.run(STEP)
        day.number[0] = sent
        day.close_books()
        assert (day.judge.corrupt, day.unaccounted, day.judge.packets) == (0, 0, sent - day.dropped["rx_overflow"])
        assert set(day.dropped) <= {"rx_overflow"}
        assert (day.dropped["rx_overflow"] > 0) == (core_period_ps == 5000 or size == 69), (
            "flits at 100 Gbps over those of the core"
        )


def sample(number: int, size: int = 200) -> bytes:
    """A packet of lane 1 to a network that rules know."""
    draw = random.Random(number)
    while True:
        data = make(draw, 1, number, size)
        if data[31] == 2 and data[12] == 8:
            return data


def routed(data: bytes) -> bytes:
    """As a router sends it."""
    header = bytearray(data[14:34])
    header[8] -= 1
    header[10:12] = checksum(header).to_bytes(2, "big")
    return NEW_MACS + data[12:14] + bytes(header) + data[34:]


def test_the_judge_takes_what_may_be() -> None:
    judge = Judge()
    for number in range(50):
        data = sample(number, 64 + number)
        judge.take(*((data, L.HOST_PORT) if number % 3 == 0 else (routed(data), 2 + number % 2)))
    assert (judge.corrupt, judge.stale, judge.packets) == (0, 0, 50)


def test_the_judge_sees_every_byte_that_is_wrong() -> None:
    for data, place in ((sample(1), L.HOST_PORT), (routed(sample(1)), 2)):
        for at in range(len(data)):
            judge = Judge()
            wrong = bytearray(data)
            wrong[at] ^= 1 << at % 8
            judge.take(bytes(wrong), place)
            assert judge.corrupt == 1, f"byte {at}"


def test_the_judge_sees_packets_that_are_cut_doubled_out_of_order_misplaced_or_old() -> None:
    data = routed(sample(7))
    for packets, place in (
        ([data[:-1]], 2), ([data + b"\0"], 2), ([data[:64]], 2), ([data, data], 2), ([data, routed(sample(6))], 2),
        ([data], 0), ([data], 1), ([data], L.HOST_PORT), ([sample(7)], 2), ([data[:IDENTITY]], 2),
    ):  # fmt: skip
        judge = Judge()
        for packet in packets:
            judge.take(packet, place)
        assert judge.corrupt == 1, (packets, place)
    judge = Judge()
    judge.first = [8] * LANES
    judge.take(data, 2)
    assert (judge.corrupt, judge.stale) == (0, 1)
