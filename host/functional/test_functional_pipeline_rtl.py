# SPDX-License-Identifier: Apache-2.0
"""The programmable pipeline of the functional device beside the RTL of configs/overlay: the same words into the memories of both,
most of them words that no loader writes, the same packets and register accesses. Bytes, metadata, order, answers and counters must
be equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sluice_layouts as L

from compiler.pipeline.hash_function import Hash
from compiler.pipeline.pipeline_image import accesses
from compiler.pipeline.unit_image import KEY_BITS, WAYS
from compiler.pipeline.unit_image import SEED as HASH_SEED
from host.functional.test_functional_pipeline import LANES, SEED, SIZE, TURNS, Leaves, draw_anew, found, some_packets
from host.python.device import Device
from rtl.pipeline import test_sl_parser as parsers
from rtl.pipeline import test_sl_pipeline_rewrite as rewrites
from shell.sim.build import OVERLAY
from testing.device import access_alike

UNITS, WINDOW = OVERLAY["pipeline_units"], L.WINDOW_SIZE
LOOKED_UP = WINDOW + L.PIPELINE_REGISTERS_LOOKED_UP
EXACT, TERNARY = L.PIPELINE_EXACT_ENTRIES, L.PIPELINE_TERNARY_ENTRIES
SLOTS = EXACT // WAYS
HASH = Hash(KEY_BITS, SLOTS, WAYS, HASH_SEED)
KEYS = [value << 96 for value in range(4)]  # of exact tables
ROWS = 2 * L.PARSER_KINDS
PLACES = {  # units of each memory, and its addresses
    L.PARSER_MEMORY_MATCH: (L.PARSER_STAGES, range(4 * L.PARSER_ENTRIES)),
    L.PARSER_MEMORY_STEP: (L.PARSER_STAGES, range(L.PARSER_ENTRIES)),
    L.PARSER_MEMORY_START: (1, range(2)),
    L.DEPARSER_MEMORY_ROW: (L.DEPARSER_WRITERS, range(ROWS)),
    L.DEPARSER_MEMORY_BASE: (L.DEPARSER_WRITERS, range(2)),
    L.DEPARSER_MEMORY_CHECKSUM_ROW: (L.DEPARSER_CHECKSUMS, range(ROWS)),
    L.DEPARSER_MEMORY_CHECKSUM_BASE: (L.DEPARSER_CHECKSUMS, range(2)),
    L.DEPARSER_MEMORY_SPLICE: (1, range(2 * L.SPLICES)),
    L.UNIT_MEMORY_SELECTOR: (UNITS, range(2)),
    L.UNIT_MEMORY_EXACT: (UNITS, [way << 14 | slot for way in range(WAYS) for slot in range(SLOTS)]),
    L.UNIT_MEMORY_TERNARY: (UNITS, range(4 * TERNARY)),
    L.UNIT_MEMORY_ACTION: (UNITS, range(EXACT + TERNARY + 2)),
}
ALL = [(memory, unit, place) for memory, (count, places) in PLACES.items() for unit in range(count) for place in places]

BEGINNINGS = (L.PARSER_MEMORY_START, L.UNIT_MEMORY_SELECTOR)
PARSING = (L.PARSER_MEMORY_MATCH, L.PARSER_MEMORY_STEP)


class Both:
    """The two devices; what they do is compared at once."""

    def __init__(self) -> None:
        self.pair = [Device(OVERLAY), Device(SIZE, transport="functional")]
        for device in self.pair:
            device.call("sluice_device_set_lossless", 1)
            device.write(L.SHELL_REGISTERS_TICK_SOURCE, 0)  # or the tick would be of the clock, and the last hits too

    def close(self) -> None:
        for device in self.pair:
            device.close()

    def access(self, at: int, value: int | None = None) -> int | None:
        """A read, or a write of `value`; -1: both answered an error."""
        return access_alike(self.pair, at, value)

    def store(self, places: list[tuple[L.PipelineMemory, int, int]]) -> None:
        """Garbage into these places of the memories."""
        writes = [L.PipelineWrite(garbage(memory, place), place, unit, memory) for memory, unit, place in places]
        for address, word in accesses(iter(writes)):
            assert self.access(WINDOW + address, word) is None

    def send(self, lane: int, packets: list[bytes], seen: Counter[str]) -> None:
        self.access(L.SHELL_REGISTERS_TICK, random.getrandbits(32))
        passes = self.access(WINDOW + L.PIPELINE_REGISTERS_PASSES)
        there, here = (found(device, lane, packets) for device in self.pair)
        passed = self.access(WINDOW + L.PIPELINE_REGISTERS_PASSES) != passes
        seen["turns with passes"] += passed
        # What enters once more leaves behind packets that came later; these are not there in the functional device.
        assert in_any_order(there) == in_any_order(here) if passed else there == here
        for one in here[0]:
            seen[f"fault {min(one[3], L.FAULT_PROGRAM + 1)}"] += 1
        seen["to lanes"] += sum(map(len, here[1]))
        seen["changed"] += sum(data not in packets for out in here[1] for data in out)
        sizes = {len(packet) for packet in packets}
        seen["spliced"] += sum(
            len(data) not in sizes for data in (*(one[0] for one in here[0]), *(it for out in here[1] for it in out))
        )
        for device in self.pair:
            device.advance(16)
        assert self.access(L.SHELL_REGISTERS_STATUS) == 7, "nothing is in flight, however often packets have left"
        self.compare_counters()
        places = [(unit, place) for memory, unit, place in ALL if memory == L.UNIT_MEMORY_ACTION]
        misses = [(unit, EXACT + TERNARY + version) for unit in range(UNITS) for version in range(2)]
        for unit, place in [*random.sample(places, 30), *misses]:
            self.access(WINDOW + L.PIPELINE_REGISTERS_COUNTER_INDEX, unit << 16 | place)
            words = [self.access(WINDOW + L.PIPELINE_REGISTERS_COUNTER_DATA + 4 * word) for word in range(4)]
            seen["counted"] += words != [0] * 4

    def compare_counters(self) -> None:
        for kind, lanes in (("lane", LANES), ("host", 1), ("graph", 1)):
            for lane in range(lanes):
                assert self.pair[0].counters(kind, lane) == self.pair[1].counters(kind, lane)
        for register in L.PIPELINE_REGISTERS:
            for offset in register.offsets:
                self.access(WINDOW + offset)


@pytest.fixture
def both() -> Iterator[Both]:
    made = Both()
    yield made
    made.close()


def in_any_order(left: Leaves) -> Leaves:
    return sorted(left[0]), [sorted(packets) for packets in left[1]]


def bits(count: int, dense: int = 0) -> int:
    """Random bits; of each 2**(1 + dense) one is 0."""
    value = random.getrandbits(count)
    for _ in range(dense):
        value |= random.getrandbits(count)
    return value


def garbage(memory: L.PipelineMemory, place: int) -> int:
    """A word for a memory: any, or one that lets more packets go on than most do."""
    if random.random() < 0.03:
        return bits(384)
    if memory in (L.PARSER_MEMORY_MATCH, L.UNIT_MEMORY_TERNARY):
        return bits(384, random.randrange(2, 7))
    if memory == L.PARSER_MEMORY_STEP:
        step = parsers.some_step() if random.random() < 0.5 else L.ParserStep.from_int(bits(L.ParserStep.BITS))
        done = L.PARSER_DONE if random.random() < 0.3 else step.state
        if random.random() < 0.7:  # or few packets would have the base of a splice
            step = replace(step, base=random.randrange(3), has_base=1)
        return replace(step, fault=L.FAULT_NONE, advance=random.randrange(8), needs=0, length_mask=1, state=done).to_int()
    if memory == L.UNIT_MEMORY_SELECTOR:
        selector = L.UnitSelector.from_int(bits(L.UnitSelector.BITS))
        return replace(selector, mask=KEYS[-1]).to_int() if selector.exact else selector.to_int()
    if memory == L.UNIT_MEMORY_EXACT:
        here = [key for key in KEYS if HASH.slots(key)[place >> 14] == place & 0x3FFF]
        return L.UnitExact(random.choice(here or KEYS), random.choice([bits(9), EXACT, EXACT - 1]), random.randrange(4)).to_int()
    if memory == L.DEPARSER_MEMORY_SPLICE:
        row = rewrites.some_row(random.randrange(16), random.choice([0, 1, 2, random.randrange(64)]))
        return replace(row, base=random.randrange(3), word=random.choice([0, 6, row.word])).to_int()
    if memory == L.UNIT_MEMORY_ACTION:
        action = L.UnitAction.from_int(bits(L.UnitAction.BITS) & ~(0b111 << 29))
        for one in action.operations:
            if one.kind == L.OPERATOR_COUNT_DOWN and random.random() < 0.9:  # or nearly every packet would expire
                one.kind = L.OPERATOR_XOR
        verdict = random.choice([L.VERDICT_FORWARD, action.verdict])
        mask = random.choice([0, action.egress_mask, action.egress_mask, action.egress_mask])
        next_unit, again = random.choice([0, 1, L.UNIT_END]), random.choice([0, 0, 0, 0, 1, action.again])
        return replace(action, next=next_unit, verdict=verdict, egress_mask=mask, again=again).to_int()
    return bits(384)


@pytest.mark.fuzz
def test_memories_full_of_garbage_do_the_same(both: Both) -> None:
    draw_anew()
    seen = Counter[str]()
    both.store(ALL)
    for turn in range(TURNS):
        both.send(turn % LANES, some_packets(40), seen)
        both.store(random.sample(ALL, 250))
        if turn % 3 == 2:
            both.store([one for one in ALL if one[0] in BEGINNINGS or (one[0] in PARSING and one[1] < 2)])
            both.access(WINDOW + L.PIPELINE_REGISTERS_VERSION, random.getrandbits(32))
            for device in both.pair:
                device.advance(16)
    faults = sum(count for name, count in seen.items() if name.startswith("fault ") and name != "fault 0")
    assert TURNS // 4 < seen["turns with passes"] < TURNS, seen
    assert min(seen["counted"], seen["fault 0"], seen["to lanes"], seen["changed"], seen["spliced"], faults) > 20, seen
    assert all(both.access(LOOKED_UP + 4 * unit) for unit in range(UNITS))


def test_register_accesses_are_answered_alike(both: Both) -> None:
    random.seed(SEED)
    places = [memory << 20 | unit << 16 | place for memory, unit, place in ALL]
    wrong = [base ^ bit for base in random.sample(places, 100) for bit in (1 << random.randrange(32), 1 << random.randrange(16))]
    ends = [(unit, place) for unit in (0, UNITS, 15) for place in (0, 2, SLOTS - 1, SLOTS, 64, 255, 256, 322, 0xC000 | SLOTS)]
    edges = [memory << 20 | unit << 16 | place for memory in range(16) for unit, place in ends]
    taken = [both.access(WINDOW + L.PIPELINE_REGISTERS_PLACE, place) for place in (*wrong, *edges)]
    assert 100 < taken.count(-1) < len(taken) - 100
    for at in [WINDOW + 4 * word for word in range(0x60)] + [WINDOW * window + 4 for window in (2, 3, 4)]:
        both.access(at)
        both.access(at, random.getrandbits(32))
        for device in both.pair:
            device.advance(8)  # a version takes cycles to change
        both.access(at)
    both.store([one for one in ALL if one[0] in BEGINNINGS or (one[0] in PARSING and one[1] == 0)])  # packets could begin
    both.access(L.SHELL_REGISTERS_CONTROL, both.pair[0].read(L.SHELL_REGISTERS_CONTROL) | 1)
    for device in both.pair:
        device.advance(1024)  # the counters are cleared
    both.send(0, some_packets(20), seen := Counter[str]())
    assert +seen == {f"fault {L.FAULT_PROGRAM}": 20}, "and no counter kept what it had before the reset"
    for window in range(5):
        both.access(L.SHELL_REGISTERS_CAPABILITY + 4 * window)
