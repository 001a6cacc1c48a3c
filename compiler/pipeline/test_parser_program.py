# SPDX-License-Identifier: Apache-2.0
"""Programs of the parser: what is wrong is said, with its place; two versions share what they have in common; a changed image never
touches what packets of the other version match."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import sluice_layouts as L
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from compiler.pipeline.deparser_image import DeparserImage
from compiler.pipeline.parser_image import ParserImage
from compiler.pipeline.parser_program import DeparserProgram, Entry, HeaderProgram, ParserProgram, ProgramError, read
from models.deparser_program import deparse
from models.parser_program import parse, stages_of

DEFAULT = Path(__file__).parents[2] / "elements" / "pipeline" / "default_parser.toml"
ROWS = (L.DEPARSER_MEMORY_ROW, L.DEPARSER_MEMORY_CHECKSUM_ROW)
RIGHT = """\
begin = "first"
containers.kind = { first = 0 }
containers.other = { first = 16 }
[states.first]
extract = { kind = 1 }
lookups = [1]
advance = 4
next = [{ when = ["0x0800"], to = "second" }, { fault = "tags" }]
[states.second]
extract = { other = 0 }
length = { word = 0, mask = 0x000f, scale = 1 }
"""


def headers_of(tmp_path: Path, text: str) -> HeaderProgram:
    (tmp_path / "some.toml").write_text(text)
    return read(tmp_path / "some.toml")


def program_of(tmp_path: Path, text: str) -> ParserProgram:
    return headers_of(tmp_path, text).parser


def test_a_program_becomes_entries_of_the_stages_that_reach_its_states(tmp_path: Path) -> None:
    program = program_of(tmp_path, RIGHT)
    assert program.start == L.ParserStart([1, 0], 1)
    assert [len(stage) for stage in program.stages] == [2, 1, 0, 0, 0, 0, 0, 0]
    first, fault = program.stages[0]
    assert (first.value, first.mask) == (L.ParserKey([0x0800, 0], 1), L.ParserKey([0xFFFF, 0], 127))
    assert (first.step.extracts[0], first.step.advance, first.step.state) == (L.ParserExtract(1, 1), 4, 2)
    assert fault.step == L.ParserStep(fault=L.FAULT_TAGS)
    step = program.stages[1][0].step
    assert (step.extracts[0], step.length_mask, step.length_scale, step.needs) == (L.ParserExtract(2, 0), 15, 17, 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('begin = "first"', "", "the file: undefined state None to begin with; hint: begin = one of first, second"),
        ('begin = "first"', "begin = ", "some.toml: Invalid value (at line 1, column 9)"),
        ('begin = "first"', 'begin = "first"\nstart = 1', "the file: unknown key 'start'; hint: begin, containers, states"),
        ("{ first = 0 }", "{ first = 44 }", "container kind: first is 44; hint: a number from 0 to 43"),
        ("{ first = 0 }", "{ first = 40, words = 5 }", "container kind: words is 5; hint: a number from 1 to 4"),
        ("{ kind = 1 }", "{ type = 1 }", "state first: undefined container 'type'; hint: kind, other"),
        ("{ kind = 1 }", "{ kind = 32 }", "state first: kind is 32; hint: a number from 0 to 31"),
        (
            "{ kind = 1 }",
            "{ kind = 1, other = 2 }",
            "state first: 'other' and 'kind' both need slot 0; hint: extract containers that differ",
        ),
        ("lookups = [1]", "lookups = [1, 2, 3]", "state first: lookups is [1, 2, 3]; hint: at most 2 words of the header"),
        ("lookups = [1]", "", "state first: when is ['0x0800']; hint: a value for each of the 0 lookups"),
        ('"0x0800"', '"0x10800"', 'state first: when has \'0x10800\'; hint: "0x0800", "0x4000/0xf000" or "*"'),
        ('to = "second"', 'to = "third"', "state first: undefined state 'third'; hint: done, first, second"),
        ("advance = 4", "advance = 64", "state first: advance is 64; hint: a number from 0 to 63"),
        ("advance = 4", "advance = true", "state first: advance is True; hint: a number from 0 to 63"),
        ('fault = "tags"', 'fault = "none"', "state first: undefined fault 'none'; hint: truncated, version, header_size"),
        (
            "{ other = 0 }",
            "{ kind = 0 }",
            "state second: container 'kind' is extracted twice on the way here; hint: replace = ['kind']",
        ),
        ("scale = 1", "scale = 16", "state second: scale is 16; hint: a number from -16 to 15"),
        ("[states.second]", "[states.done]", "state done: this name is taken"),
    ],
)
def test_says_what_is_wrong_and_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in RIGHT
    with pytest.raises(ProgramError) as error:
        program_of(tmp_path, RIGHT.replace(old, new, 1))
    assert f"some.toml: {said.removeprefix('some.toml: ')}" in str(error.value)


WRITING = RIGHT.replace("[states.first]", '[states.first]\nbase = 3\nwrite = ["kind"]').replace(
    "[states.second]", '[states.second]\nbase = 7\nchecksum = { in = "other", covers = ["kind"], optional = true }'
)


def test_what_is_written_back_becomes_rows_by_base_and_kind(tmp_path: Path) -> None:
    text = WRITING + "[states.third]\nlike = 'second'\nwrite = []\nchecksum = { in = 'other' }\n"
    program = headers_of(tmp_path, text).deparser
    row, other = L.DeparserRow(), L.DeparserRow()
    row.places[0], other.places[0] = L.ParserExtract(1, 1), L.ParserExtract(2, 0)
    assert program.writers == ((3, {0: row}), (7, {0: other, 1: other}))
    assert program.checksums == ((7, {0: L.ChecksumRow(1, 16, 1, 1), 1: L.ChecksumRow(0, 16, 1, 0)}),)
    steps = [entry.step for stage in headers_of(tmp_path, text).parser.stages for entry in stage]
    assert [(step.has_base, step.base, step.kind) for step in steps if not step.fault] == [(1, 3, 0), (1, 7, 0)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("base = 3\n", "", "state first: write without a base; hint: base = 0 to 7"),
        ('["kind"]', '["other"]', "state first: container 'other' is written, but not extracted; hint: extract it here"),
        ('["kind"]', '"kind"', "state first: write is 'kind'; hint: a list of containers"),
        ('in = "other"', 'in = "kinds"', "state second: undefined container 'kinds'; hint: kind, other"),
        ('in = "other", ', "", "state second: checksum names no container; hint: checksum = { in ="),
        ('covers = ["kind"]', 'covers = ["other"]', "state second: checksum in 'other'; hint: a container of one word that it"),
        (
            'in = "other", covers = ["kind"], optional = true }\nextract = { other = 0 }',
            'in = "kind" }\nreplace = ["kind"]\nextract = { kind = 0 }',
            "state second: container 'kind' is replaced, but written back to an earlier header; hint: leave it out of the write",
        ),
        (
            "advance = 4",
            "advance = 1",
            "state second: two containers are written back to word 0; hint: leave one of them out of write",
        ),
        ("base = 7", "base = 3", "state second: an earlier header that is written back has base 3 too; hint: another base"),
        ("base = 7", 'like = "third"', "state second: like is 'third'; hint: a state that is not like another"),
    ],
)
def test_says_what_can_not_be_written_back(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in WRITING
    with pytest.raises(ProgramError) as error:
        program_of(tmp_path, WRITING.replace(old, new, 1))
    assert said in str(error.value)


TWO_HEADERS = """\
begin = "first"
containers.front = {{ first = {0} }}
containers.back = {{ first = {1} }}
[states.first]
base = 0
extract = {{ front = {2} }}
write = ["front"]
advance = {4}
length = {{ word = 0, mask = {5}, scale = {6} }}
next = [{{ to = "second" }}]
[states.second]
base = 1
extract = {{ back = {3} }}
write = ["back"]
"""


def test_containers_of_a_row_are_not_written_to_one_column(tmp_path: Path) -> None:
    said = "state second: containers 'back' and 'front' are in a row, 4 to 7, and can be written to words that are equal modulo 8"
    headers_of(tmp_path, TWO_HEADERS.format(5, 8, 1, 2, 7, 0x0F00, -7))
    headers_of(tmp_path, TWO_HEADERS.format(5, 6, 1, 3, 7, 0x0F00, -7))  # an odd number of words between them
    for length in (0x0F00, -7), (0x0100, -8):
        with pytest.raises(ProgramError, match=said):
            headers_of(tmp_path, TWO_HEADERS.format(5, 6, 1, 2, 7 if length[1] == -7 else 6, *length))


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_the_loader_takes_is_written_whatever_the_packet_says(tmp_path: Path, data: st.DataObject) -> None:
    """Two headers, and a field that says how far they are apart."""
    row = data.draw(st.sampled_from([0, 4]))
    containers = data.draw(st.lists(st.integers(row, row + 3), min_size=2, max_size=2, unique=True))
    words = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 15))
    advance, mask, shift = data.draw(st.integers(16, 24)), data.draw(st.integers(1, 15)), data.draw(st.integers(0, 12))
    length = mask << shift, data.draw(st.integers(0, 1)) - shift
    try:
        program = headers_of(tmp_path, TWO_HEADERS.format(*containers, *words, advance, *length))
    except ProgramError as error:
        assert "are in a row" in str(error)
        reject()
    packet = data.draw(st.integers(0, 0xFFFF)).to_bytes(2, "big") + bytes(range(2, 250))
    record = parse(program.parser.start, stages_of(program.parser), packet)
    assert not record.fault
    original = [*record.containers]
    for container in containers:
        record.containers[container] ^= 0xFFFF
    out = deparse(program.deparser.writers, program.deparser.checksums, record, original, packet)
    assert sum(one != other for one, other in zip(out, packet, strict=True)) == 4


def test_too_many_headers_to_write_back_are_refused(tmp_path: Path) -> None:
    states = "".join(f"[states.s{n}]\nbase = {n}\nextract = {{ kind = 0 }}\nwrite = ['kind']\n" for n in range(7))
    with pytest.raises(ProgramError, match="write at 7 bases; hint: at most 6"):
        program_of(tmp_path, f'begin = "s0"\ncontainers.kind = {{ first = 0 }}\n{states}')
    kinds = "".join(f"[states.s{n}]\nbase = 1\n" for n in range(9))
    with pytest.raises(ProgramError, match="9 states have base 1; hint: at most 8"):
        program_of(tmp_path, f'begin = "s0"\ncontainers.kind = {{ first = 0 }}\n{kinds}')
    with pytest.raises(ProgramError, match="6 headers to write back; hint: this deparser has 3 writers"):
        DeparserImage(3).with_program(read(DEFAULT).deparser, 0)


def test_a_version_of_the_deparser_is_loaded_without_a_write_to_the_other() -> None:
    program = read(DEFAULT).deparser
    image = DeparserImage().with_program(program, 0)
    both = image.with_program(program, 1)
    rows = L.DEPARSER_WRITERS + L.DEPARSER_CHECKSUMS
    of_a_version = dict.fromkeys(ROWS, L.PARSER_KINDS) | {L.DEPARSER_MEMORY_SPLICE: L.SPLICES}
    assert {write.address // of_a_version.get(L.PipelineMemory(write.memory), 1) for write in both.writes(image)} == {1}
    assert len([*both.writes()]) == 2 * (rows * (1 + L.PARSER_KINDS) + L.SPLICES - 1)
    assert [*both.writes(both)] == []
    fewer = both.with_program(DeparserProgram(program.writers[:1]), 1)
    assert {write.unit for write in fewer.writes(both) if write.memory == L.DEPARSER_MEMORY_ROW} == {1, 2, 3, 4, 5}


def test_a_loop_is_unrolled_over_the_stages_and_may_not_extract_again(tmp_path: Path) -> None:
    loop = RIGHT.replace('to = "second"', 'to = "first"')
    with pytest.raises(ProgramError, match="container 'kind' is extracted twice"):
        program_of(tmp_path, loop)
    program = program_of(tmp_path, loop.replace("lookups = [1]", 'lookups = [1]\nreplace = ["kind"]'))
    assert [len(stage) for stage in program.stages] == [2] * 8


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    choices = ", ".join(f'{{ when = ["{value}"], to = "second" }}' for value in range(65))
    with pytest.raises(ProgramError, match="stage 0: 65 entries; hint: a stage has 64"):
        program_of(tmp_path, RIGHT.replace('{ when = ["0x0800"], to = "second" }, { fault = "tags" }', choices))


def some_entry(draw: random.Random) -> Entry:
    masks = [draw.choice([0, 1, 3, 0xFFFF]) for _ in range(2)]
    key = L.ParserKey([draw.randrange(4) & mask for mask in masks], draw.randrange(1, 4))
    return Entry(
        key,
        L.ParserKey(masks, draw.choice([127, 127, 0])),
        L.ParserStep(advance=draw.randrange(64), fault=L.Fault(draw.randrange(3))),
    )


class Memories:
    """What the writes make of the memories, and what a stage then finds: the RTL's lookup, in a few lines."""

    def __init__(self) -> None:
        self.match: dict[tuple[int, int, int], int] = {}
        self.steps: dict[tuple[int, int], int] = {}
        self.starts: dict[int, int] = {}

    def write(self, one: L.PipelineWrite) -> None:
        if one.memory == L.PARSER_MEMORY_MATCH:
            self.match[one.unit, one.address >> 4, one.address & 15] = one.data
        elif one.memory == L.PARSER_MEMORY_STEP:
            self.steps[one.unit, one.address] = one.data
        else:
            self.starts[one.address] = one.data

    def find(self, stage: int, key: int) -> int | None:
        for entry in range(L.PARSER_ENTRIES):
            group, member = divmod(entry, 4)
            words = [self.match[stage, group, key >> 4 * n & 15] >> 4 * n + member & 1 for n in range(10)]
            if all(words):
                return self.steps[stage, entry]
        return None


