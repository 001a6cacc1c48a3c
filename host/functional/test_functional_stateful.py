# SPDX-License-Identifier: Apache-2.0
"""The stateful unit in C and its parts, each against its model in Python: the keyed hash, the flow place, the process block with
memories full of random bits, and all together."""

from __future__ import annotations

import ctypes as c
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
import sluice_layouts as L
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.pipeline.hash_function import Hash, KeyedHash
from host.python.device import load
from host.python.structs import mirror
from models.flow_place import FlowPlace, Placement
from models.stateful import VERSION_SHIFT, WORD, Packet, Process
from models.stateful_unit import Flows, StatefulUnit
from models.unit_program import sources_of
from rtl.stateful.test_sl_process import addresses, some_content, some_packet, some_word

SEEDS = st.integers(0, 2**64 - 1)
HALF = (1 << 64) - 1
KEY_WORDS = 5  # of 64 bits


def words_of(number: int, count: int) -> c.Array[c.c_uint64]:
    return (c.c_uint64 * count)(*(number >> 64 * n & HALF for n in range(count)))


# ---- The hash


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 264), st.integers(1, 10), st.integers(1, 6), st.integers(0, 2**128 - 1), st.data())
def test_the_hash_is_that_of_its_twin(key_bits: int, slot_bits: int, ways: int, secret: int, data: st.DataObject) -> None:
    library, made = load(), mirror("functional_hash")()
    library.functional_hash_of.restype = c.c_uint64
    library.functional_hash_start(c.byref(made), key_bits, 1 << slot_bits, ways)
    unkeyed, keyed = Hash(key_bits, 1 << slot_bits, ways, 0), KeyedHash(key_bits, 1 << slot_bits, secret, ways)
    for twin in (unkeyed, keyed):
        for _ in range(3):
            key = data.draw(st.integers(0, 2**key_bits - 1))
            indices = library.functional_hash_of(c.byref(made), words_of(key, KEY_WORDS))
            assert indices == sum(slot << slot_bits * way for way, slot in enumerate(twin.slots(key)))
        library.functional_hash_secret(c.byref(made), words_of(secret, 2))


# ---- The flow place

Told = mirror("functional_placement")


class Place:
    """The part in C, and its model."""

    def __init__(self, key_bits: int, sets: int, ways: int, secret: int, timeout: int, evict: bool = True) -> None:
        self.library, self.part = load(), mirror("functional_place")()
        self.library.functional_place_find.restype = Told
        assert self.library.functional_place_new(c.byref(self.part), key_bits, sets, ways) == 0
        self.part.timeout, self.part.keeps = timeout, not evict
        self.key_bits, twin = key_bits, KeyedHash(key_bits, sets, secret)
        self.model = FlowPlace(sets, ways, lambda key: twin.slots(key)[0], timeout, evict)
        self.library.functional_place_secret(c.byref(self.part), words_of(secret, 2))

    def find(self, key: int, now: int, insert: bool) -> Placement:
        """Asks both; what they say."""
        told = self.library.functional_place_find(c.byref(self.part), words_of(key, KEY_WORDS), c.c_uint32(now), insert)
        expected = self.model.find_or_insert(key, now, insert)
        flags = told.is_found, told.is_new, told.is_evicted, told.is_expired
        assert Placement(told.set, told.way, told.generation, *flags) == expected
        return expected

    def remove(self, last: Placement) -> None:
        self.library.functional_place_remove(c.byref(self.part), last.set, last.way, last.generation)
        self.model.remove(last.set, last.way, last.generation)

    def close(self) -> None:
        self.library.functional_place_free(c.byref(self.part))


def kinds_of(told: Placement) -> list[str]:
    kinds = [name for name in ("found", "new", "evicted", "expired") if getattr(told, name)]
    return kinds or ["absent"]


