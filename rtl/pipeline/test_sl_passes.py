# SPDX-License-Identifier: Apache-2.0
"""sl_passes around a pipeline of the test's own: each packet passes as often as it asks for and may, leaves in each pass as that
pass left it, and none is lost or stuck, however full it is, whoever stalls, and after a reset."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cocotb
import sluice_layouts as L
from cocotb.triggers import ReadOnly, RisingEdge

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

UNITS, FLITS = 5, 160  # little more than the longest packet has
PASS_BITS = 19  # of pipeline_pass_t
Pass = tuple[int, int, int]  # version, first unit, bytes at most


def test_sl_passes() -> None:
    simulate("sl_passes", __file__, {"Units": UNITS, "Flits": FLITS})


def test_waiting_packets_are_in_block_ram() -> None:
    expect_memory("sl_passes", {"Flits": 1024}, xcup=Memory(bram=18.5), ecp5=Memory(bram=37), most_ff=3000)


def packed(one: Pass) -> int:
    return one[0] << 18 | one[1] << 14 | one[2]


def pass_of(meta: L.Meta) -> Pass:
    bits = meta.egress_mask << 11 | meta.queue << 7 | meta.verdict << 4 | meta.fault
    return bits >> 18, bits >> 14 & 15, bits & 0x3FFF


class Together:
    """Several signals as the one of a channel: the first in the lowest bits."""

    def __init__(self, *signals: Any) -> None:
        self.signals = signals

    @property
    def value(self) -> int:
        word = 0
        for signal in reversed(self.signals):
            word = word << len(signal) | int(signal.value)
        return word

    @value.setter
    def value(self, word: int) -> None:
        for signal in self.signals:
            signal.value = word & (1 << len(signal)) - 1
            word >>= len(signal)


@dataclass(frozen=True)
class Step:
    """What the pipeline does to a packet in a pass: how many bytes longer it is, the unit that it asks for, whether it leaves."""

    growth: int
    again: int
    dropped: bool
    mark: int


class Pipeline:
    """Between `enter` and `left`: holds packets for a while, and does to each what was drawn for its next pass. A packet begins
    with its number, whose lowest bit is the version that it gets."""

    def __init__(self, dut: Any, enter_stall: float, left_stall: float, holds: int) -> None:
        self.dut, self.holds = dut, holds
        self.enter, self.left = Sink(dut, "enter", stalls(enter_stall)), Source(dut, "left", stalls(left_stall))
        self.left.data = Together(dut.left_data_i, dut.left_pass_i, dut.left_again_i, dut.left_dropped_i)
        self.steps: dict[int, deque[Step]] = {}
        self.begun: dict[int, list[Pass]] = {}
        self.done: dict[int, list[Step]] = {}
        self.stamps: dict[int, set[tuple[int, int]]] = {}
        self.inside: deque[tuple[int, list[int]]] = deque()

    async def run(self) -> None:
        taken = cycle = 0
        while True:
            await RisingEdge(self.dut.clk_i)
            cycle += 1
            received = self.enter.received
            while taken < len(received):
                end = next((at for at in range(taken, len(received)) if L.Flit.from_int(received[at]).eop), None)
                if end is None:
                    break
                self.inside.append(
                    (cycle + self.holds, self._changed([L.Flit.from_int(word) for word in received[taken : end + 1]]))
                )
                taken = end + 1
            while self.inside and self.inside[0][0] <= cycle:
                self.left.send(*self.inside.popleft()[1])

    def _changed(self, flits: list[L.Flit]) -> list[int]:
        (packet,) = from_flits(flits)
        number = int.from_bytes(packet.data[:4], "big")
        version, begins, longest = pass_of(flits[0].meta)
        if not begins:
            assert flits[0].meta.mark == 0 and longest == len(packet.data) + L.PASS_GROWTH
            version = number & 1
        self.begun.setdefault(number, []).append((version, begins, longest))
        self.stamps.setdefault(number, set()).add((flits[0].meta.timestamp, flits[0].meta.ingress_port))
        assert flits[0].meta.mark == (self.done[number][-1].mark if begins else 0)
        step = self.steps[number].popleft()
        data = packet.data + bytes(step.growth)
        meta = replace(flits[0].meta, length=len(data), mark=step.mark, egress_mask=3, queue=1, verdict=L.VERDICT_FORWARD, fault=0)
        beside = packed((version, begins, longest)) | step.again << PASS_BITS | int(step.dropped) << PASS_BITS + 4
        self.done.setdefault(number, []).append(step)
        garbage = random.getrandbits(PASS_BITS + 5)
        return [flit.to_int() | (beside if flit.sop else garbage) << L.Flit.BITS for flit in to_flits(data, meta)]


class Bench:
    """The part with its pipeline, packets for both, and what leaves. Stalls of `in`, `enter`, `left` and `out`."""

    def __init__(self, dut: Any, stalled: tuple[float, float, float, float] = (0.2, 0.2, 0.2, 0.2), holds: int = 40) -> None:
        self.dut = dut
        self.source, self.sink = Source(dut, "in", stalls(stalled[0])), Sink(dut, "out", stalls(stalled[3]))
        self.sink.data = Together(dut.out_data_o, dut.out_stays_o)
        self.pipeline = Pipeline(dut, *stalled[1:3], holds)
        self.plans: dict[int, tuple[bytes, L.Meta, list[Step]]] = {}
        self.events = dict.fromkeys(("ends", "passes", "refused"), 0)
        self.tasks = [cocotb.start_soon(self._count()), cocotb.start_soon(self.pipeline.run())]

    async def _count(self) -> None:
        while True:
            await ReadOnly()
            for name in self.events:
                self.events[name] += self.dut.rst_i.value == 0 and getattr(self.dut, f"{name}_o").value == 1
            await RisingEdge(self.dut.clk_i)

    def send(self, number: int, size: int, steps: list[Step]) -> None:
        data = number.to_bytes(4, "big") + random.randbytes(size - 4)
        meta = L.Meta(ingress_port=number % 8, length=size, timestamp=random.getrandbits(64), mark=random.getrandbits(32))
        self.plans[number] = data, meta, steps
        self.pipeline.steps[number] = deque(steps)
        self.source.send(*(flit.to_int() for flit in to_flits(data, meta)))

    async def settle(self) -> None:
        """Until every packet has ended; TimeoutError: one is stuck or lost."""
        for _ in range(400_000):
            await RisingEdge(self.dut.clk_i)
            if self.events["ends"] == len(self.plans) and self.dut.left_valid_i.value == 0 and not self.pipeline.left.queue:
                return
        raise TimeoutError(f"{self.events} of {len(self.plans)} packets")

    def check(self) -> None:
        """Each copy that should leave has left, those of a packet in order."""
        mask = (1 << L.Flit.BITS) - 1
        stays = [word >> L.Flit.BITS for word in self.sink.received if L.Flit.from_int(word & mask).eop]
        left: dict[int, list[tuple[bytes, int, int]]] = {number: [] for number in self.plans}
        for packet, more in zip(from_flits([L.Flit.from_int(word & mask) for word in self.sink.received]), stays, strict=True):
            left[int.from_bytes(packet.data[:4], "big")].append((packet.data, packet.meta.mark, more))
        passes = refused = 0
        for number, (data, meta, steps) in self.plans.items():
            expected, begun = [], []
            for step, may in granted(len(data), steps):
                begun.append((number & 1, begun[-1][3] if begun else 0, len(self.plans[number][0]) + L.PASS_GROWTH, step.again))
                data += bytes(step.growth)
                if not step.dropped:
                    expected.append((data, step.mark, int(may)))
                passes, refused = passes + may, refused + (not may and step.again > 0)
            assert left[number] == expected, number
            assert self.pipeline.begun[number] == [one[:3] for one in begun], number
            assert self.pipeline.stamps[number] == {(meta.timestamp, meta.ingress_port)}
        assert (self.events["passes"], self.events["refused"]) == (passes, refused)


def granted(size: int, steps: list[Step]) -> Iterator[tuple[Step, bool]]:
    """The passes of a packet, each with whether another one follows."""
    begins, length = 0, size
    for step in steps:
        length += step.growth
        may = begins < step.again < UNITS and length <= size + L.PASS_GROWTH
        yield step, may
        if not may:
            return
        begins = step.again


def some_steps() -> list[Step]:
    """More than a packet can have, most of them upwards; nearly all packets stay small enough."""
    steps, unit = [], 0
    for _ in range(UNITS + 1):
        unit = random.choice([unit, random.randrange(16), *[min(unit + random.randrange(1, 3), 15)] * 6])
        again = unit if random.random() < 0.75 else 0
        growth = random.choice([0, 0, 2, 30])
        steps.append(Step(growth, again, random.random() < 0.2, random.getrandbits(32)))
    return steps


async def pass_packets(
    dut: Any, stalled: tuple[float, float, float, float], holds: int, sizes: list[int], count: int = 150
) -> Bench:
    bench = Bench(dut, stalled, holds)
    await start(dut)
    for number in range(count):
        bench.send(number, random.choice(sizes), some_steps())
    await bench.settle()
    bench.check()
    return bench


SIZES = [14, 60, 63, 64, 65, 128, 200, 700]


@cocotb.test()
async def packets_pass_as_often_as_they_may(dut):
    bench = await pass_packets(dut, (0.1, 0.1, 0.1, 0.1), 30, SIZES)
    assert min(bench.events.values()) > 20, bench.events


@cocotb.test()
async def nothing_is_lost_where_the_output_stalls(dut):
    await pass_packets(dut, (0.0, 0.0, 0.0, 0.8), 0, SIZES)


@cocotb.test()
async def nothing_is_lost_where_the_pipeline_stalls(dut):
    await pass_packets(dut, (0.0, 0.7, 0.5, 0.0), 90, SIZES)


@cocotb.test()
async def the_longest_packets_take_turns(dut):
    """Only one of them has room at a time."""
    await pass_packets(dut, (0.0, 0.1, 0.1, 0.1), 10, [L.MTU_BYTES, L.MTU_BYTES - 63, 60], 20)


@cocotb.test()
async def a_new_packet_waits_until_all_inside_have_room(dut):
    """None leaves: what enters is what fits, each with PASS_GROWTH, although nothing waits for a second pass yet."""
    bench = Bench(dut, (0.0, 0.0, 0.0, 1.0), 0)
    await start(dut)
    for number in range(200):
        bench.send(number, 64, [Step(0, 1, False, number), Step(0, 0, False, 0)])
    for _ in range(1000):
        await RisingEdge(dut.clk_i)
    assert len(bench.pipeline.enter.received) == FLITS // 2
    bench.sink.stall = stalls(0.0)
    await bench.settle()
    bench.check()


@cocotb.test()
async def is_empty_after_a_reset(dut):
    bench = Bench(dut, holds=20)
    await start(dut)
    for number in range(100):
        bench.send(number, random.choice(SIZES), some_steps())
    for _ in range(random.randrange(100, 400)):
        await RisingEdge(dut.clk_i)
    for task in (bench.source.task, bench.sink.task, bench.pipeline.enter.task, bench.pipeline.left.task, *bench.tasks):
        task.cancel()
    assert bench.events["ends"] < 100
    bench = Bench(dut, holds=20)
    dut.rst_i.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    for number in range(40):
        bench.send(number, random.choice([*SIZES, L.MTU_BYTES]), some_steps())
    await bench.settle()
    bench.check()
