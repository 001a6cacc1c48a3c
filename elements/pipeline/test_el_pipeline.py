# SPDX-License-Identifier: Apache-2.0
"""el_pipeline does what its model does: a filter and a router on real headers, changed under traffic; each packet sees one program
whole, none is lost. And it takes a flit a cycle."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import replace

import cocotb
import sluice_layouts as L
from cocotb.triggers import RisingEdge

from compiler.pipeline.actions import Operation, action, set_words, splice
from compiler.pipeline.parser_program import read
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from elements.pipeline.test_default_parser import DEFAULT, PLACES, headers
from models.packet import from_flits, to_flits
from models.pipeline import model_of
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import Registers, check_window
from toolchain.simulate import simulate

SIZES = {"Stages": 6, "Units": 2, "Writers": 6, "ExactEntries": 64, "TernaryEntries": 64}
HEADERS = read(DEFAULT, SIZES["Stages"])
FILTER, ROUTER = 0, 1
PUSH, POP = 1, 2
TAGS = (splice(0, 6, inserted=[(0x8100, None), (0x2005, None)]), splice(0, 6, removed=2))


def test_el_pipeline() -> None:
    simulate("el_pipeline", __file__, SIZES)


def key_of(fields: dict[str, tuple[int, int]], names: list[str]) -> tuple[L.UnitSelector, int, int]:
    """The selector that has the containers of these names, first in the high bits, and value and mask of fields in its key."""
    containers = [at for name in names for at in PLACES[name]]
    containers += [0] * (L.UNIT_KEY_WORDS - len(containers))
    value = mask = 0
    for name, (number, cares) in fields.items():
        low = 16 * (L.UNIT_KEY_WORDS - 1 - containers.index(PLACES[name][-1]))
        value, mask = value | number << low, mask | cares << low
    return L.UnitSelector([*reversed(containers)], (1 << 128) - 1), value, mask


def filter_program(draw: random.Random) -> UnitProgram:
    """Drops some TCP, some UDP; the rest goes to the router."""
    names = ["ip4_src", "ip4_dst", "l4_src", "l4_dst", "ip4_ttl"]
    dropped = action(verdict=L.VERDICT_DROP)
    entries = []
    for protocol, port in draw.sample([(6, 80), (17, 5353), (6, 20), (17, 80)], 2):
        _, value, mask = key_of({"l4_dst": (port, 0xFFFF), "ip4_ttl": (protocol, 0xFF)}, names)
        entries.append(UnitEntry(value, mask, dropped))
    return UnitProgram(key_of({}, names)[0], tuple(entries), action(following=ROUTER))


def router_program(draw: random.Random, exact: bool) -> UnitProgram:
    """IPv4 by destination, by longest prefix or exactly: new MAC addresses, TTL, port, a tag pushed or removed. What has no route
    goes to the host."""
    entries = []
    for address, bits in [(0x0A010203, 32), (0x0A010000, 16)][: 1 if exact else 2]:
        selector, value, mask = key_of({"ip4_dst": (address, (1 << bits) - 1 << 32 - bits)}, ["ip4_dst"])
        operations = set_words(PLACES["eth_dst"], draw.getrandbits(48)) + set_words(PLACES["eth_src"], draw.getrandbits(48))
        operations.append(Operation(PLACES["ip4_ttl"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00))
        ports, tag = [draw.randrange(4)], draw.choice([PUSH, POP, *([0] if entries else [])])
        done = action(operations, verdict=L.VERDICT_FORWARD, ports=ports, queue=bits % 8, splice=tag)
        entries.append(UnitEntry(value, mask, done))
    mark = [Operation(PLACES["mark"][1], L.OPERATOR_SET, source=L.SOURCE_PORT)]
    cares = key_of({"ip4_dst": (0, 0xFFFFFFFF)}, ["ip4_dst"])[2]
    return UnitProgram(replace(selector, exact=int(exact), mask=cares), tuple(entries), action(mark, verdict=L.VERDICT_TO_HOST))


def some_program(draw: random.Random) -> PipelineProgram:
    return PipelineProgram(HEADERS, (filter_program(draw), router_program(draw, draw.random() < 0.5)), TAGS)


class Element:
    """The element, packets for it, and what leaves."""

    def __init__(self, dut, source_stall: float = 0.1, sink_stall: float = 0.2, sizes: Mapping[str, int] = SIZES) -> None:
        self.dut, self.registers = dut, Registers(dut)
        self.source, self.sink = Source(dut, "in", stalls(source_stall)), Sink(dut, "out", stalls(sink_stall))
        self.image = PipelineImage.of(*(sizes[name] for name in SIZES))

    async def load(self, program: PipelineProgram, version: int, first: bool = False) -> None:
        """Loads the program as this version, and has packets use it."""
        while await self.registers.read(L.PIPELINE_REGISTERS_DRAINING):
            pass
        before, self.image = self.image, self.image.with_program(program, version)
        for address, word in accesses(self.image.writes(None if first else before), self.image.stateful):
            await self.registers.write(address, word)
        await self.registers.write(L.PIPELINE_REGISTERS_VERSION, version)

    async def counters(self, unit: int, action_number: int) -> L.RuleCounters:
        await self.registers.write(L.PIPELINE_REGISTERS_COUNTER_INDEX, unit << 16 | action_number)
        words = [await self.registers.read(L.PIPELINE_REGISTERS_COUNTER_DATA + 4 * word) for word in range(4)]
        return L.RuleCounters.from_int(sum(word << 32 * at for at, word in enumerate(words)))

    def send(self, data: bytes, port: int) -> None:
        self.source.send(*(flit.to_int() for flit in to_flits(data, L.Meta(ingress_port=port, length=len(data)))))

    def left(self) -> list[tuple[bytes, L.Meta]]:
        return [(packet.data, packet.meta) for packet in from_flits([L.Flit.from_int(word) for word in self.sink.received])]

    async def settle(self) -> None:
        """Wait until nothing has left for longer than a packet takes."""
        await self.source.drained()
        count = -1
        while count != len(self.sink.received):
            count = len(self.sink.received)
            for _ in range(600):
                await RisingEdge(self.dut.clk_i)


class Traffic:
    """Random ones of these packets, without end until `on` is False."""

    def __init__(self, element: Element, packets: list[tuple[bytes, int]]) -> None:
        self.element, self.packets, self.on = element, packets, True
        self.sent: list[tuple[bytes, int]] = []
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while self.on:
            if len(self.element.source.queue) < 20:
                self.sent.append(self.choose())
                self.element.send(*self.sent[-1])
            await RisingEdge(self.element.dut.clk_i)

    def choose(self) -> tuple[bytes, int]:
        return random.choice(self.packets)


def took_over(programs: list[PipelineProgram], sent: list[tuple[bytes, int]], found: list[tuple[bytes, L.Meta]]) -> None:
    """What left is what the first program makes of the packets up to one of them, and the second of the rest."""
    old, new = ([model_of(program).run(data, port) for data, port in sent] for program in programs)
    whole = [[left for packet in (*old[:at], *new[at:]) for left in packet] for at in range(1, len(old))]
    assert found in whole, "no moment at which one program took over from the other"
    assert found not in ([left for packet in by for left in packet] for by in (old, new))


@cocotb.test()
async def packets_see_the_old_or_the_new_program_and_none_is_lost(dut):
    draw = random.Random(random.getrandbits(32))
    element = Element(dut)
    await start(dut)
    packets = [(data, port) for port in (0, 3) for data, _ in headers(draw)]
    programs, spliced = [some_program(draw)], 0
    await element.load(programs[0], 0, first=True)
    for turn in range(1, 4):
        traffic = Traffic(element, packets)
        for _ in range(100):
            await RisingEdge(dut.clk_i)
        programs.append(some_program(draw))
        await element.load(programs[-1], turn % 2)
        for _ in range(300):
            await RisingEdge(dut.clk_i)
        traffic.on = False
        await element.settle()
        found, element.sink.received = element.left(), deque()
        took_over(programs[-2:], traffic.sent, found)
        spliced += sum(len(data) not in {len(sent) for sent, _ in packets} for data, _ in found)
    assert spliced
    for name, address in (("dropped", L.PIPELINE_REGISTERS_DROPPED), ("faults", L.PIPELINE_REGISTERS_FAULTS)):
        assert await element.registers.read(address) > 0, name
    assert await element.registers.read(L.PIPELINE_REGISTERS_LOOKED_UP) > await element.registers.read(
        L.PIPELINE_REGISTERS_LOOKED_UP + 4
    )


@cocotb.test()
async def takes_a_flit_a_cycle(dut):
    element = Element(dut, 0, 0)
    await start(dut)
    await element.load(PipelineProgram(HEADERS, ()), 0, first=True)
    for size in (60, 64, 65, 1500):
        packets = [bytes(14) + random.randbytes(size - 14) for _ in range(3000 // size + 300)]
        for data in packets:
            element.send(data, 0)
        flits = len(element.source.queue)
        while dut.in_valid_i.value == 0:
            await RisingEdge(dut.clk_i)
        cycles, counters = 0, None
        while element.source.queue:
            if cycles == 150:  # the first packets have reached the units
                counters = cocotb.start_soon(element.counters(0, SIZES["ExactEntries"] + SIZES["TernaryEntries"]))
            await RisingEdge(dut.clk_i)
            cycles += 1
        assert flits - 2 <= cycles <= flits + 8, (size, flits, cycles)
        assert counters and counters.done(), "counters are read although a unit looks up in every cycle"
        await element.settle()
        assert [data for data, _ in element.left()] == packets
        element.sink.received = deque()


def counted(
    program: PipelineProgram, image: PipelineImage, version: int, sent: list[tuple[bytes, int]]
) -> Counter[tuple[int, int]]:
    """Bytes of each packet that a unit looks up, below a packet's 2**48: by unit and number of the action."""
    counts: Counter[tuple[int, int]] = Counter()
    for data, port in sent:
        for unit, entry, length in model_of(program).lookups(data, port):
            found = None if entry is None else program.units[unit].entries[entry]
            counts[unit, image.units[unit].action_of(found, version)] += 1 << 48 | length
    return counts