def visit(place: Place, draw: random.Random, now: int) -> Counter[str]:
    """Keys of a pool that is larger than the table, which come again; now and then a flow goes, an old one or a young one."""
    pool = [draw.getrandbits(place.key_bits) for _ in range(2 * place.model.sets * place.model.ways + 1)]
    placements: list[Placement] = []
    seen = Counter[str]()
    for _ in range(150):
        now += draw.choice([0, 0, 1, 1, 5, 40])
        told = place.find(draw.choice(pool), now, draw.random() < 0.8)
        seen.update(kinds_of(told))
        if told.found or told.new:
            placements.append(told)
        if placements and draw.random() < 0.1:
            place.remove(draw.choice(placements[-4:]))
        if draw.random() < 0.005:
            place.library.functional_place_clear(c.byref(place.part))
            place.model.clear()
            placements.clear()
    return seen


def test_flows_are_placed_as_the_model_says() -> None:
    seen = Counter[str]()

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from([(12, 4, 4), (20, 2, 1), (33, 8, 2), (104, 32, 4), (264, 8, 8)]),
        st.integers(0, 2**128 - 1),
        st.sampled_from([0, 7, 60, 1000]),
        st.integers(0, 3),
        st.integers(0, WORD),
        SEEDS,
    )
    def visited(shape: tuple[int, int, int], secret: int, timeout: int, evict: int, now: int, seed: int) -> None:
        place = Place(*shape, secret, timeout, evict != 0)
        seen.update(visit(place, random.Random(seed), now))
        place.close()

    visited()
    assert min(seen[kind] for kind in ("found", "new", "evicted", "expired", "absent")) > 100, seen


def test_a_flow_that_is_idle_for_a_whole_wrap_is_young_again() -> None:
    place = Place(32, 2, 2, 5, 10)
    assert place.find(7, 2**32 - 1, True).new
    assert place.find(7, 8, False).found, "9 ticks later, over the wrap"
    assert not place.find(7, 18, False).found
    assert place.find(7, 2**32 + 17, False).found
    place.close()


# ---- The process block

CPacket = mirror("pipeline_packet")


class Block:
    """The block in C, and its model, with the same random memories."""

    def __init__(self) -> None:
        self.library, self.part = load(), mirror("functional_process")()
        self.library.functional_process_write.restype = c.c_bool
        self.library.functional_process_run.restype = c.c_uint32
        self.memories: dict[tuple[int, int], int] = {}
        self.model = Process(self.memories)

    def write(self, memory: int, address: int, data: int) -> bool:
        word = mirror("sluice_process_write")(address=address, memory=memory)
        word.data[:] = data.to_bytes(9, "little")
        written: bool = self.library.functional_process_write(c.byref(self.part), c.byref(word))
        return written

    def load(self) -> None:
        for n in range(2 * L.PROCESS_SHARED_WORDS):
            self.keep(L.PROCESS_MEMORY_SHARED, n, random.getrandbits(64))
        for version in (0, 1):
            for memory, address in addresses(self.model.sizes):
                self.keep(memory, version << VERSION_SHIFT | address, some_content(memory))

    def keep(self, memory: int, address: int, data: int) -> None:
        self.memories[memory, address] = data
        assert self.write(memory, address, data)

    def run(self, packet: Packet, flow: Sequence[int]) -> tuple[L.PipelinePhv, tuple[int, ...], int]:
        """What the block in C makes of a packet."""
        state = (c.c_uint32 * L.PROCESS_WORDS)(*flow)
        made = packet_of(packet.phv)
        entry = self.library.functional_process_run(c.byref(self.part), c.byref(made), c.c_uint32(packet.tick), state)
        return phv_of(made, packet.phv), tuple(state), entry


def packet_of(phv: L.PipelinePhv) -> c.Structure:
    fields = ("next", "verdict", "egress_mask", "queue", "splice", "again")
    made: c.Structure = CPacket(version=phv.parsed.version, **{name: getattr(phv, name) for name in fields})
    made.sources[:] = sources_of(phv)
    return made


