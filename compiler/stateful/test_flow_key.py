# SPDX-License-Identifier: Apache-2.0
"""`[key]` of a program: what a selector says of packets, what is refused with which reason; and which flows a program has."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.image import StatefulImage, UnitSizes
from compiler.stateful.program import BlockSizes, ProcessProgram, assembled
from models.stateful_unit import inserts, key_of

FIELDS = """
[containers]
address = { first = 16, words = 2 }
low = { first = 20, byte = 0, bytes = 1 }
high = { first = 20, byte = 1, bytes = 1 }
middle = { first = 22, words = 2, byte = 1, bytes = 2 }
flags = { first = 38 }
wide = { first = 24, words = 2 }
[flow]
seen = { word = 1 }
[[entries]]
"""


def program(key: str, sizes: BlockSizes | None = None) -> ProcessProgram:
    return assembled(f"{FIELDS}\n[key]\n{key}\n", "test.toml", sizes)


def phv(containers: dict[int, int]) -> L.PipelinePhv:
    return L.PipelinePhv(L.Parsed([containers.get(n, 0) for n in range(L.PIPELINE_CONTAINERS)], ingress_port=5, length=77))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ('["address"]', 0x12345678),
        ('["flags", "address"]', 0x000912345678),
        ('["port", "length"]', 0x0005004D),
        ('["low"]', 0xCD),
        ('["high"]', 0xAB00),
        ('["middle"]', 0x00345600),
        ("[]", 0),
    ],
)
def test_a_key_is_made_of_fields_the_first_in_the_high_bits(fields: str, expected: int) -> None:
    packet = phv({16: 0x1234, 17: 0x5678, 20: 0xABCD, 22: 0x1234, 23: 0x5678, 38: 9})
    assert key_of(program(f"fields = {fields}").key.selector, packet) == expected


@pytest.mark.parametrize(
    ("insert", "values", "expected"),
    [
        ("true", {}, True),
        ("false", {38: 0xFFFF}, False),
        ('"flags & 2"', {38: 0xFFFD}, False),
        ('"flags & 0x12"', {38: 2}, True),
        ('"high & 1"', {20: 0x0100}, True),
        ('"high & 1"', {20: 0xFEFF}, False),
        ('"port & 4"', {}, True),
    ],
)
def test_a_bit_of_the_packet_says_whether_it_makes_a_flow(insert: str, values: dict[int, int], expected: bool) -> None:
    assert inserts(program(f"insert = {insert}").key.selector, phv(values)) == expected


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('fields = ["nothing"]', "key: undefined name 'nothing'; hint: address, low"),
        ('fields = ["seen"]', "key: seen cannot be in a key; hint: a field of `containers`, or port, length, headers"),
        ('fields = ["tick"]', "key: tick cannot be in a key"),
        ('fields = "address"', "key: fields is not a list of names"),
        ('fields = ["low", "high"]', "key: two fields are in one word"),
        (f"fields = {['address'] * 9}", "key: 18 words of 16 bits; hint: at most 16"),
        ("timeout = -1", "key: timeout = -1; hint: a number from 0 to 4294967295"),
        ("insert = 3", 'key: insert = 3; hint: true, false, or "FIELD & NUMBER"'),
        ('insert = "wide & 1"', "key: insert: wide has 2 words of 16 bits"),
        ('insert = "high & 0x100"', "key: insert: 0x100 has no bit of high, or others"),
        ('evict = "no"', "key: evict = 'no'; hint: true or false"),
        ('state = "maybe"', 'key: state = \'maybe\'; hint: "keep" or "clear"'),
        ("hash = 1", "key: unknown key 'hash'; hint: fields, timeout, insert, evict, state"),
    ],
)
def test_what_makes_no_key_is_refused_with_entry_and_reason(key: str, said: str) -> None:
    with pytest.raises(ProgramError) as error:
        program(key)
    assert str(error.value).startswith(f"test.toml: {said}")


def loaded(image: StatefulImage, *programs: ProcessProgram) -> StatefulImage:
    for turn, one in enumerate(programs):
        image = image.with_program(one, turn % 2)
    return image


def test_a_program_has_the_flows_of_the_one_before_or_of_a_new_epoch() -> None:
    keep, clear = program('state = "keep"'), program('state = "clear"')
    image = StatefulImage.of(UnitSizes(), secret=7)
    assert loaded(image, clear, keep, clear, keep).epochs == (2, 2)
    assert loaded(image, clear, clear).epochs == (1, 2)
    wrapped = loaded(image, *[clear] * 256)
    assert wrapped.epochs == (255, 0) and wrapped.settings.flush, "epoch 0 has flows of long ago"
    assert not loaded(wrapped, clear).settings.flush


def test_only_what_differs_is_written_and_brings_the_memories_there() -> None:
    draw = random.Random(1)
    image, memories = StatefulImage.of(UnitSizes(), secret=draw.getrandbits(128)), dict[tuple[int, int], int]()
    before = None
    for turn in range(8):
        key: Any = draw.choice(['fields = ["address"]', 'fields = ["low"]\nstate = "keep"\ntimeout = 5'])
        made = program(key) if turn < 6 else None
        after = image.with_program(made, turn % 2)
        memories |= {(write.memory, write.address): write.data for write in after.writes(1, before)}
        fresh = {(write.memory, write.address): write.data for write in after.writes(1)}
        assert {at: memories[at] for at in fresh} == fresh
        image = before = after


def test_a_program_for_another_unit_is_refused() -> None:
    small = UnitSizes(BlockSizes(4, 4, 2, 3, 4, 2), key_words=2)
    image = StatefulImage.of(small, 0)
    with pytest.raises(ProgramError, match=r"the program is made for BlockSizes.* hint: this unit has BlockSizes"):
        image.with_program(program(""), 0)
    with pytest.raises(ProgramError, match="key: 3 words of 16 bits; hint: the keys of this unit have 2"):
        image.with_program(program('fields = ["address", "flags"]', small.block), 0)
