# SPDX-License-Identifier: Apache-2.0
"""The memories of the programmable parser with up to two versions of its program, and the writes that bring them there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import sluice_layouts as L

from compiler.pipeline.parser_program import Entry, ParserProgram
from compiler.pipeline.ternary import Place, TernaryEntry, match_words, placed

NIBBLES = L.ParserKey.BITS // 4
VERSION_BIT = next(low for name, low, *_ in L.ParserKey.PLACES if name == "version")


def _ternary(entry: Entry) -> TernaryEntry:
    return TernaryEntry(entry.value.to_int(), entry.mask.to_int(), entry.step.to_int())


@dataclass
class ParserImage:
    """What the memories of a parser of `stages` stages hold, as far as matches go."""

    stages: int = L.PARSER_STAGES
    places: list[list[Place | None]] = field(default_factory=list)
    starts: list[L.ParserStart] = field(default_factory=lambda: [L.ParserStart(), L.ParserStart()])
    programs: list[ParserProgram | None] = field(default_factory=lambda: [None, None])

    def __post_init__(self) -> None:
        self.places = self.places or [[None] * L.PARSER_ENTRIES for _ in range(self.stages)]

    def with_program(self, program: ParserProgram, version: int) -> ParserImage:
        """This image with another program as `version`. Raises ProgramError where a stage has no place for it."""
        if program is self.programs[version]:
            return self
        starts, programs = [*self.starts], [*self.programs]
        starts[version], programs[version] = program.start, program
        places = [
            placed(stage, [_ternary(entry) for entry in program.stages[number]], version, f"stage {number}")
            for number, stage in enumerate(self.places)
        ]
        return ParserImage(self.stages, places, starts, programs)

    def writes(self, before: ParserImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from `before`, or from memories of unknown content. What a packet's version has does not
        change on the way, so they can be made under traffic of the other version."""
        for number, stage in enumerate(self.places):
            old = before.places[number] if before else None
            for at, place in enumerate(stage):
                if place and (old is None or (was := old[at]) is None or was.entry.action != place.entry.action):
                    yield L.PipelineWrite(place.entry.action, at, number, L.PARSER_MEMORY_STEP)
            for group, value, word in match_words(stage, old, NIBBLES, VERSION_BIT):
                yield L.PipelineWrite(word, group << 4 | value, number, L.PARSER_MEMORY_MATCH)
        for version, start in enumerate(self.starts):
            if before is None or before.starts[version] != start:
                yield L.PipelineWrite(start.to_int(), version, 0, L.PARSER_MEMORY_START)
