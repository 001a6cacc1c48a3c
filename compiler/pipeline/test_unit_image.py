# SPDX-License-Identifier: Apache-2.0
"""Whatever is written to a unit, each packet of the other version finds its action; a table without a place says so."""

from __future__ import annotations

import random

import pytest
import sluice_layouts as L
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.pipeline.hash_function import Hash
from compiler.pipeline.parser_program import ProgramError
from compiler.pipeline.unit_image import KEY_BITS, NOTHING, SEED, TERNARY_NIBBLES, WAYS, UnitEntry, UnitImage, UnitProgram

EXACT, TERNARY = 32, 64
HASH = Hash(KEY_BITS, EXACT // WAYS, WAYS, SEED)


class Memories:
    """What the writes make of the memories, and the action that a key then finds: the RTL's lookup, in a few lines."""

    def __init__(self) -> None:
        self.words: dict[tuple[int, int], int] = {}

    def write(self, one: L.PipelineWrite) -> None:
        assert one.unit == 5
        self.words[one.memory, one.address] = one.data

    def find(self, key: int, version: int) -> int:
        selector = L.UnitSelector.from_int(self.words[L.UNIT_MEMORY_SELECTOR, version])
        number = (self.exact if selector.exact else self.ternary)(key & selector.mask, version)
        return self.words[L.UNIT_MEMORY_ACTION, EXACT + TERNARY + version if number is None else number]

    def exact(self, key: int, version: int) -> int | None:
        words = [
            L.UnitExact.from_int(self.words[L.UNIT_MEMORY_EXACT, way << 14 | slot]) for way, slot in enumerate(HASH.slots(key))
        ]
        found = {word.action for word in words if word.key == key and word.versions >> version & 1}
        assert len(found) < 2
        return found.pop() if found else None

    def ternary(self, key: int, version: int) -> int | None:
        wanted = key | version << KEY_BITS
        for entry in range(TERNARY):
            group, member = divmod(entry, 4)
            if all(
                self.words[L.UNIT_MEMORY_TERNARY, group << 4 | wanted >> 4 * n & 15] >> 4 * n + member & 1
                for n in range(TERNARY_NIBBLES)
            ):
                return EXACT + entry
        return None


def found_by(program: UnitProgram, key: int) -> int:
    exact = program.selector.exact
    masks = [program.selector.mask if exact else entry.mask for entry in program.entries]
    hits = (entry for entry, mask in zip(program.entries, masks, strict=True) if not (key ^ entry.value) & mask)
    return next((entry.action for entry in hits), program.miss).to_int()


def some_program(draw: random.Random, before: UnitProgram) -> UnitProgram:
    exact = draw.random() < 0.7
    entries = list(before.entries) if before.selector.exact == exact else []
    draw.shuffle(entries)
    entries = entries[: draw.randrange(14)]
    keys = {entry.value for entry in entries}
    for _ in range(draw.randrange(14)):
        key = draw.getrandbits(6) << 40
        if not exact or key not in keys:
            entries.append(UnitEntry(key, draw.choice([63, 60, 31]) << 40, L.UnitAction(queue=draw.randrange(16))))
            keys.add(key)
    return UnitProgram(
        L.UnitSelector(mask=(1 << KEY_BITS) - 1, exact=exact), tuple(entries), L.UnitAction(queue=draw.randrange(16))
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_packet_finds_the_action_of_its_version_whatever_is_written(seed: int) -> None:
    draw = random.Random(seed)
    programs, memories, image = [NOTHING, NOTHING], Memories(), UnitImage(EXACT, TERNARY)
    for turn in range(7):
        version = turn % 2
        wanted = some_program(draw, programs[1 - version])
        try:
            changed = image.with_program(wanted, version)
        except ProgramError:
            continue  # no place for both
        live, keys = programs[1 - version], [draw.getrandbits(6) << 40 for _ in range(12)]
        keys += [entry.value for entry in live.entries]
        for number, write in enumerate(changed.writes(5, image if memories.words else None)):
            memories.write(write)
            if memories.words and turn and (write.memory == L.UNIT_MEMORY_EXACT or number % 16 == 0):
                assert [memories.find(key, 1 - version) for key in keys[-8:]] == [found_by(live, key) for key in keys[-8:]]
        programs[version], image = wanted, changed
        for key in keys:
            for either in (0, 1):
                assert memories.find(key, either) == found_by(programs[either], key)


def test_entries_move_until_the_exact_table_is_nearly_full_and_then_it_says_so() -> None:
    draw = random.Random(1)
    selector, image, count = L.UnitSelector(mask=(1 << KEY_BITS) - 1, exact=1), UnitImage(256, 64), 0
    entries: list[UnitEntry] = []
    with pytest.raises(
        ProgramError, match=r"the exact table has no place for one of \d+ entries: \d+ of 256 are taken; hint: fewer"
    ):
        for count in range(300):
            entries.append(UnitEntry(draw.getrandbits(KEY_BITS), 0, L.UnitAction(queue=count % 16)))
            image = image.with_program(UnitProgram(selector, tuple(entries), L.UnitAction()), 0)
            assert len(image.exact.slots) == count + 1
    assert count > 230


def test_versions_share_equal_entries() -> None:
    program = some_program(random.Random(3), NOTHING)
    image = UnitImage(EXACT, TERNARY).with_program(program, 0)
    both = image.with_program(program, 1)
    assert both.exact.slots == image.exact.slots
    assert [place and place.entry for place in both.ternary] == [place and place.entry for place in image.ternary]
    assert {write.memory for write in both.writes(5, image)} >= {L.UNIT_MEMORY_SELECTOR, L.UNIT_MEMORY_ACTION}
