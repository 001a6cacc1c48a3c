# SPDX-License-Identifier: Apache-2.0
"""el_pipeline with a stateful unit between two others does what its model does: port knocking on a capture, a program that changes
while its flows live, and a packet a cycle."""

from __future__ import annotations

import lzma
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import zip_longest

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import RisingEdge
from scapy.all import IP, TCP, UDP, Ether, Packet, rdpcap

from compiler.pipeline.actions import action
from compiler.pipeline.hash_function import KeyedHash
from compiler.pipeline.parser_program import ProgramError
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram
from compiler.pipeline.unit_image import NOTHING, UnitEntry, UnitProgram
from compiler.stateful.image import UnitSizes
from compiler.stateful.program import ProcessProgram, assembled
from elements.pipeline.test_el_pipeline import HEADERS, Element, key_of
from models.flow_place import FlowPlace
from models.pipeline import Pipeline, model_of
from models.stateful_unit import Flows
from testing.cocotb.channel import start
from toolchain import ROOT
from toolchain.simulate import simulate

UNIT, UNITS = 1, UnitSizes()
SIZES = {"Stages": 6, "Units": 3, "Writers": 6, "ExactEntries": 64, "TernaryEntries": 64}
CAPTURE = ROOT / "testing" / "captures" / "lane0.pcap.xz"
KNOCKING = ROOT / "compiler" / "stateful" / "programs" / "port_knocking.toml"
KNOCKS = (1111, 2222, 3333)
MACS = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")
Left = tuple[bytes, L.Meta]
SECRET = 0x0123456789ABCDEF0F1E2D3C4B5A6978
KEY = """
[containers.ip4_src]
first = 16
words = 2
[key]
fields = ["ip4_src"]
state = "{state}"
"""
COUNTING = """
next = 2
[containers]
ip4_src = { first = 16, words = 2 }
mark = { first = 42, words = 2 }
[flow]
seen = { word = 1 }
[key]
fields = ["ip4_src"]
[[entries]]
update = ["seen += 1"]
packet = ["mark = seen"]
"""


def test_el_pipeline_stateful() -> None:
    simulate("el_pipeline", __file__, {**SIZES, "Stateful": 1 << UNIT})


def knocking(port: int = 22, state: str = "clear") -> ProcessProgram:
    """Packets of hosts that knocked go to the last unit if they are for this port."""
    text = KNOCKING.read_text().replace('if = ["ssh"]', 'if = ["ssh"]\nnext = 2').replace('l4_dst == 22"', f'l4_dst == {port}"')
    return assembled(text + KEY.replace("{state}", state), "knocking")


def program(stateful: ProcessProgram) -> PipelineProgram:
    """IPv4 with ports goes to the stateful unit; what it lets pass, and all else, to the last one, which forwards."""
    first = []
    for protocol in (6, 17):
        selector, value, mask = key_of({"eth_type": (0x0800, 0xFFFF), "ip4_ttl": (protocol, 0xFF)}, ["eth_type", "ip4_ttl"])
        first.append(UnitEntry(value, mask, action(following=UNIT)))
    last = UnitProgram(L.UnitSelector(), (), action(verdict=L.VERDICT_FORWARD, ports=[1]))
    return PipelineProgram(HEADERS, (UnitProgram(selector, tuple(first), action(following=2)), NOTHING, last), (), {UNIT: stateful})


class Stateful(Element):
    """The element, with the flows of its unit."""

    def __init__(self, dut, source_stall: float = 0.1, sink_stall: float = 0.2) -> None:
        super().__init__(dut, source_stall, sink_stall, SIZES)
        self.image = PipelineImage.of(*SIZES.values(), stateful={UNIT: UNITS}, secret=SECRET)

    async def begin(self, first: PipelineProgram) -> None:
        await self.load(first, 0, first=True)
        for _ in range(UNITS.sets + 40):  # its flows are forgotten with a new secret
            await RisingEdge(self.dut.clk_i)

    def model(self, loaded: PipelineProgram, version: int, flows: Flows) -> Pipeline:
        return model_of(loaded, {UNIT: flows}, {UNIT: self.image.stateful[UNIT].epochs[version]})

    async def counted(self, register: int) -> int:
        return await self.registers.read(register + 4 * UNIT)


def no_flows() -> Flows:
    hashed = KeyedHash(16 * UNITS.key_words + L.FLOW_EPOCH_BITS, UNITS.sets, SECRET)
    return Flows(FlowPlace(UNITS.sets, UNITS.ways, lambda key: hashed.slots(key)[0]))