@cocotb.test()
async def counts_what_every_entry_does(dut):
    draw = random.Random(random.getrandbits(32))
    element = Element(dut, 0, 0)
    dut.tick_i.value = tick = draw.getrandbits(32)
    await start(dut)
    packets = [(data, port) for port in (0, 3) for data, _ in headers(draw)]
    expected: Counter[tuple[int, int]] = Counter()
    matched = [0, 0]
    router = router_program(draw, draw.random() < 0.5)
    for turn in range(4):
        version = turn % 2
        program = PipelineProgram(HEADERS, (filter_program(draw), router if turn < 3 else router_program(draw, True)))
        await element.load(program, version, first=not turn)
        while await element.registers.read(L.PIPELINE_REGISTERS_DRAINING):  # the version changes some cycles later
            pass
        for unit, image in enumerate(element.image.units):
            for number in image.added:
                del expected[unit, number]
        traffic = Traffic(element, packets)
        while len(traffic.sent) < 400:  # a read under traffic gives counters of one moment
            words = await element.counters(1, SIZES["ExactEntries"] + SIZES["TernaryEntries"] + version)
            assert words.bytes >= 14 * words.packets
        traffic.on = False
        await element.settle()
        new = counted(program, element.image, version, traffic.sent)
        expected += new
        for unit in range(SIZES["Units"]):
            matched[unit] += sum(n >> 48 for (u, number), n in new.items() if u == unit and number < 128)
            assert await element.registers.read(L.PIPELINE_REGISTERS_MATCHED + 4 * unit) == matched[unit]
            for number in element.image.units[unit].action_numbers():
                found = await element.counters(unit, number)
                assert found.packets << 48 | found.bytes == expected[unit, number], (turn, unit, number)
                assert not new[unit, number] or found.last_hit == tick, "the last hit is of this turn"
        assert len(new) > 2
        dut.tick_i.value = tick = draw.getrandbits(32)
    assert len(+expected) > 5


