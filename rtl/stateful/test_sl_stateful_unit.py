# SPDX-License-Identifier: Apache-2.0
"""sl_stateful_unit does what its model does, whatever its memories hold, and takes a packet a cycle, of one flow one in three."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import FallingEdge, RisingEdge

from compiler.pipeline.hash_function import KeyedHash
from compiler.stateful.program import BlockSizes, assembled
from models.flow_place import FlowPlace
from models.stateful import VERSION_SHIFT, Process, Sizes
from models.stateful_unit import Flows, StatefulUnit
from rtl.stateful.test_sl_process import addresses, some_content, some_packet
from testing.cocotb.channel import start
from testing.slow import first
from toolchain import ROOT
from toolchain.simulate import SimulationError, simulate

NUMBER, INSIDE, LOOP, ACTIONS = 3, 64, 3, 4
KEY_WORDS, SETS, WAYS = 2, 8, 2
BLOCK = {"inputs": 4, "conditions": 4, "words": 3, "updates": 3, "entries": 8, "actions": 2}
PARAMETERS = {"Number": NUMBER, "Inside": INSIDE, "KeyWords": KEY_WORDS, "Sets": SETS, "Ways": WAYS}
PARAMETERS |= {part.capitalize(): size for part, size in BLOCK.items()}
COUNTER = """
[containers]
flow = { first = 0 }
count = { first = 38, words = 2 }
[flow]
seen = { word = 1 }
[key]
fields = ["flow"]
[[entries]]
update = ["seen += 1"]
packet = ["count = seen"]
"""
FAULT = [L.FAULT_NONE] * 9 + [L.FAULT_CHAIN]


def test_stateful_unit() -> None:
    simulate("sl_stateful_unit", __file__, PARAMETERS)


BROKEN = [
    ("sl_stateful_core", "issued.fresh ? '0 : forward", "forward"),
    ("sl_schedule_core", "valid[Done-1] && keeps[Done-1]", "valid[Done-1]"),
    ("sl_stateful_flow", "{choice_2_q.epoch,", "{8'd0,"),
]


@pytest.mark.parametrize(("module", "text", "broken"), first(1, BROKEN))
def test_finds_a_broken_part(module: str, text: str, broken: str, tmp_path: Path) -> None:
    source = next((ROOT / "rtl").glob(f"*/{module}.sv")).read_text()
    assert source.count(text) == 1
    changed = tmp_path / f"{module}.sv"
    changed.write_text(source.replace(text, broken))
    with pytest.raises(SimulationError):
        simulate("sl_stateful_unit", __file__, PARAMETERS, flags=("-y", str(tmp_path)), extra_sources=[changed])


class Bench:
    """The unit; what is sent, and what the model makes of it."""

    def __init__(self, dut) -> None:
        self.dut, self.sizes = dut, Sizes(**BLOCK)
        self.memories: dict[tuple[int, int], int] = {}
        self.settings = L.FlowSettings(random.getrandbits(128), 0, 1, 0)
        self.flows = Flows(FlowPlace(SETS, WAYS, lambda key: 0), KEY_WORDS)
        self.selectors = [L.FlowSelector(), L.FlowSelector()]
        self.queue: deque[L.PipelinePhv] = deque()
        self.expected: deque[L.PipelinePhv] = deque()
        self.events: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.left: list[tuple[int, L.PipelinePhv]] = []  # with the cycle
        self.compares, self.differs = True, 0
        self.pauses, self.paused = 0.0, deque([0] * ACTIONS, ACTIONS)
        self.gaps, self.tick, self.step, self.cycle = 0.1, random.getrandbits(32), 0.0, 0
        for name in ("valid_i", "phv_i", "tick_i", "pause_i", "write_valid_i", "write_i"):
            getattr(dut, name).value = 0
        cocotb.start_soon(self._run())

    async def write(self, memory: int, address: int, data: int, unit: int = NUMBER) -> None:
        self.dut.write_i.value, self.dut.write_valid_i.value = L.PipelineWrite(data, address, unit, memory).to_int(), 1
        await RisingEdge(self.dut.clk_i)
        self.dut.write_valid_i.value = 0
        self.dut.write_i.value = random.getrandbits(L.PipelineWrite.BITS)

    async def write_process(self, memory: int, address: int, data: int) -> None:
        self.memories[memory, address] = data
        await self.write(L.UNIT_MEMORY_PROCESS, memory << 11 | address, data)

    async def select(self, version: int, selector: L.FlowSelector) -> None:
        self.selectors[version] = selector
        await self.write(L.UNIT_MEMORY_SELECTOR, version, selector.to_int())

    async def set(self, settings: L.FlowSettings) -> None:
        """The table is empty after a flush or with a new secret; nothing is sent until then."""
        forgets = settings.flush or settings.secret != self.settings.secret
        self.settings = settings
        await self.write(L.UNIT_MEMORY_FLOWS, 0, settings.to_int())
        table, hashed = self.flows.table, KeyedHash(16 * KEY_WORDS + L.FLOW_EPOCH_BITS, SETS, settings.secret)
        table.set_of, table.timeout, table.evict = lambda key: hashed.slots(key)[0], settings.timeout, bool(settings.evict)
        if forgets:
            table.clear()
        await self.cycles(SETS + 40)

    async def begin(self) -> None:
        """After reset."""
        for number in range(2 * L.PROCESS_SHARED_WORDS):
            self.flows.shared[number] = random.getrandbits(64)
            await self.write_process(L.PROCESS_MEMORY_SHARED, number, self.flows.shared[number])
        self.flows.table.clear()
        await self.set(self.settings)

    async def load(self, text: str, version: int, epoch: int = 0) -> None:
        program = assembled(text, "test", BlockSizes(**BLOCK))
        for write in program.writes(version):
            await self.write_process(write.memory, write.address, write.data)
        await self.select(version, program.key.selector.replace(epoch=epoch))
        await self.cycles(4)

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk_i)

    async def send(self, packets: Iterable[L.PipelinePhv]) -> list[tuple[int, L.PipelinePhv]]:
        """What leaves."""
        self.queue.extend(packets)
        waited = 0
        while self.queue or self.expected:
            await RisingEdge(self.dut.clk_i)
            waited += 1
            assert waited < 20000, f"{len(self.expected)} packets do not leave"
        await self.cycles(2)
        assert self.told == self.events
        left, self.left = self.left, []
        return left

    def model(self, phv: L.PipelinePhv) -> L.PipelinePhv:
        if phv.next != NUMBER or phv.parsed.fault:
            return phv
        unit = StatefulUnit(self.selectors[phv.parsed.version], Process(self.memories, self.sizes), self.flows)
        out, place = unit.run(phv, self.tick)
        made = {"found": place.found, "made": place.new, "evicted": place.evicted, "expired": place.expired}
        self.events.update(["looked_up", *(name for name, happened in made.items() if happened)])
        return out

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            self.cycle += 1
            self._compare()
            await RisingEdge(dut.clk_i)
            self.tick = (self.tick + int(random.random() < self.step)) % 2**32
            dut.tick_i.value, dut.valid_i.value = self.tick, 0
            dut.pause_i.value = int(random.random() < self.pauses)
            dut.phv_i.value = random.getrandbits(L.PipelinePhv.BITS)
            if self.queue and len(self.expected) < INSIDE and random.random() >= self.gaps:
                phv = self.queue.popleft()
                dut.valid_i.value, dut.phv_i.value = 1, phv.to_int()
                self.expected.append(self.model(phv))

    def _compare(self) -> None:
        if self.dut.rst_i.value == 1:
            return
        event = self.dut.event_o.value
        names = ("looked_up", "found", "made", "evicted", "expired")
        if event.is_resolvable:
            self.told.update(name for at, name in enumerate(names) if int(event) >> 4 - at & 1)
        pause = self.paused[0]
        self.paused.append(int(self.dut.pause_i.value))
        assert not pause or self.dut.valid_o.value == 0, "no packet leaves because of a pause"
        if self.dut.valid_o.value == 1:
            found = L.PipelinePhv.from_int(int(self.dut.phv_o.value))
            assert self.expected, "a packet that nobody sent"
            matches = found == self.expected.popleft()
            self.differs += not matches
            assert matches or not self.compares
            self.left.append((self.cycle, found))

    async def reset(self) -> None:
        self.dut.rst_i.value = 1
        await self.cycles(3)
        self.queue.clear()
        self.expected.clear()
        self.events.clear()
        self.told.clear()
        self.left.clear()
        self.dut.rst_i.value = 0
        await self.cycles(1)


def packet(flow: int, version: int = 0, following: int = NUMBER) -> L.PipelinePhv:
    containers = [flow, *(random.getrandbits(16) for _ in range(L.PIPELINE_CONTAINERS - 1))]
    return L.PipelinePhv(L.Parsed(containers, version=version, length=random.randrange(60, 1500)), next=following)


def counts(left: list[tuple[int, L.PipelinePhv]]) -> list[tuple[int, int]]:
    """Flow and number of each packet."""
    containers = [phv.parsed.containers for _, phv in left]
    return [(words[0], words[38] << 16 | words[39]) for words in containers]


def some_selector() -> L.FlowSelector:
    words = [random.choice([0, 1, 2, L.SOURCE_PORT, 63]) for _ in range(L.FLOW_KEY_WORDS)]
    mask = random.choice([0x000F000F, 0xFFFF0003, 3]) | random.getrandbits(256) << 32
    insert = random.choice([(63, 0xFFFF), (63, 0xFFFF), (63, 0), (4, 0x0101), (L.SOURCE_LENGTH, 1)])
    return L.FlowSelector(words, mask & (1 << 256) - 1, random.randrange(2), *insert)


def any_packet(versions: list[int]) -> L.PipelinePhv:
    phv = some_packet(random.choice(versions)).phv
    phv.parsed.containers[:2] = random.randrange(12), random.choice([0, 1, 0xFFFF])
    phv.parsed.fault = random.choice(FAULT)
    return phv.replace(next=random.choice([NUMBER] * 6 + [0, NUMBER + 1, L.UNIT_END]))


@cocotb.test()
async def does_what_its_memories_say(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.begin()
    for turn in range(24):
        version = turn % 2
        for memory, address in addresses(bench.sizes):
            await bench.write_process(memory, version << VERSION_SHIFT | address, some_content(memory))
        waits = random.getrandbits(L.ProcessComposed.BITS) & ~L.ProcessComposed(composed=1).to_int()
        await bench.write_process(L.PROCESS_MEMORY_COMPOSED, version << VERSION_SHIFT, waits)
        await bench.select(version, some_selector())
        await bench.cycles(4)
        if turn % 3 == 2:
            timeout, evict, flush = (0, 12, 40)[turn // 3 % 3], turn % 2, random.getrandbits(1)
            secret = random.choice([bench.settings.secret, random.getrandbits(128)])
            await bench.set(L.FlowSettings(secret, timeout, evict, flush))
        bench.gaps, bench.step, bench.pauses = random.choice([0, 0.1, 0.6]), random.choice([0, 0.3, 1]), random.choice([0, 0.2])
        await bench.send(any_packet([0, 1] if turn else [0]) for _ in range(300))
    total = bench.events
    absent = total["looked_up"] - total["found"] - total["made"]
    assert min(total["found"], absent) > 200 and min(total["made"], total["evicted"], total["expired"]) > 10, (total, absent)


@cocotb.test()
async def takes_new_flows_and_others_a_cycle_and_one_flow_every_three(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.begin()
    await bench.load(COUNTER, 0)
    bench.gaps = 0
    for flows, cycles in (
        (list(range(400)), 1),  # all new; the table is full, so each evicts another
        ([7] * 100, 1),
        ([n % 8 for n in range(400)], 1),
    ):
        left = await bench.send(packet(flow) for flow in flows)
        taken = left[-1][0] - left[0][0]
        assert cycles * (len(flows) - 1) <= taken <= cycles * (len(flows) - 1) + 24, (flows[:3], taken)
    left = await bench.send(packet(1, following=0) for _ in range(100))
    assert left[-1][0] - left[0][0] == 99, "packets of others wait for nobody"
    await bench.load(COUNTER.replace("[key]", "[key]\ninsert = false"), 1)
    left = await bench.send(packet(0x7777, 1) for _ in range(100))
    assert left[-1][0] - left[0][0] <= 99 + 24 and {number for _, number in counts(left)} == {1}, (
        "packets without a flow do not wait"
    )


@cocotb.test()
async def keeps_or_clears_flows_when_the_program_changes(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.begin()
    await bench.load(COUNTER, 0, epoch=5)
    assert counts(await bench.send(packet(1) for _ in range(3))) == [(1, 1), (1, 2), (1, 3)]
    await bench.load(COUNTER.replace("seen += 1", "seen += 16"), 1, epoch=5)
    bench.gaps = 0
    mixed = [*(packet(1) for _ in range(2)), *(packet(1, 1) for _ in range(2)), packet(1)]
    assert [number for _, number in counts(await bench.send(mixed))] == [4, 5, 21, 37, 38], "one state, whichever program"
    await bench.load(COUNTER, 1, epoch=6)
    mixed = [packet(1), packet(1, 1), packet(1), packet(1, 1)]
    assert [number for _, number in counts(await bench.send(mixed))] == [39, 1, 40, 2], "each program has its own"


@cocotb.test()
async def forgets_packets_and_flows_at_reset(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.begin()
    await bench.load(COUNTER, 0)
    for _ in range(5):
        bench.queue.extend(packet(random.randrange(3)) for _ in range(200))
        await bench.cycles(random.randrange(20, 100))
        await bench.reset()
        bench.flows.table.clear()
        await bench.set(bench.settings)
        assert counts(await bench.send(packet(flow) for flow in (0, 1, 0, 2))) == [(0, 1), (1, 1), (0, 2), (2, 1)]


@cocotb.test()
async def a_set_of_chosen_keys_evicts_only_its_own(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.begin()
    await bench.load(COUNTER, 0)
    hashed = KeyedHash(16 * KEY_WORDS + L.FLOW_EPOCH_BITS, SETS, bench.settings.secret)
    mine, others = [], []
    for flow in range(1, 400):
        (mine if hashed.slots(flow)[0] == 3 else others).append(flow)
    kept = [next(flow for flow in others if hashed.slots(flow)[0] == wanted) for wanted in range(SETS) if wanted != 3]
    await bench.send(packet(flow) for flow in kept)
    bench.gaps = 0
    left = await bench.send(packet(random.choice(mine)) for _ in range(500))
    assert left[-1][0] - left[0][0] < 1.7 * 500, "a storm on one set costs little"
    assert counts(await bench.send(packet(flow) for flow in kept)) == [(flow, 2) for flow in kept]