def phv_of(made: c.Structure, before: L.PipelinePhv) -> L.PipelinePhv:
    after = L.PipelinePhv.from_int(before.to_int())
    after.parsed.containers = list(made.sources[: L.PIPELINE_CONTAINERS])
    for name in ("next", "verdict", "egress_mask", "queue", "splice", "again"):
        setattr(after, name, getattr(made, name))
    return after


def test_any_memories_do_what_the_model_says() -> None:
    entries, kinds = Counter[int](), Counter[bool]()

    @settings(max_examples=40, deadline=None)
    @given(SEEDS)
    def compared(seed: int) -> None:
        random.seed(seed)
        block = Block()
        block.load()
        for _ in range(40):
            packet, flow = some_packet(random.randrange(2)), tuple(some_word() for _ in range(L.PROCESS_WORDS))
            outcome = block.model.run(packet, flow)
            assert block.run(packet, flow) == (outcome.packet.phv, outcome.flow, outcome.entry), seed
            entries[outcome.entry] += 1
            kinds[outcome.flow != flow] += 1

    compared()
    assert len(entries) > L.PROCESS_ENTRIES // 2, entries
    assert kinds[True] > 500, kinds


@pytest.mark.parametrize(
    ("memory", "address"),
    [
        (L.PROCESS_MEMORY_SHARED, 2 * L.PROCESS_SHARED_WORDS),
        (L.PROCESS_MEMORY_INPUT, L.PROCESS_INPUTS),
        (L.PROCESS_MEMORY_CONDITION, L.PROCESS_CONDITIONS),
        (L.PROCESS_MEMORY_UPDATE, L.PROCESS_UPDATES),
        (L.PROCESS_MEMORY_UPDATE, L.PROCESS_WORDS << 4),
        (L.PROCESS_MEMORY_MATCH, 1 << 4),
        (L.PROCESS_MEMORY_ENTRY, L.PROCESS_ENTRIES),
        (L.PROCESS_MEMORY_ACTION, L.PROCESS_ACTIONS),
        (L.PROCESS_MEMORY_ACTION, L.PROCESS_ENTRIES << 4),
        (L.PROCESS_MEMORY_DECISION, L.PROCESS_ENTRIES),
    ],
)
def test_addresses_that_the_block_does_not_have_change_nothing(memory: int, address: int) -> None:
    block = Block()
    before = bytes(block.part)
    assert not block.write(memory, address, (1 << 72) - 1)
    assert bytes(block.part) == before


# ---- The unit


class Unit:
    """The unit in C, and its model; `block` has the memories of both."""

    def __init__(self, sets: int) -> None:
        self.library, self.sets, self.block = load(), sets, Block()
        self.library.functional_stateful_new.restype = c.c_void_p
        self.library.functional_stateful_write.restype = c.c_bool
        self.library.functional_stateful_run.restype = Told
        self.handle = c.c_void_p(self.library.functional_stateful_new(sets))
        self.block.write = self.write_process  # type: ignore[method-assign]
        self.selectors = [L.FlowSelector(), L.FlowSelector()]
        self.settings = L.FlowSettings()
        self.flows = Flows(FlowPlace(sets, 4, self.hash_of(0), evict=False))

    def hash_of(self, secret: int) -> Callable[[int], int]:
        twin = KeyedHash(16 * L.FLOW_KEY_WORDS + L.FLOW_EPOCH_BITS, self.sets, secret)
        return lambda key: twin.slots(key)[0]

    def write(self, memory: int, address: int, data: int) -> bool:
        held = data.to_bytes(4 * L.PIPELINE_REGISTERS_DATA_COUNT, "little")
        word = mirror("pipeline_write")(c.cast(held, c.POINTER(c.c_uint8)), 0, address)
        written: bool = self.library.functional_stateful_write(self.handle, memory, c.byref(word))
        return written

    def write_process(self, memory: int, address: int, data: int) -> bool:
        return self.write(L.UNIT_MEMORY_PROCESS, memory << 11 | address, data)

    def select(self, version: int, selector: L.FlowSelector) -> None:
        self.selectors[version] = selector
        assert self.write(L.UNIT_MEMORY_SELECTOR, version, selector.to_int())

    def set(self, settings: L.FlowSettings) -> None:
        table = self.flows.table
        table.timeout, table.evict, table.set_of = settings.timeout, bool(settings.evict), self.hash_of(settings.secret)
        if settings.flush or settings.secret != self.settings.secret:
            table.clear()
        self.settings = settings
        assert self.write(L.UNIT_MEMORY_FLOWS, 0, settings.to_int())

    def run(self, packet: Packet) -> Placement:
        """A packet through both."""
        made = packet_of(packet.phv)
        told = self.library.functional_stateful_run(self.handle, c.byref(made), c.c_uint32(packet.tick))
        model = StatefulUnit(self.selectors[packet.phv.parsed.version], self.block.model, self.flows)
        phv, placement = model.run(packet.phv, packet.tick)
        flags = told.is_found, told.is_new, told.is_evicted, told.is_expired
        assert Placement(told.set, told.way, told.generation, *flags) == placement
        assert phv_of(made, packet.phv) == phv
        return placement

    def close(self) -> None:
        self.library.functional_stateful_free(self.handle)


