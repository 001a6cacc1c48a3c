# SPDX-License-Identifier: Apache-2.0
"""The memories of the programmable parser with up to two versions of its program, and the writes that bring them there.

Versions share entries that are equal, so a changed program needs places only for what changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import sluice_layouts as L

from compiler.pipeline.parser_program import Entry, ParserProgram, ProgramError

NIBBLES, GROUP = L.ParserKey.BITS // 4, 4


@dataclass(frozen=True)
class Place:
    """An entry of a stage's table, and the versions that have it."""

    entry: Entry
    versions: frozenset[int]

    def takes(self, nibble: int, value: int) -> bool:
        """Whether it takes this value as a nibble of the key."""
        mask = replace(self.entry.mask, version=int(len(self.versions) == 1)).to_int()
        wanted = replace(self.entry.value, version=min(self.versions)).to_int()
        return not (wanted >> 4 * nibble ^ value) & mask >> 4 * nibble & 15


def _nothing(stages: int) -> list[list[Place | None]]:
    return [[None] * L.PARSER_ENTRIES for _ in range(stages)]


@dataclass
class ParserImage:
    """What the memories of a parser of `stages` stages hold, as far as matches go."""

    stages: int = L.PARSER_STAGES
    places: list[list[Place | None]] = field(default_factory=list)
    starts: list[L.ParserStart] = field(default_factory=lambda: [L.ParserStart(), L.ParserStart()])

    def __post_init__(self) -> None:
        self.places = self.places or _nothing(self.stages)

    def with_program(self, program: ParserProgram, version: int) -> ParserImage:
        """This image with another program as `version`. Raises ProgramError where a stage has no place for it."""
        starts = [*self.starts]
        starts[version] = program.start
        places = [
            self._placed(number, [_without(one, version) for one in stage], program.stages[number], version)
            for number, stage in enumerate(self.places)
        ]
        return ParserImage(self.stages, places, starts)

    def _placed(self, number: int, stage: list[Place | None], entries: tuple[Entry, ...], version: int) -> list[Place | None]:
        mine: list[tuple[int, Entry]] = []
        for entry in entries:
            first = max((at + 1 for at, before in mine if entry.overlaps(before)), default=0)
            shared = [
                at for at in range(first, len(stage)) if (one := stage[at]) and one.entry == entry and version not in one.versions
            ]
            free = [at for at in range(first, len(stage)) if stage[at] is None]
            if not shared and not free:
                both = sum(one is not None for one in stage)
                text = f"stage {number} has no place for entry {len(mine)} of {len(entries)}: {both} of {len(stage)} are taken"
                raise ProgramError(f"{text}; hint: fewer entries, or changes in several steps")
            at = (shared or free)[0]
            stage[at] = Place(entry, frozenset({version, *((stage[at] or Place(entry, frozenset())).versions)}))
            mine.append((at, entry))
        return stage

    def writes(self, before: ParserImage | None = None) -> Iterator[L.ParserWrite]:
        """All writes to bring this about from `before`, or from memories of unknown content. What a packet's version has does not
        change on the way, so they can be made under traffic of the other version."""
        for number, stage in enumerate(self.places):
            old = before.places[number] if before else None
            for at, place in enumerate(stage):
                if place and (old is None or (was := old[at]) is None or was.entry.step != place.entry.step):
                    yield L.ParserWrite(place.entry.step.to_int(), at, number, L.PARSER_MEMORY_STEP)
            for group in range(len(stage) // GROUP):
                members = slice(GROUP * group, GROUP * (group + 1))
                if old is None or old[members] != stage[members]:
                    yield from _match_words(stage[members], group, number)
        for version, start in enumerate(self.starts):
            if before is None or before.starts[version] != start:
                yield L.ParserWrite(start.to_int(), version, 0, L.PARSER_MEMORY_START)


def _without(place: Place | None, version: int) -> Place | None:
    left = place.versions - {version} if place else frozenset()
    return Place(place.entry, left) if place and left else None


def _match_words(members: list[Place | None], group: int, stage: int) -> Iterator[L.ParserWrite]:
    for value in range(16):
        bits = 0
        for nibble in range(NIBBLES):
            for member, place in enumerate(members):
                bits |= int(bool(place and place.takes(nibble, value))) << GROUP * nibble + member
        yield L.ParserWrite(bits, group << 4 | value, stage, L.PARSER_MEMORY_MATCH)
