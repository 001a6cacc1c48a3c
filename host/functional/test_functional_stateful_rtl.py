# SPDX-License-Identifier: Apache-2.0
"""A stateful unit of the functional device beside the RTL of configs/overlay: the same random words into the memories of both, and
the same packets. Bytes, metadata, order and counters must be equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sluice_layouts as L

from compiler.pipeline.unit_image import NOTHING
from host.functional.test_functional_pipeline import LANES, MINUTES, SIZE, draw_anew, found, some_packets
from host.functional.test_functional_stateful_pipeline import WINDOW, Memories, some_stateless, some_unit
from host.python.device import Device
from shell.sim.build import OVERLAY
from testing.device import access_alike

TURNS = int(24 + 150 * MINUTES)
STATEFUL = {"stateful_units": 2}
FORGETTING, APPLYING = 2048, 16  # cycles in which the RTL forgets all flows, at most, and takes over a register
COUNTED = (L.PIPELINE_REGISTERS_MATCHED, L.PIPELINE_REGISTERS_FLOWS_NEW, L.PIPELINE_REGISTERS_FLOWS_ABSENT)


@pytest.fixture
def pair() -> Iterator[list[Device]]:
    with Device({**OVERLAY, **STATEFUL}) as there, Device({**SIZE, **STATEFUL}, transport="functional") as here:
        for device in (there, here):
            device.call("sluice_device_set_lossless", 1)
            device.write(L.SHELL_REGISTERS_TICK_SOURCE, 0)
        yield [there, here]


def settled(pair: list[Device], register: int, value: int, cycles: int) -> None:
    for device in pair:
        device.write(register, value)
        device.advance(cycles)


@pytest.mark.fuzz
def test_memories_full_of_random_bits_do_the_same(pair: list[Device]) -> None:
    draw_anew()
    seen = Counter[str]()
    memories, tick = Memories(pair, 2), random.getrandbits(32)
    for turn in range(TURNS):
        first = some_stateless()
        first = replace(first, miss=replace(first.miss, next=1))
        memories.load([first, NOTHING], {1: some_unit(memories.secrets[1], passes=False)})
        pool = some_packets(30)
        for lane in range(LANES):
            settled(pair, L.SHELL_REGISTERS_TICK, tick, APPLYING if lane else FORGETTING)
            packets = [random.choice(pool) for _ in range(60)]
            left, expected = (found(device, lane, packets) for device in pair)
            assert left == expected, (turn, lane)
            seen["left"] += len(left[0]) + sum(map(len, left[1]))
            tick = tick + random.choice([1, 100, 3000]) & 0xFFFFFFFF
        for register in L.PIPELINE_REGISTERS:
            for offset in register.offsets:
                access_alike(pair, WINDOW + offset)
    counts = [pair[0].read(WINDOW + register + 4) for register in COUNTED]
    assert min(counts) > TURNS and seen["left"] > 20 * TURNS, (counts, seen)


def test_register_accesses_are_answered_alike(pair: list[Device]) -> None:
    places = [0, 1, 2, 1 << 14, (1 << 14) - 1, 1 << 15, L.PROCESS_MEMORY_ENTRY << 11 | L.PROCESS_ENTRIES, 0xFFFF]
    words = [memory << 20 | unit << 16 | place for memory in range(16) for unit in (0, 1, 2, 15) for place in places]
    taken = [access_alike(pair, WINDOW + L.PIPELINE_REGISTERS_PLACE, word) for word in words]
    assert 40 < taken.count(-1) < len(taken) - 40
    for unit in range(3):
        access_alike(pair, WINDOW + L.PIPELINE_REGISTERS_COUNTER_INDEX, unit << 16)
    for at in range(WINDOW, WINDOW + 0x280, 4):
        access_alike(pair, at)
