# SPDX-License-Identifier: Apache-2.0
"""The memories of a unit of the programmable pipeline with two versions of its program, and the writes that bring them there."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sluice_layouts as L

from compiler.pipeline.hash_function import Hash
from compiler.pipeline.parser_program import ProgramError
from compiler.pipeline.ternary import Place, TernaryEntry, match_words, placed

KEY_BITS = 16 * L.UNIT_KEY_WORDS
TERNARY_NIBBLES = (KEY_BITS + 4) // 4  # with the version
WAYS, SEED = 4, 0  # of sl_pipeline_pkg
FARTHEST = 500  # slots that are looked at for the place of an exact entry


@dataclass(frozen=True)
class UnitEntry:
    """Key bits under a mask (exact: under the selector's), and the action of packets that have them."""

    value: int
    mask: int
    action: L.UnitAction


@dataclass(frozen=True)
class UnitProgram:
    """How a unit makes its key, what it looks it up in (the first that matches is taken), and what it does without a match."""

    selector: L.UnitSelector
    entries: tuple[UnitEntry, ...]
    miss: L.UnitAction


NOTHING = UnitProgram(L.UnitSelector(), (), L.UnitAction(next=L.UNIT_END))
ExactEntry = tuple[int, int]  # key, action word


@dataclass(frozen=True)
class Exact:
    """The exact table: the entry at each (way, slot), and the place of its action; the versions that have an entry."""

    slots: Mapping[tuple[int, int], ExactEntry] = field(default_factory=dict)
    actions: Mapping[ExactEntry, int] = field(default_factory=dict)
    versions: Mapping[ExactEntry, frozenset[int]] = field(default_factory=dict)

    def word(self, at: tuple[int, int]) -> L.UnitExact:
        """What a slot holds; nothing matches a word without versions."""
        if (entry := self.slots.get(at)) is None:
            return L.UnitExact()
        return L.UnitExact(entry[0], self.actions[entry], sum(1 << version for version in self.versions[entry]))


@dataclass(frozen=True)
class UnitImage:
    """What the memories of a unit hold, as far as matches go. `moves` are the words of the exact table that the last program
    changed, in the order in which they must be written: an entry that moves is in two slots for a while, never in none. `added` are
    the numbers of actions that only the last program has: they are written, and their counters begin at 0."""

    exact_entries: int
    ternary_entries: int
    programs: tuple[UnitProgram, UnitProgram] = (NOTHING, NOTHING)
    exact: Exact = field(default_factory=Exact)
    ternary: Sequence[Place | None] = ()
    moves: tuple[tuple[tuple[int, int], L.UnitExact], ...] = ()
    added: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not self.ternary:
            object.__setattr__(self, "ternary", [None] * self.ternary_entries)

    def with_program(self, program: UnitProgram, version: int) -> UnitImage:
        """This image with another program as `version`. Raises ProgramError where a table has no place for it."""
        image = replace(self, moves=()) if program == self.programs[version] else self._placed(program, version)
        same_miss = program.miss == self.programs[0].miss == self.programs[1].miss
        return replace(image, added=frozenset([*image._only(version), *([] if same_miss else [self._miss(version)])]))

    def _placed(self, program: UnitProgram, version: int) -> UnitImage:
        programs = (program, self.programs[1]) if version == 0 else (self.programs[0], program)
        exact = bool(program.selector.exact)
        entries = [TernaryEntry(entry.value & entry.mask, entry.mask, entry.action.to_int()) for entry in program.entries]
        ternary = placed(self.ternary, [] if exact else entries, version, "the ternary table")
        placing = _Placing(self.exact, self.exact_entries, version)
        placing.load(
            {entry.value & program.selector.mask: entry.action.to_int() for entry in reversed(program.entries if exact else ())}
        )
        return replace(self, programs=programs, exact=placing.table(), ternary=ternary, moves=tuple(placing.moves))

    def action_of(self, entry: UnitEntry | None, version: int) -> int:
        """The number of the action of an entry of a version, or of the packets without a match. KeyError: it has no such entry."""
        program = self.programs[version]
        if entry is None:
            return self._miss(version)
        if program.selector.exact:
            return self.exact.actions[entry.value & program.selector.mask, entry.action.to_int()]
        wanted = TernaryEntry(entry.value & entry.mask, entry.mask, entry.action.to_int())
        places = (at for at, place in enumerate(self.ternary) if place and place.entry == wanted and version in place.versions)
        if (found := next(places, None)) is None:
            raise KeyError(entry)
        return self.exact_entries + found

    def copies(self, version: int) -> dict[int, int]:
        """Entries of a version that the other one has at another place too: number of its action there, and here. An entry is
        copied where the order of ternary entries asks for it; both versions have an action for packets without a match."""
        other = 1 - version
        own = {place.entry: at for at, place in enumerate(self.ternary) if place and version in place.versions}
        base = self.exact_entries
        copies = {
            base + at: base + own[place.entry]
            for at, place in enumerate(self.ternary)
            if place and other in place.versions and version not in place.versions and place.entry in own
        }
        if self.programs[0].miss == self.programs[1].miss:
            copies[self._miss(other)] = self._miss(version)
        return copies

    def action_numbers(self) -> set[int]:
        """The numbers of all actions of both versions."""
        return {*self._actions()}

    def lost(self, version: int, after: UnitImage) -> dict[int, int]:
        """Copies of entries of the other version that `after` gives up, which has another program as this version: what was counted
        there is to be added to the action here."""
        actions = after.action_numbers()
        return {there: here for there, here in self.copies(1 - version).items() if there in after.added or there not in actions}

    def writes(self, unit: int, before: UnitImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from the image before the last `with_program`, or from memories of unknown content. What
        a packet's version has does not change on the way, so they can be made under traffic of the other version."""
        for number, action in self._actions().items():
            if before is None or number in self.added:
                yield L.PipelineWrite(action, number, unit, L.UNIT_MEMORY_ACTION)
        slots = self.exact_entries // WAYS
        words = self.moves if before else [(at, self.exact.word(at)) for at in ((w, s) for w in range(WAYS) for s in range(slots))]
        for (way, slot), word in words:
            yield L.PipelineWrite(word.to_int(), way << 14 | slot, unit, L.UNIT_MEMORY_EXACT)
        old = before.ternary if before else None
        for group, value, bits in match_words(self.ternary, old, TERNARY_NIBBLES, KEY_BITS):
            yield L.PipelineWrite(bits, group << 4 | value, unit, L.UNIT_MEMORY_TERNARY)
        for version, program in enumerate(self.programs):
            if before is None or before.programs[version].selector != program.selector:
                yield L.PipelineWrite(program.selector.to_int(), version, unit, L.UNIT_MEMORY_SELECTOR)

    def _actions(self) -> dict[int, int]:
        """Action words by number."""
        actions = {number: entry[1] for entry, number in self.exact.actions.items()}
        actions |= {self.exact_entries + at: place.entry.action for at, place in enumerate(self.ternary) if place}
        return actions | {self._miss(version): program.miss.to_int() for version, program in enumerate(self.programs)}

    def _only(self, version: int) -> Iterator[int]:
        """Numbers of the actions of entries that the other version has not."""
        yield from (number for entry, number in self.exact.actions.items() if self.exact.versions[entry] == {version})
        yield from (self.exact_entries + at for at, place in enumerate(self.ternary) if place and place.versions == {version})

    def _miss(self, version: int) -> int:
        return self.exact_entries + self.ternary_entries + version


@functools.cache
def _hash(slots: int) -> Hash:
    return Hash(KEY_BITS, slots, WAYS, SEED)


class _Placing:
    """An exact table on the way to another program."""

    def __init__(self, table: Exact, entries: int, version: int) -> None:
        self.slots, self.actions, self.versions = dict(table.slots), dict(table.actions), dict(table.versions)
        self.entries, self.version = entries, version
        self.hash = _hash(entries // WAYS)
        self.moves: list[tuple[tuple[int, int], L.UnitExact]] = []

    def table(self) -> Exact:
        return Exact(self.slots, self.actions, self.versions)

    def load(self, wanted: Mapping[int, int]) -> None:
        """Make the entries of the version these. Raises ProgramError where one has no place."""
        for at, entry in [*self.slots.items()]:
            if self.version in self.versions[entry] and wanted.get(entry[0]) != entry[1]:
                self._set_versions(at, entry, self.versions[entry] - {self.version})
        at_of = {entry: at for at, entry in self.slots.items()}
        for entry in wanted.items():
            if entry not in at_of:
                self._insert(entry, len(wanted))
            elif self.version not in self.versions[entry]:
                self._set_versions(
                    next(at for at, one in self.slots.items() if one == entry), entry, self.versions[entry] | {self.version}
                )

    def _set_versions(self, at: tuple[int, int], entry: ExactEntry, versions: frozenset[int]) -> None:
        self.versions[entry] = versions
        if not versions:
            del self.slots[at], self.actions[entry], self.versions[entry]
        self.moves.append((at, self.table().word(at)))

    def _insert(self, entry: ExactEntry, count: int) -> None:
        path = self._path(entry[0])
        free = self.entries - len(self.actions)
        if not path or not free:
            text = f"the exact table has no place for one of {count} entries: {len(self.slots)} of {self.entries} are taken"
            raise ProgramError(f"{text}; hint: fewer entries, or changes in several steps")
        for to, at in zip(reversed(path[1:]), reversed(path[:-1]), strict=True):  # the last moves into the free slot first
            self.slots[to] = self.slots[at]
            self.moves.append((to, self.table().word(to)))
        used = set(self.actions.values())
        self.actions[entry] = next(number for number in range(self.entries) if number not in used)
        self.versions[entry] = frozenset({self.version})
        self.slots[path[0]] = entry
        self.moves.append((path[0], self.table().word(path[0])))

    def _path(self, key: int) -> list[tuple[int, int]]:
        """Slots from one of the key's to a free one, each a slot of the key in the slot before; empty: there is none nearby."""
        paths = deque([at] for at in enumerate(self.hash.slots(key)))
        seen = {path[0] for path in paths}
        while paths and len(seen) < FARTHEST:
            path = paths.popleft()
            entry = self.slots.get(path[-1])
            if entry is None:
                return path
            for at in enumerate(self.hash.slots(entry[0])):
                if at not in seen:
                    seen.add(at)
                    paths.append([*path, at])
        return next((path for path in paths if path[-1] not in self.slots), [])