def found_by(program: ParserProgram, stage: int, key: L.ParserKey) -> int | None:
    wanted = L.ParserKey(key.words, key.state).to_int()
    return next((e.step.to_int() for e in program.stages[stage] if not (wanted ^ e.value.to_int()) & e.mask.to_int()), None)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_packet_finds_the_steps_of_its_version_whatever_is_written(seed: int) -> None:
    draw = random.Random(seed)
    programs = [ParserProgram(L.ParserStart(), (tuple(some_entry(draw) for _ in range(draw.randrange(1, 20))),))] * 2
    memories, image = Memories(), ParserImage(1)
    for turn in range(4):
        version = turn % 2
        entries = list(programs[1 - version].stages[0])
        for _ in range(draw.randrange(4)):
            entries.insert(draw.randrange(len(entries) + 1), some_entry(draw))
            entries.pop(draw.randrange(len(entries)))
        programs[version] = ParserProgram(L.ParserStart(state=turn), (tuple(entries),))
        try:
            wanted = image.with_program(programs[version], version)
        except ProgramError:
            reject()  # no place for both
        keys = [L.ParserKey([draw.randrange(5), draw.randrange(5)], draw.randrange(4), 1 - version) for _ in range(20)]
        for number, write in enumerate(wanted.writes(image if turn else None)):
            memories.write(write)
            if turn and number % 8 == 0:  # under traffic of the other version
                for key in keys[:4]:
                    assert memories.find(0, key.to_int()) == found_by(programs[1 - version], 0, key)
        image = wanted
        for key in keys:
            for either in (0, 1) if turn else (version,):
                key.version = either
                assert memories.find(0, key.to_int()) == found_by(programs[either], 0, key)
    assert len(memories.starts) == 2


def test_equal_programs_share_every_entry_and_one_that_does_not_fit_is_refused() -> None:
    program = read(DEFAULT).parser
    image = ParserImage().with_program(program, 0).with_program(program, 1)
    taken = [sum(place is not None for place in stage) for stage in image.places]
    assert taken == [len(stage) for stage in program.stages]
    draw = random.Random(1)
    other = ParserProgram(L.ParserStart(), tuple(tuple(some_entry(draw) for _ in range(40)) for _ in program.stages))
    left = L.PARSER_ENTRIES - len(program.stages[2])
    with pytest.raises(ProgramError, match=f"stage 2 has no place for entry {left} of 40: 64 of 64 are taken; hint: fewer entries"):
        image.with_program(other, 1)
    assert image.with_program(program, 1).places == image.places
