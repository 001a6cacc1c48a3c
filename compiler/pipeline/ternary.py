# SPDX-License-Identifier: Apache-2.0
"""Where the entries of a ternary table are, and the words of its memory.

A table holds two versions of a program. They share entries that are equal, so a changed program needs places only for what changed.
The first of several matching entries is taken, so an entry stands behind those before it that it overlaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.pipeline.parser_program import ProgramError

GROUP = 4  # entries that share the words of the memory


@dataclass(frozen=True)
class TernaryEntry:
    """Key bits under a mask, without the version, and what is done (any number that tells it from others)."""

    value: int
    mask: int
    action: int

    def overlaps(self, other: TernaryEntry) -> bool:
        """Whether one key can match both."""
        return not (self.value ^ other.value) & self.mask & other.mask


@dataclass(frozen=True)
class Place:
    """An entry in a table, and the versions that have it."""

    entry: TernaryEntry
    versions: frozenset[int]

    def accepts(self, nibble: int, value: int, version_bit: int) -> bool:
        """Whether it accepts this value as a nibble of the key, of which one bit is the version."""
        mask = self.entry.mask | int(len(self.versions) == 1) << version_bit
        wanted = self.entry.value | min(self.versions) << version_bit
        return not (wanted >> 4 * nibble ^ value) & mask >> 4 * nibble & 15


def placed(table: Sequence[Place | None], entries: Sequence[TernaryEntry], version: int, where: str) -> list[Place | None]:
    """The table with these entries as that version, in their order. Raises ProgramError where there is no place for them."""
    places = [_without(place, version) for place in table]
    mine: list[tuple[int, TernaryEntry]] = []
    for entry in entries:
        first = max((at + 1 for at, before in mine if entry.overlaps(before)), default=0)
        at = _place(places, entry, version, first)
        if at is None:
            taken = sum(place is not None for place in places)
            text = f"{where} has no place for entry {len(mine)} of {len(entries)}: {taken} of {len(places)} are taken"
            raise ProgramError(f"{text}; hint: fewer entries, or changes in several steps")
        versions = place.versions if (place := places[at]) else frozenset()
        places[at] = Place(entry, versions | {version})
        mine.append((at, entry))
    return places


def _place(places: Sequence[Place | None], entry: TernaryEntry, version: int, first: int) -> int | None:
    """The first place of an equal entry of the other version, else the first that is free."""
    free = None
    for at in range(first, len(places)):
        place = places[at]
        if place is None:
            free = at if free is None else free
        elif place.entry == entry and version not in place.versions:
            return at
    return free


def _without(place: Place | None, version: int) -> Place | None:
    left = place.versions - {version} if place else frozenset()
    return Place(place.entry, left) if place and left else None


def match_words(
    table: Sequence[Place | None], before: Sequence[Place | None] | None, nibbles: int, version_bit: int
) -> Iterator[tuple[int, int, int]]:
    """(group, value, word) for each group of entries that is not as before: the entries that accept the value as each nibble."""
    for group in range(len(table) // GROUP):
        members = table[GROUP * group : GROUP * (group + 1)]
        if before is not None and before[GROUP * group : GROUP * (group + 1)] == members:
            continue
        for value in range(16):
            word = 0
            for member, place in enumerate(members):
                for nibble in range(nibbles) if place else ():
                    word |= int(place is not None and place.accepts(nibble, value, version_bit)) << GROUP * nibble + member
            yield group, value, word
