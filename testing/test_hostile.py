# SPDX-License-Identifier: Apache-2.0
"""The whole device against MACs that cannot wait, stopped clocks, resets and random contents at power-up; and its judge and books
against packets that must not be."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import Any

import pytest
import sluice_layouts as L

from host.python.device import Device
from testing import hostile
from testing.hostile import IDENTITY, LANES, NEW_MACS, SIZES, STEP, Day, Judge, balance, checksum, is_good, make
from toolchain import ROOT
from toolchain.simulate import GENERATED

PACKETS = 4000  # `python -m testing.hostile --packets 100000` is the whole day


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_packet_is_delivered_whole_or_counted(seed: int) -> None:
    command = [sys.executable, "-m", "testing.hostile", "--packets", str(PACKETS), "--seed", str(seed)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{GENERATED}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout, done.stderr
    tally = json.loads(done.stdout)
    print(tally)
    assert is_good(tally) and tally["cycles_at_load"] > 1000
    assert tally["sent"] == PACKETS and tally["dropped"]["rx_overflow"] > 0 and tally["in_reset"] > 0
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


def spoil(fault: str, packets: list[bytes]) -> list[bytes]:
    """The packets with one fault, in the first."""
    first, *rest = packets
    wrong = bytes([*first[:-1], first[-1] ^ 1])
    return {"lost": rest, "doubled": [first, *packets], "corrupt": [wrong, *rest], "stale": rest}[fault]


@pytest.mark.parametrize(
    ("fault", "found"),
    [("none", (0, 0, 0)), ("lost", (0, 1, 0)), ("doubled", (1, 1, 0)), ("corrupt", (1, 0, 0)), ("stale", (0, 2, 1))],
)
def test_one_wrong_packet_between_a_lane_and_its_judge_shows_also_just_before_a_reset(
    fault: str, found: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_SIM_SEED", "1")
    lane_packets, held, came_late = hostile.lane_packets, dict[int, bytes](), False

    def spoiled(device: Device, lane: int) -> list[bytes]:
        nonlocal came_late
        packets = lane_packets(device, lane)
        if fault != "none" and not held and packets:
            held[lane] = packets[0]
            return spoil(fault, packets)
        if fault == "stale" and lane in held and day.events["device resets"] and not came_late:
            came_late = True
            return [held[lane], *packets]
        return packets

    with Device(SIZES) as device:
        day = Day(device, 1, 400)
        day.rules()
        monkeypatch.setattr(hostile, "lane_packets", spoiled)
        day.reset_device()
        assert day.in_reset > 0 and day.left == 0
        day.close_books()
        assert (day.judge.corrupt, day.unaccounted, day.judge.stale) == found


def books(**changes: int) -> tuple[list[int], int, list[L.LaneCounters], L.HostCounters, L.GraphCounters]:
    """What `balance` is given: ten packets into each lane, one of them for each place where a packet can end; `changes` to lane 1's
    counters, to `sent` of it, and to `delivered`."""
    sent, delivered = [10] * LANES, 4 * 6 - 6 - 2
    usual = {"rx_packets": 6, "rx_error": 1, "rx_oversize": 1, "rx_overflow": 1, "rx_runt": 1}
    lanes = [L.LaneCounters(**usual) for _ in range(LANES)]
    lanes[1].tx_overflow = lanes[1].tx_error = 1
    host = L.HostCounters(to_host_overflow=1, to_host_error=1, ring_overflow=1)
    graph = L.GraphCounters(drop_rule=1, drop_ttl=1, drop_no_port=1)
    for name, change in changes.items():
        if name == "sent":
            sent[1] += change
        elif name == "delivered":
            delivered += change
        else:
            place = next(it for it in (lanes[1], host, graph) if hasattr(it, name))
            setattr(place, name, getattr(place, name) + change)
    return sent, delivered, lanes, host, graph


def test_the_books_balance_where_every_packet_is_in_one_place() -> None:
    found = balance(*books())
    assert found.unaccounted == 0 and found.dropped.total() == 4 * 4 + 8 and min(found.dropped.values()) == 1


PLACES = ("sent", "delivered", "rx_error", "rx_oversize", "rx_overflow", "rx_runt", "tx_overflow", "tx_error", "to_host_overflow",
          "to_host_error", "ring_overflow", "drop_rule", "drop_ttl", "drop_no_port")  # fmt: skip


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("place", PLACES)
def test_the_books_miss_a_packet_that_is_in_no_place_or_in_two(place: str, change: int) -> None:
    assert balance(*books(**{place: change})).unaccounted == 1


def test_a_packet_too_few_does_not_make_up_for_one_too_many() -> None:
    assert balance(*books(sent=1, delivered=1)).unaccounted == 2
    assert balance(*books(rx_overflow=1, delivered=-1)).unaccounted == 2
    sent, *rest = books()
    assert balance([sent[0] + 1, sent[1] - 1, *sent[2:]], *rest).unaccounted == 2


GOOD = {"sent": 10, "delivered": 6, "dropped": {"rx_error": 1, "rx_overflow": 1}, "in_reset": 2, "corrupt": 0, "unaccounted": 0,
        "stale": 0, "flits_a_cycle": 0.95}  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [{}, {"sent": 11}, {"delivered": 5}, {"in_reset": 3}, {"dropped": {"rx_error": 1}}, {"corrupt": 1}, {"unaccounted": 1},
              {"stale": 1}, {"flits_a_cycle": 0.9499}]
)  # fmt: skip
def test_a_day_is_good_only_without_a_fault(wrong: dict[str, Any]) -> None:
    assert is_good({**GOOD, **wrong}) == (wrong == {})
