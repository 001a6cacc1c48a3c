# SPDX-License-Identifier: Apache-2.0
"""A program that is said to compose leaves the state that it leaves when packets wait, whatever packet and state; where that is
said wrongly it is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import sluice_layouts as L
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.stateful import families
from compiler.stateful.program import BlockSizes, ProcessProgram, assembled, read
from models.stateful import VERSION_SHIFT, Packet, Process, Sizes
from models.stateful_composed import ComposedProcess
from testing.process_programs import VALUES, some_phv, some_program

SIZES = {"inputs": 4, "conditions": 4, "words": 3, "updates": 3, "entries": 8, "actions": 2}
PROGRAMS = ("flowlet", "heavy_hitter", "port_knocking", "retransmissions")


def differs(program: ProcessProgram, draw: random.Random, packets: int = 12) -> bool:
    """Whether a packet finds a state of which composed updates make another one than the program."""
    memories = {(write.memory, write.address): write.data for write in program.writes(0)}
    memories |= {(L.PROCESS_MEMORY_SHARED, n): draw.choice(VALUES) for n in range(2 * L.PROCESS_SHARED_WORDS)}
    process = Process(memories, Sizes(**vars(program.sizes)))
    for _ in range(packets):
        packet = Packet(some_phv(draw, 1), draw.choice([*VALUES, draw.getrandbits(32)]))
        flow = [draw.choice([*VALUES, draw.getrandbits(32)]) for _ in range(process.sizes.words)]
        flow[0] = flow[0] & 0xFFFFFF | draw.choice([0, 1, 2, 3, 4, 19, 255]) << L.PROCESS_LABEL_LOW
        for unknown in (0, draw.getrandbits(32)):
            if ComposedProcess(process, unknown).after(packet, flow) != process.run(packet, flow).flow:
                return True
    return False


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**64))
def test_what_composes_leaves_the_same_state(seed: int) -> None:
    draw = random.Random(seed)
    program = some_program(draw, BlockSizes(**SIZES))
    assert not program.composes or not differs(program, draw)


@pytest.mark.parametrize("name", PROGRAMS)
def test_applications_leave_the_same_state(name: str) -> None:
    program = read(Path(__file__).parent / "programs" / f"{name}.toml")
    assert program.composes
    assert not differs(program, random.Random(name), 150)


def test_many_random_programs_compose_and_many_do_not() -> None:
    draw = random.Random(1)
    programs = [some_program(draw, BlockSizes(**SIZES)) for _ in range(200)]
    composed = [families.composition(program) for program in programs if program.composes]
    assert 50 < len(composed) < 180
    found = {how.family for one in composed for how in one.parts.values() if isinstance(how, families.Composed)}
    wanted = {families.SET, families.XOR, families.ADD, families.CLAMPED, families.SIGNED, families.FUNCTION}
    assert found >= wanted
    assert any(one.settings.second for one in composed) and any(one.settings.label_second for one in composed)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_is_own", lambda update, word: True),
        ("_deciding", lambda program, part, taken: iter(())),
        ("_stage", lambda part, needs: 1),
        ("_unsettled", lambda part, needs, known: ""),
    ],
)
def test_a_wrong_classification_is_found(name: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, name, wrong)
    monkeypatch.setitem(families.FAMILY, L.KIND_ROTATE, families.XOR)
    monkeypatch.setitem(families.FAMILY, L.KIND_LESS, families.ADD)
    draw = random.Random(2)
    programs = (some_program(draw, BlockSizes(**SIZES)) for _ in range(400))
    assert any(differs(program, draw) for program in programs if program.composes)


def test_settings_are_of_the_version() -> None:
    program = read(Path(__file__).parent / "programs" / "retransmissions.toml")
    written = [write for write in program.writes(1) if write.memory == L.PROCESS_MEMORY_COMPOSED]
    assert [write.address for write in written] == [1 << VERSION_SHIFT]
    assert L.ProcessComposed.from_int(written[0].data) == L.ProcessComposed([7, 15, 0, 0], 0b01, 0, 1)


OF_THE_PACKET = """
[containers]
p = { first = 2, words = 2 }
[flow]
x = { word = 1 }
[conditions]
late = "p before tick"
[[entries]]
if = ["late"]
update = ["x = tick + 500"]
[[entries]]
update = ["x = tick + 700"]
"""


@pytest.mark.parametrize("inputs", [4, 3])
def test_what_is_computed_of_the_packet_alone_is_a_set(inputs: int) -> None:
    """Where an input is left for each; else packets wait."""
    program = assembled(OF_THE_PACKET, "text", BlockSizes(**{**SIZES, "inputs": inputs}))
    assert program.composes == (inputs == 4)
    assert not program.composes or not differs(program, random.Random(1), 100)
