# SPDX-License-Identifier: Apache-2.0
"""Stateful units of the functional device beside `models/pipeline.py`: the programs of compiler/stateful, loaded as any others, and
memories full of random bits between random stateless units. What leaves, its metadata and order must be equal, and what the units
counted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP, TCP, UDP

from compiler.pipeline.actions import Operation, action
from compiler.pipeline.hash_function import KeyedHash
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram
from compiler.pipeline.unit_image import NOTHING, UnitProgram
from compiler.stateful.flow_key import flow_key
from compiler.stateful.places import container
from compiler.stateful.program import ProcessProgram, read
from elements.pipeline.test_default_parser import PLACES
from host.functional.test_functional_pipeline import HEADERS, LANES, LINK, SIZE, TURNS, draw_anew, expected, found, some_packets
from host.functional.test_functional_stateful import kinds_of, some_selector
from host.python.device import Device
from host.python.pipeline import Overlay
from models.flow_place import FlowPlace
from models.pipeline import Pipeline, Unit, model_of
from models.stateful import VERSION_SHIFT, Process
from models.stateful_unit import Flows, StatefulUnit
from rtl.pipeline import test_sl_unit as units
from rtl.stateful.test_sl_process import addresses, some_content
from toolchain import ROOT

PROGRAMS = ROOT / "compiler" / "stateful" / "programs"
WINDOW, SETS, WAYS = L.WINDOW_SIZE, 16, 4
DATA_WORDS = L.PIPELINE_REGISTERS_DATA_COUNT
SHARED = {"flowlet": {L.PROCESS_SHARED_WORDS: 500}, "heavy_hitter": {L.PROCESS_SHARED_WORDS: 4000}}
KEYS = {"port_knocking": ["host"], "retransmissions": ["host", "l4_src"], "flowlet": ["host", "l4_src"], "heavy_hitter": ["host"]}
COUNTED = {
    "looked up": L.PIPELINE_REGISTERS_LOOKED_UP,
    "absent": L.PIPELINE_REGISTERS_FLOWS_ABSENT,
    "found": L.PIPELINE_REGISTERS_MATCHED,
    "new": L.PIPELINE_REGISTERS_FLOWS_NEW,
    "evicted": L.PIPELINE_REGISTERS_FLOWS_EVICTED,
    "expired": L.PIPELINE_REGISTERS_FLOWS_EXPIRED,
}


@dataclass
class Loaded:
    """A program of a stateful unit: its words by memory and address without the version, its selector, the settings of the unit."""

    memories: dict[tuple[int, int], int]
    shared: Sequence[int]
    selector: L.FlowSelector
    settings: L.FlowSettings


class Counting(StatefulUnit):
    """The model of a unit, which counts as the unit does."""

    def run(self, phv: L.PipelinePhv, tick: int) -> tuple[L.PipelinePhv, object]:  # type: ignore[override]
        after, placement = super().run(phv, tick)
        SEEN.update(["looked up", *kinds_of(placement)])
        return after, placement


SEEN = Counter[str]()


def hash_of(secret: int) -> Callable[[int], int]:
    twin = KeyedHash(16 * L.FLOW_KEY_WORDS + L.FLOW_EPOCH_BITS, SETS, secret)
    return lambda key: twin.slots(key)[0]


class Memories:
    """Devices, all alike, whose stateful units get any words, and their flows as the model has them."""

    def __init__(self, devices: Sequence[Device], count: int) -> None:
        self.devices, self.count, self.version = devices, count, 0
        self.data: dict[int, int] = {}  # what stands in the registers
        self.flows = {number: Flows(FlowPlace(SETS, WAYS, lambda key: 0)) for number in range(count)}
        self.secrets = dict.fromkeys(range(count), 0)

    def load(self, stateless: Sequence[UnitProgram], stateful: dict[int, Loaded]) -> Pipeline:
        """Loads both, and gives the model."""
        self.version = 1 - self.version
        program = PipelineProgram(HEADERS, tuple(stateless))
        sizes = (L.PARSER_STAGES, self.count, L.DEPARSER_WRITERS, L.PIPELINE_EXACT_ENTRIES, L.PIPELINE_TERNARY_ENTRIES)
        for write in PipelineImage.of(*sizes).with_program(program, self.version).writes():
            if write.memory < L.UNIT_MEMORY_SELECTOR or write.unit not in stateful:
                self.write(write)
        modeled: list[Unit | StatefulUnit] = list(model_of(program).units)
        for number, unit in stateful.items():
            modeled[number] = self.load_unit(number, unit)
        for device in self.devices:
            device.write(WINDOW + L.PIPELINE_REGISTERS_VERSION, self.version)
        return replace(model_of(program), units=modeled)

    def load_unit(self, number: int, unit: Loaded) -> StatefulUnit:
        def write(memory: int, address: int, data: int) -> None:
            self.write(L.PipelineWrite(data, address, number, memory))

        write(L.UNIT_MEMORY_SELECTOR, self.version, unit.selector.to_int())
        write(L.UNIT_MEMORY_FLOWS, 0, unit.settings.to_int())
        for at, word in enumerate(unit.shared):
            write(L.UNIT_MEMORY_PROCESS, L.PROCESS_MEMORY_SHARED << 11 | at, word)
        for (memory, address), data in unit.memories.items():
            write(L.UNIT_MEMORY_PROCESS, memory << 11 | self.version << VERSION_SHIFT | address, data)
        table, settings = self.flows[number].table, unit.settings
        table.timeout, table.evict, table.set_of = settings.timeout, bool(settings.evict), hash_of(settings.secret)
        if settings.flush or settings.secret != self.secrets[number]:
            table.clear()
        self.secrets[number] = settings.secret
        self.flows[number].shared = [*unit.shared]
        return Counting(unit.selector, Process(unit.memories), self.flows[number])

    def write(self, write: L.PipelineWrite) -> None:
        words = {L.PIPELINE_REGISTERS_DATA + 4 * at: write.data >> 32 * at & 0xFFFFFFFF for at in range(DATA_WORDS)}
        changed = {at: word for at, word in words.items() if self.data.get(at) != word}
        self.data |= changed
        changed[L.PIPELINE_REGISTERS_PLACE] = write.memory << 20 | write.unit << 16 | write.address
        for device in self.devices:
            device.write_all((WINDOW + at, word) for at, word in changed.items())


def compare(device: Device, model: Pipeline, packets: list[bytes], port: int, tick: int, seen: Counter[str]) -> None:
    device.write(L.SHELL_REGISTERS_TICK, tick)
    assert found(device, port, packets) == expected(model, port, packets, seen, tick)


def compare_counters(device: Device, stateful: Sequence[int]) -> None:
    for name, register in COUNTED.items():
        assert sum(device.read(WINDOW + register + 4 * unit) for unit in stateful) == SEEN[name], name


@contextmanager
def opened(count: int, stateful: int) -> Iterator[Device]:
    options = f"stateful_units={stateful},flow_sets={SETS}"
    with Device({**SIZE, "pipeline_units": count}, transport="functional", options=options) as device:
        device.call("sluice_device_set_lossless", 1)
        device.write(L.SHELL_REGISTERS_TICK_SOURCE, 0)
        SEEN.clear()
        yield device


def some_settings(secret: int) -> L.FlowSettings:
    """Often the same secret as before."""
    secrets = [secret, secret, secret, random.getrandbits(128)]
    return L.FlowSettings(random.choice(secrets), random.choice([0, 0, 2000, 50_000]), random.choice([0, 1, 1]), 0)


def keyed(name: str, state: str) -> ProcessProgram:
    """A program of compiler/stateful, with a key for packets of the default parser."""
    program = read(PROGRAMS / f"{name}.toml")
    fields = {"host": container({"first": PLACES["ip4_src"][0], "words": 2}), "l4_src": container({"first": PLACES["l4_src"][0]})}
    return replace(program, key=flow_key({"fields": KEYS[name], "timeout": 20_000, "state": state}, fields))


def model_in(overlay: Overlay, program: PipelineProgram, flows: Flows) -> Pipeline:
    """The model of a program that was loaded, whose unit 1 is a stateful one."""
    image = overlay.image.stateful[1]
    model = model_of(program, {1: flows}, {1: image.epochs[overlay.read(L.PIPELINE_REGISTERS_VERSION)]})
    unit = model.units[1]
    assert isinstance(unit, StatefulUnit)
    return replace(model, units=[model.units[0], Counting(unit.selector, unit.process, unit.flows)])


def flow_packets(count: int) -> list[bytes]:
    """Of a few flows, in which hosts knock, mostly in the right order: new and old sequence numbers, short and long packets."""
    packets = []
    for _ in range(count // 5):
        ip = IP(src=f"10.0.0.{random.randrange(1, 7)}", dst="10.1.0.1")
        for knock in (1111, 2222, 3333, 22, 22):
            port = knock if random.random() < 0.9 else random.choice([1111, 2222, 22, 80])
            tcp = TCP(sport=random.randrange(1000, 1003), dport=port, seq=random.choice([5, 9, 1 << 31, random.getrandbits(32)]))
            layer = tcp if random.random() < 0.9 else UDP(sport=1, dport=port)
            packets.append(bytes(LINK / ip / layer / bytes(random.choice([0, 20, 1200]))))
    return packets


@pytest.mark.fuzz
@pytest.mark.parametrize("name", KEYS)
def test_the_programs_do_what_the_model_does(name: str) -> None:
    """Unit 0 gives unit 1 the choice of a path. The program is loaded again and again, and keeps its flows or begins anew. In the
    middle the device is reset, and gets back what it had but for the flows."""
    draw_anew()
    choice = Operation(PLACES["metadata"][0], L.OPERATOR_ADD, source=PLACES["l4_dst"][0])
    first = UnitProgram(L.UnitSelector(), (), action([choice], following=1))
    shared = [SHARED.get(name, {}).get(at, 0) for at in range(2 * L.PROCESS_SHARED_WORDS)]
    seen, tick, secret = Counter[str](), random.getrandbits(32), random.getrandbits(128)
    flows = Flows(FlowPlace(SETS, WAYS, hash_of(secret)), shared=shared)
    with opened(2, 2) as device:
        overlay = Overlay(device, secret)
        for turn in range(TURNS):
            if turn % 8 == 0:
                program = PipelineProgram(HEADERS, (first, NOTHING), stateful={1: keyed(name, ["keep", "clear"][turn // 8 % 2])})
                overlay.load(program)
                model = model_in(overlay, program, flows)
            if turn == 0:
                for at, value in enumerate(shared):
                    overlay.set_shared(1, at, value)
            if turn == TURNS // 2:
                compare_counters(device, [1])
                assert not overlay.restore()
                device.write(L.SHELL_REGISTERS_CONTROL, device.read(L.SHELL_REGISTERS_CONTROL) | 1)
                assert overlay.restore() and not overlay.restore()
                flows.table.clear()
                SEEN.clear()
                model = model_in(overlay, program, flows)
            packets = flow_packets(20) + some_packets(4) + flow_packets(20)
            compare(device, model, packets, turn % LANES, tick, seen)
            tick = tick + random.choice([10, 100, 600, 30_000]) & 0xFFFFFFFF
        compare_counters(device, [1])
    assert min(SEEN["found"], SEEN["new"]) > 20 and SEEN["expired"] > 2, SEEN
    assert min(seen["FAULT_NONE"], seen["VERDICT_TO_HOST"]) > 50, seen


def some_word(memory: int, passes: bool = True) -> int:
    """Any, but that a packet has one of the verdicts, and may go on, with `passes` to another pass."""
    word = some_content(memory)
    if memory != L.PROCESS_MEMORY_DECISION:
        return word
    decision = L.ProcessDecision.from_int(word % (1 << L.ProcessDecision.BITS))
    following, again = random.choice([1, 2, L.UNIT_END]), random.choice([0, 0, 0, 1, 2, decision.again])
    again = again if passes else 0
    return replace(decision, next=following, again=again, verdict=random.choice([*L.Verdict])).to_int()


def some_stateless() -> UnitProgram:
    """Random, without passes, which the loader refuses behind the last unit."""
    program = units.some_program(random.random() < 0.5, NOTHING)
    entries = tuple(replace(entry, action=replace(entry.action, again=0)) for entry in program.entries)
    return replace(program, entries=entries, miss=replace(program.miss, again=0, next=random.choice([1, 2])))


def some_unit(secret: int, passes: bool = True) -> Loaded:
    memories = {at: some_word(at[0], passes) for at in addresses(Process({}).sizes)}
    shared = [random.getrandbits(64) for _ in range(2 * L.PROCESS_SHARED_WORDS)]
    return Loaded(memories, shared, some_selector(), some_settings(secret))


@pytest.mark.fuzz
@pytest.mark.parametrize("stateful", [0b001, 0b010, 0b111])
def test_random_programs_do_what_the_model_does(stateful: int) -> None:
    draw_anew()
    seen = Counter[str]()
    numbers = [number for number in range(3) if stateful >> number & 1]
    with opened(3, stateful) as device:
        memories, tick = Memories([device], 3), random.getrandbits(32)
        for turn in range(TURNS):
            stateless = [NOTHING if n in numbers else some_stateless() for n in range(3)]
            model = memories.load(stateless, {number: some_unit(memories.secrets[number]) for number in numbers})
            pool = some_packets(12)
            compare(device, model, [random.choice(pool) for _ in range(40)], turn % LANES, tick, seen)
            tick = tick + random.choice([1, 100, 3000]) & 0xFFFFFFFF
            compare(device, model, [random.choice(pool) for _ in range(40)], turn % LANES, tick, seen)
        compare_counters(device, numbers)
    assert min(SEEN["found"], SEEN["new"], SEEN["absent"]) > 30, SEEN
    assert min(seen["changed"], seen["dropped"], seen["VERDICT_FORWARD"], seen["passes"]) > 20, seen
