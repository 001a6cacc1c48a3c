# SPDX-License-Identifier: Apache-2.0
"""The programs beside do what a few lines of Python do, packet by packet; the reference model executes them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sluice_layouts as L

from compiler.stateful.program import BlockSizes, read
from models.stateful import VERSION_SHIFT, Outcome, Packet, Process, Sizes

PROGRAMS = Path(__file__).parent / "programs"
SMALL = {"inputs": 4, "conditions": 4, "words": 2, "updates": 3, "entries": 4, "actions": 2}
GAP, LIMIT = 500, 8000


class Runner:
    """A program with the states of its flows."""

    def __init__(self, name: str, shared: dict[int, int] | None = None, sizes: dict[str, int] | None = None) -> None:
        program = read(PROGRAMS / f"{name}.toml", BlockSizes(**(sizes or {})))
        memories = {(L.PROCESS_MEMORY_SHARED, n): (shared or {}).get(n, 0) for n in range(2 * L.PROCESS_SHARED_WORDS)}
        memories |= {(write.memory, write.address): write.data for write in program.writes(version=1)}
        self.process = Process(memories, Sizes(**(sizes or {})))
        self.states: defaultdict[int, Sequence[int]] = defaultdict(lambda: (0,) * self.process.sizes.words)

    def packet(self, flow: int, containers: dict[int, int], tick: int = 0, length: int = 60) -> Outcome:
        parsed = L.Parsed([containers.get(n, 0) for n in range(L.PIPELINE_CONTAINERS)], version=1, length=length)
        outcome = self.process.run(Packet(L.PipelinePhv(parsed), tick=tick), self.states[flow])
        self.states[flow] = outcome.flow
        return outcome


def word(outcome: Outcome, first: int) -> int:
    containers = outcome.packet.phv.parsed.containers
    return containers[first] << 16 | containers[first + 1]


def knocking() -> Callable[[int, int], bool]:
    """Whether a packet of a host to a port passes."""
    done: defaultdict[int, int] = defaultdict(int)
    knocks = [1111, 2222, 3333]

    def passes(host: int, port: int) -> bool:
        if done[host] == 3:
            return port == 22
        done[host] = done[host] + 1 if port == knocks[done[host]] else int(port == knocks[0])
        return False

    return passes


def test_port_knocking() -> None:
    runner, passes, opened = Runner("port_knocking"), knocking(), 0
    for _ in range(4000):
        host, port = random.randrange(8), random.choice([1111, 2222, 3333, 22] if random.random() < 0.9 else [80])
        outcome, expected = runner.packet(host, {33: port}), passes(host, port)
        assert (outcome.packet.phv.verdict == L.VERDICT_PASS) == expected
        opened += expected
    assert opened


@pytest.mark.parametrize("sizes", [{}, SMALL])
def test_retransmissions(sizes: dict[str, int]) -> None:
    runner = Runner("retransmissions", sizes=sizes)
    last: defaultdict[int, int] = defaultdict(int)
    count: defaultdict[int, int] = defaultdict(int)
    for _ in range(2000):
        flow, sequence = random.randrange(5), random.choice([random.getrandbits(32), random.getrandbits(4)])
        count[flow] += sequence < last[flow]
        last[flow] = sequence
        outcome = runner.packet(flow, {34: sequence >> 16, 35: sequence & 0xFFFF})
        assert word(outcome, 42) == count[flow]
    assert min(count.values())


@pytest.mark.parametrize("sizes", [{}, SMALL])
def test_flowlet(sizes: dict[str, int]) -> None:
    runner = Runner("flowlet", {L.PROCESS_SHARED_WORDS: GAP}, sizes)
    tick, paths, seen, kept = 2**32 - 100_000, {}, {}, 0  # the tick wraps on the way
    for _ in range(3000):
        tick += random.choice([10, 100, GAP // 5, 2 * GAP])
        flow, choice = random.randrange(4), random.randrange(1 << 16)
        new = flow not in seen or tick - seen[flow] > GAP
        paths[flow], seen[flow], kept = choice if new else paths[flow], tick, kept + (not new)
        outcome = runner.packet(flow, {40: choice}, tick & 0xFFFFFFFF)
        assert outcome.packet.phv.parsed.containers[42] == paths[flow]
    assert 500 < kept < 2500


def test_heavy_hitter() -> None:
    runner = Runner("heavy_hitter", {L.PROCESS_SHARED_WORDS: LIMIT})
    tick, sent, marked = 2**31, {}, 0
    for _ in range(5000):
        tick += random.randrange(0, 40_000)
        flow, length = random.choice([0, 0, 0, 1, 2, 3]), random.randrange(60, 1500)
        window = flow, tick // 2**20
        heavy = sent.get(window, 0) > LIMIT
        sent[window] = sent.get(window, 0) + length
        phv = runner.packet(flow, {}, tick, length).packet.phv
        expected: Any = (1, 1, L.VERDICT_FORWARD) if heavy else (0, 0, L.VERDICT_PASS)
        assert (phv.parsed.containers[43], phv.queue, phv.verdict) == expected
        marked += heavy
    assert 500 < marked < 4500


def test_a_program_is_of_one_version() -> None:
    writes = list(read(PROGRAMS / "flowlet.toml").writes(1))
    assert {write.address >> VERSION_SHIFT for write in writes} == {1}
    assert len({(write.memory, write.address) for write in writes}) == len(writes)