def some_selector() -> L.FlowSelector:
    """Any words, few bits of which differ between packets; a source that decides for some packets whether they make a flow."""
    words = [random.randrange(64) for _ in range(L.FLOW_KEY_WORDS)]
    mask = random.choice([0, 0xF, (1 << 256) - 1, random.getrandbits(256)])
    insert = random.choice([(63, 0xFFFF), (63, 0xFFFF), (63, 0), (random.randrange(64), random.getrandbits(16))])
    return L.FlowSelector(words, mask, random.randrange(3), *insert)


def test_a_unit_does_what_its_model_does() -> None:
    seen = Counter[str]()

    @settings(max_examples=40, deadline=None)
    @given(SEEDS, st.sampled_from([2, 4, 64]))
    def compared(seed: int, sets: int) -> None:
        random.seed(seed)
        unit, tick = Unit(sets), random.getrandbits(32)
        unit.block.load()
        unit.flows.shared = [unit.block.memories[L.PROCESS_MEMORY_SHARED, n] for n in range(2 * L.PROCESS_SHARED_WORDS)]
        pool = [some_packet(random.randrange(2)).phv for _ in range(random.choice([4, 30, 30]))]
        for turn in range(120):
            if turn % 40 == 0:
                for version in (0, 1):
                    unit.select(version, some_selector())
                secret = random.choice([unit.settings.secret, random.getrandbits(128)])
                timeout = random.choice([0, 0, 100, 1000])
                unit.set(L.FlowSettings(secret, timeout, random.choice([0, 1, 1]), random.choice([0, 0, 0, 1])))
            tick = tick + random.choice([0, 1, 1, 10, 300]) & WORD
            seen.update(kinds_of(unit.run(Packet(random.choice(pool), tick))))
        unit.close()

    compared()
    assert min(seen[kind] for kind in ("found", "new", "evicted", "expired", "absent")) > 30, seen


def test_a_unit_refuses_memories_and_addresses_that_it_does_not_have() -> None:
    unit = Unit(2)
    memories = (L.UNIT_MEMORY_SELECTOR, L.UNIT_MEMORY_FLOWS, L.UNIT_MEMORY_PROCESS)
    wrong = [(L.UNIT_MEMORY_SELECTOR, 2), (L.UNIT_MEMORY_FLOWS, 1), (L.UNIT_MEMORY_PROCESS, L.PROCESS_MEMORY_COMPOSED + 1 << 11)]
    wrong += [(memory, 0) for memory in L.PipelineMemory if memory not in memories]
    assert unit.write_process(L.PROCESS_MEMORY_ENTRY, L.PROCESS_ENTRIES, 0), "ignored"
    assert not any(unit.write(memory, address, 0) for memory, address in wrong)
    unit.close()