@cocotb.test()
async def refuses_what_has_no_place(dut):
    element = Element(dut)
    await start(dut)
    await check_window(element.registers.access, L.PIPELINE_REGISTERS, values={"counter_index": [1 << 16 | 5]}, live=("version",))
    sizes = SIZES
    last = {
        L.PARSER_MEMORY_MATCH: (sizes["Stages"], 256),
        L.PARSER_MEMORY_STEP: (sizes["Stages"], 64),
        L.PARSER_MEMORY_START: (16, 2),
        L.DEPARSER_MEMORY_ROW: (sizes["Writers"], 16),
        L.DEPARSER_MEMORY_BASE: (sizes["Writers"], 2),
        L.DEPARSER_MEMORY_CHECKSUM_ROW: (2, 16),
        L.DEPARSER_MEMORY_CHECKSUM_BASE: (2, 2),
        L.DEPARSER_MEMORY_SPLICE: (16, 32),
        L.UNIT_MEMORY_SELECTOR: (sizes["Units"], 2),
        L.UNIT_MEMORY_EXACT: (sizes["Units"], 16),
        L.UNIT_MEMORY_TERNARY: (sizes["Units"], 256),
        L.UNIT_MEMORY_ACTION: (sizes["Units"], 130),
    }
    for memory, (units, places) in last.items():
        for unit, place, there in ((0, places - 1, True), (units - 1, 0, True), (0, places, False), (units, 0, units > 15)):
            if unit < 16:
                access = await element.registers.access(L.PIPELINE_REGISTERS_PLACE, memory << 20 | unit << 16 | place)
                assert bool(access.error) != there, (memory.name, unit, place)
    for index, there in ((1 << 16 | 129, True), (130, False), (2 << 16, False), (1 << 20, False)):
        assert bool((await element.registers.access(L.PIPELINE_REGISTERS_COUNTER_INDEX, index)).error) != there, index
    for word in (12 << 20, 15 << 20, 1 << 24):
        assert (await element.registers.access(L.PIPELINE_REGISTERS_PLACE, word)).error
    await element.load(PipelineProgram(HEADERS, ()), 0, first=True)
    for data, _ in list(headers(random.Random(1)))[:60]:
        element.send(data, 0)
    for _ in range(60):
        await RisingEdge(dut.clk_i)
    await element.registers.write(L.PIPELINE_REGISTERS_VERSION, 1)
    assert await element.registers.read(L.PIPELINE_REGISTERS_DRAINING) > 0
    assert (await element.registers.access(L.PIPELINE_REGISTERS_VERSION, 0)).error
    await element.registers.write(L.PIPELINE_REGISTERS_VERSION, 1)
    await element.settle()
    assert await element.registers.read(L.PIPELINE_REGISTERS_DRAINING) == 0
    assert len(element.left()) == 60