def knocks(sources: Sequence[str], draw: random.Random) -> Iterator[bytes]:
    """Some hosts knock as they should, some do not, and all go on."""
    waiting = [iter([*KNOCKS[: draw.choice([2, 3, 3])], 22, 22, 23, 80, 22]) for _ in sources]
    alive = list(range(len(sources)))
    while alive:
        host = draw.choice(alive)
        if (port := next(waiting[host], None)) is None:
            alive.remove(host)
            continue
        transport: Packet = draw.choice([TCP, UDP])(sport=1000, dport=port)
        yield bytes(MACS / IP(src=sources[host], dst="10.9.9.9") / transport)


def captured(count: int) -> list[bytes]:
    """The first packets of a real capture, as long as a frame."""
    packets = rdpcap(BytesIO(lzma.decompress(CAPTURE.read_bytes())), count=count)
    return [bytes(packet) for packet in packets if 14 <= len(packet) <= 1514]


def mixed(draw: random.Random, count: int) -> list[bytes]:
    """A capture; among its packets some of its hosts and of others knock."""
    taken = captured(count)
    sources = [*{packet[IP].src for packet in map(Ether, taken) if IP in packet}, *(f"192.0.2.{host}" for host in range(10))]
    packets = [*taken]
    at = 0
    for knock in knocks(sources, draw):
        at = min(len(packets), at + draw.randrange(3))
        packets.insert(at, knock)
        at += 1
    return packets


@cocotb.test()
async def knocks_on_a_capture(dut):
    draw = random.Random(random.getrandbits(32))
    element = Stateful(dut)
    dut.tick_i.value = tick = draw.getrandbits(32)
    await start(dut)
    loaded = program(knocking())
    await element.begin(loaded)
    packets = mixed(draw, 300)
    for data in packets:
        element.send(data, 0)
    await element.settle()
    flows = no_flows()
    model = element.model(loaded, 0, flows)
    expected = [left for data in packets for left in model.run(data, 0, tick)]
    found = element.left()
    assert found == expected
    packed = [Ether(data) for data, meta in found if meta.egress_mask]
    opened = [packet for packet in packed if IP in packet and packet[IP].dst == "10.9.9.9"]
    assert len(opened) > 10, "some hosts have knocked"
    seen = {IP in Ether(data) and Ether(data)[IP].src for data in packets if TCP in Ether(data) or UDP in Ether(data)}
    assert await element.counted(L.PIPELINE_REGISTERS_FLOWS_NEW) == len(flows.states) <= len(seen)
    looked_up, matched = [await element.counted(r) for r in (L.PIPELINE_REGISTERS_LOOKED_UP, L.PIPELINE_REGISTERS_MATCHED)]
    assert looked_up == matched + len(flows.states) > 100
    for register in (L.PIPELINE_REGISTERS_FLOWS_EVICTED, L.PIPELINE_REGISTERS_FLOWS_EXPIRED, L.PIPELINE_REGISTERS_FLOWS_ABSENT):
        assert await element.counted(register) == 0


@cocotb.test()
@cocotb.parametrize(state=["keep", "clear"])
async def a_program_takes_over_or_begins_anew_between_two_packets(dut, state):
    draw = random.Random(random.getrandbits(32))
    element = Stateful(dut)
    dut.tick_i.value = tick = draw.getrandbits(32)
    await start(dut)
    programs = [program(knocking()), program(knocking(23, state))]
    await element.begin(programs[0])
    sources = [f"10.0.0.{host}" for host in range(8)]
    sent = [data for _ in range(2) for data in knocks(sources, draw)]
    element.source.stall = lambda: draw.random() < 0.98  # the load takes longer than a few packets
    for data in sent:
        element.send(data, 0)
    while len(element.source.queue) > 3 * len(sent) // 4:
        await RisingEdge(dut.clk_i)
    await element.load(programs[1], 1)
    assert element.source.queue, "packets are left for the new program"
    element.source.stall = lambda: False
    await element.settle()
    found = element.left()
    assert any(took_over(element, programs, sent, at, tick, found) for at in range(1, len(sent)))


def took_over(
    element: Stateful, programs: Sequence[PipelineProgram], sent: Sequence[bytes], at: int, tick: int, found: Sequence[Left]
) -> bool:
    """Whether this is what leaves if the second program takes over in front of this packet."""
    flows = no_flows()
    old, new = element.model(programs[0], 0, flows), element.model(programs[1], 1, flows)
    expected = (left for number, data in enumerate(sent) for left in (old if number < at else new).run(data, 0, tick))
    return all(one == other for one, other in zip_longest(expected, found))  # ends at the first that differs


@cocotb.test()
async def takes_a_packet_a_cycle_and_of_one_flow_one_in_three_if_updates_do_not_compose(dut):
    element = Stateful(dut, 0, 0)
    dut.tick_i.value = 0
    await start(dut)
    waiting = COUNTING.replace("[[entries]]", '[conditions]\nmany = "seen > 1000"\n[[entries]]\nif = ["many"]\n[[entries]]')
    await element.begin(program(assembled(COUNTING, "counting")))
    for flows, cycles, text in ((600, 1, COUNTING), (1, 1, COUNTING), (1, 3, waiting)):
        if text == waiting:
            await element.load(program(assembled(waiting, "waiting")), 1)
            for _ in range(20):  # until packets get it
                await RisingEdge(dut.clk_i)
        packets = []
        for number in range(600):
            source = f"10.{flows % 256}.{number % flows // 256}.{number % flows % 256}"
            packets.append(bytes(MACS / IP(src=source, dst="10.9.9.9", len=46) / UDP(sport=1, dport=2)) + bytes(18))
        left = len(element.sink.received)
        for data in packets:
            element.send(data, 0)
        taken = 0
        while len(element.sink.received) < left + len(packets):
            await RisingEdge(dut.clk_i)
            taken += len(element.sink.received) > left
            if taken == 200:  # of a unit behind the one in which packets wait
                counters = cocotb.start_soon(element.counters(2, SIZES["ExactEntries"] + SIZES["TernaryEntries"]))
        assert cycles * 599 - 5 <= taken <= cycles * 599 + 60, (flows, taken)
        assert counters.done(), "counters are read although packets wait in front of their unit"
        marks = [meta.mark for _, meta in element.left()[left:]]
        assert marks == [number // flows + 1 for number in range(600)]


@cocotb.test()
async def refuses_places_that_a_stateful_unit_has_not(dut):
    element = Stateful(dut)
    await start(dut)
    places = {
        (L.UNIT_MEMORY_SELECTOR, UNIT, 1): True,
        (L.UNIT_MEMORY_PROCESS, UNIT, (L.PROCESS_MEMORY_COMPOSED + 1 << 11) - 1): True,
        (L.UNIT_MEMORY_PROCESS, UNIT, L.PROCESS_MEMORY_COMPOSED + 1 << 11): False,
        (L.UNIT_MEMORY_PROCESS, 0, 0): False,
        (L.UNIT_MEMORY_FLOWS, UNIT, 0): True,
        (L.UNIT_MEMORY_FLOWS, UNIT, 1): False,
        (L.UNIT_MEMORY_FLOWS, 2, 0): False,
        (L.UNIT_MEMORY_EXACT, UNIT, 0): False,
        (L.UNIT_MEMORY_TERNARY, UNIT, 0): False,
        (L.UNIT_MEMORY_ACTION, UNIT, 0): False,
        (L.UNIT_MEMORY_ACTION, 2, 0): True,
    }
    for (memory, unit, place), there in places.items():
        access = await element.registers.access(L.PIPELINE_REGISTERS_PLACE, memory << 20 | unit << 16 | place)
        assert bool(access.error) != there, (memory.name, unit, place)
    while (await element.registers.access(L.PIPELINE_REGISTERS_COUNTER_INDEX, 2 << 16)).error:
        await RisingEdge(dut.clk_i)  # counters are being cleared
    assert (await element.registers.access(L.PIPELINE_REGISTERS_COUNTER_INDEX, UNIT << 16)).error
    assert await element.registers.read(L.PIPELINE_REGISTERS_STATEFUL) == 1 << UNIT
    parts = [await element.registers.read(r) for r in (L.PIPELINE_REGISTERS_PROCESS_PARTS, L.PIPELINE_REGISTERS_FLOW_PARTS)]
    assert UnitSizes.read(*parts) == UNITS


def test_programs_without_a_place_are_refused_whole() -> None:
    image = PipelineImage.of(*SIZES.values(), stateful={UNIT: UNITS})
    stateful = knocking()
    for wanted, said in {
        "unit 0: a stateful program; hint: the stateful units of this pipeline: 1": {0: stateful},
        "unit 1: the program is made for .* hint: this unit has": {1: replace(stateful, sizes=replace(stateful.sizes, words=2))},
    }.items():
        with pytest.raises(ProgramError, match=wanted):
            image.with_program(replace(program(stateful), stateful=said), 0)
    units = (NOTHING, UnitProgram(L.UnitSelector(mask=1), (), action()))
    with pytest.raises(ProgramError, match="unit 1: it is a stateful one; hint: a stateful program"):
        image.with_program(PipelineProgram(HEADERS, units), 0)
