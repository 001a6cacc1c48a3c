# SPDX-License-Identifier: Apache-2.0
"""Where the words of packets are in the pipeline, and the program of it: parser, deparser, units.

The parser reads the words that a program compares, changes or copies into containers, in steps that do not move and demand nothing
of the packet, so that words behind its end read 0 as in a flit. The deparser writes back those that change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sluice_layouts as L

from compiler.frontend.source import Span
from compiler.overlay.bits import LENGTH, PORT, OverlayError, number_of, word_name
from compiler.overlay.conditions import Cube
from compiler.overlay.graph import HOST
from compiler.overlay.operations import words_of
from compiler.overlay.process import ProcessDraft
from compiler.overlay.units import Effect, UnitDraft
from compiler.pipeline.actions import Operation, action
from compiler.pipeline.parser_program import (
    ANY_STATE,
    DeparserProgram,
    Entry,
    HeaderProgram,
    ParserProgram,
    ProgramError,
)
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram
from compiler.pipeline.unit_image import NOTHING, UnitEntry, UnitProgram
from compiler.stateful.program import ProcessProgram, assembled

FIXED = {PORT: L.SOURCE_PORT, LENGTH: L.SOURCE_LENGTH, "mark 0": L.PIPELINE_MARK, "mark 1": L.PIPELINE_MARK + 1}


@dataclass(frozen=True)
class Sizes:
    """Of a pipeline: what a program must fit into."""

    stages: int = L.PARSER_STAGES
    units: int = 2
    writers: int = L.DEPARSER_WRITERS
    exact: int = 256
    ternary: int = 64
    stateful: int | None = None  # a mask of the units that are stateful ones; None: those that a program needs
    composed: bool = True  # these have composed updates

    @staticmethod
    def of(image: PipelineImage) -> Sizes:
        """Of the pipeline with these memories."""
        unit, mask = image.units[0], sum(1 << number for number in image.stateful)
        composed = all(stateful.sizes.composed for stateful in image.stateful.values())
        most = image.parser.stages, len(image.units), image.deparser.writers, unit.exact_entries, unit.ternary_entries
        return Sizes(*most, mask, composed)

    def place_of_stateful(self, stateless: int, span: Span) -> int:
        """The unit for a program with state behind so many stateless units. Raises OverlayError."""
        mask = -1 if self.stateful is None else self.stateful
        found = [number for number in range(stateless, self.units) if mask >> number & 1]
        if not found:
            known = "any" if self.stateful is None else f"0x{self.stateful:x}"
            text = f"no stateful unit behind {stateless} others; this pipeline has {self.units} units, stateful ones: {known}"
            raise OverlayError("E0809", text, span, f"a device with pipeline_units={stateless + 1},stateful_units={1 << stateless}")
        return found[0]

    @property
    def most_entries(self) -> int:
        """Of a unit before those at its end that do what it does without a match are taken away."""
        return 2 * max(self.exact, self.ternary)


@dataclass(frozen=True)
class Placed:
    """A program, and where its words are."""

    program: PipelineProgram
    containers: Mapping[str, int]
    written: tuple[str, ...]
    checksums: Mapping[str, frozenset[str]]
    stateful: PlacedProcess | None = None


@dataclass(frozen=True)
class PlacedProcess:
    """A program of the stateful unit, the last of the row, and its text."""

    text: str
    program: ProcessProgram


def placed(units: Sequence[UnitDraft], process: ProcessDraft | None, sizes: Sizes, fallback: Span) -> Placed:
    """The program of these units. Raises OverlayError where it does not fit."""
    _check_sizes(units, sizes)
    effects = [(effect, span) for unit in units for _, effect, span in unit.entries]
    checksums = _checksums([*(_following(*one) for one in effects), *_following_of(process)], fallback)
    changed = {change.target for effect, _ in effects for change in effect.changes} | checksums.keys()
    changed |= process.written if process is not None else set()
    written = tuple(sorted((name for name in changed if number_of(name) is not None), key=lambda name: number_of(name) or 0))
    containers = _containers(units, [effect for effect, _ in effects], checksums, process, written)
    headers = _headers(containers, written, checksums, sizes, fallback)
    number = None if process is None else sizes.place_of_stateful(len(units), process.span)
    programs = [_unit(unit, units, number, containers) for unit in units]
    if process is None or number is None:
        return Placed(PipelineProgram(headers, tuple(programs)), containers, written, checksums)
    if number and not units:
        programs.append(UnitProgram(L.UnitSelector(), (), action(following=number)))
    programs += [NOTHING] * (number + 1 - len(programs))
    stateful = _process(process, containers)
    program = PipelineProgram(headers, tuple(programs), stateful={number: stateful.program})
    return Placed(program, containers, written, checksums, stateful)


def _process(process: ProcessDraft, containers: Mapping[str, int]) -> PlacedProcess:
    text = process.text(containers)
    try:
        made = assembled(text, "the stateful unit")
    except ProgramError as error:
        reason, _, hint = str(error).removeprefix("the stateful unit: ").partition("; hint: ")
        raise OverlayError(
            "E0809", f"the stateful unit: {reason}", process.span, hint or "less state, or fewer conditions"
        ) from error
    return PlacedProcess(text, made)


def _check_sizes(units: Sequence[UnitDraft], sizes: Sizes) -> None:
    if len(units) > sizes.units:
        text = f"the program needs {len(units)} units; this pipeline has {sizes.units}"
        hint = "compare fewer words in all, use fewer tables, or a device with more units"
        raise OverlayError("E0809", text, units[sizes.units].span, hint)
    for unit in units:
        places, kind = (sizes.exact, "exact") if unit.exact else (sizes.ternary, "ternary")
        if len(unit.entries) - 1 > places:
            text = f"{len(unit.entries) - 1} {kind} entries; a unit of this pipeline has {places}"
            raise OverlayError("E0809", text, unit.entries[places][2], "fewer rules, or simpler conditions before the table")


@dataclass(frozen=True)
class _Following:
    """The words that some packets change, with the places that say so, and the checksums that follow words."""

    changed: Mapping[str, Span]
    checksums: Mapping[str, frozenset[str]]
    span: Span


def _following(effect: Effect, span: Span) -> _Following:
    return _Following({change.target: change.span for change in effect.changes}, dict(effect.checksums), span)


def _following_of(process: ProcessDraft | None) -> Iterator[_Following]:
    for does in (entry.does for entry in (process.entries if process is not None else ())):
        assert process is not None
        checksums = dict(does.checksums)
        yield _Following(dict.fromkeys(does.changed - checksums.keys(), process.span), checksums, process.span)


def _checksums(everything: Sequence[_Following], fallback: Span) -> dict[str, frozenset[str]]:
    """The words that each checksum follows; on every path that changes one of them it must."""
    found: dict[str, frozenset[str]] = {}
    for one in everything:
        for name, words in one.checksums.items():
            found[name] = found.get(name, frozenset()) | words
    for one in everything:
        for name, words in found.items():
            if one.changed.keys() & words != one.changed.keys() & one.checksums.get(name, frozenset()):
                place = next((span for word, span in one.changed.items() if word in words), one.span)
                hint = "a checksum that follows a field on one path follows it on all: call checksum_updated() here too"
                raise OverlayError("E0808", "this change leaves a checksum as it was that other changes update", place, hint)
    if len(found) > L.DEPARSER_CHECKSUMS:
        text = f"{len(found)} checksums to update; the pipeline has {L.DEPARSER_CHECKSUMS} checksum units"
        raise OverlayError("E0809", text, fallback, "update fewer")
    return found


def _containers(
    units: Sequence[UnitDraft],
    effects: Sequence[Effect],
    checksums: Mapping[str, frozenset[str]],
    process: ProcessDraft | None,
    written: Sequence[str],
) -> dict[str, int]:
    """A container for each word: those that one action changes have different numbers modulo UNIT_OPERATIONS; those that the
    stateful unit reads at once are in a row; those of a row of the deparser that are written go to different columns."""
    names: dict[str, set[str]] = {name: set() for unit in units for name in unit.words}
    for effect in effects:
        targets = [change.target for change in effect.changes]
        for change in effect.changes:
            for name in words_of(change):
                names.setdefault(name, set())
            names[change.target] |= {*targets} - {change.target}
    for name in (*checksums, *(word for words in checksums.values() for word in words)):
        names.setdefault(name, set())
    free = [number for number in range(L.PIPELINE_CONTAINERS) if number not in FIXED.values()]
    found = {name: number for name, number in FIXED.items() if name in names}

    def goes(name: str, number: int) -> bool:
        """No container of the row that has a place is written to the column that this one is written to."""
        columns = [_column(other) for other in written if found.get(other, -1) // L.DEPARSER_ROW == number // L.DEPARSER_ROW]
        return name not in written or _column(name) not in columns

    if process is not None:
        for first, last in process.runs:
            even = {(pair - first) % 2 for pair in process.pairs if first <= pair <= last}
            run = {word_name(word): word - first for word in range(first, last + 1)}
            free_run = (one for one in free if all(one + at in free and goes(name, one + at) for name, at in run.items()))
            begin = next((one for one in free_run if all((one + at) % 2 == 0 for at in even)), None)
            if begin is None:
                text, hint = "the stateful unit writes pairs of words that overlap", "write fields of 16 or 32 bits side by side"
                if len(even) < 2:
                    text = f"no containers are left for {word_name(first)} to {last}, which the stateful unit has side by side"
                    hint = "use fewer words of the packet"
                raise OverlayError("E0809", text, process.span, hint)
            found |= {name: begin + at for name, at in run.items()}
            free = [number for number in free if not begin <= number <= begin + last - first]
        for name, _ in process.key:
            names.setdefault(name, set())
    left = (name for name in names if name not in FIXED and name not in found)
    for name in sorted(left, key=lambda name: (-len(names[name]), name not in written, number_of(name) or 0)):
        fitting = [number for number in free if goes(name, number)]
        if not fitting:  # without a stateful unit there is always one: at most 32 words are written, four of them to a column
            assert process is not None
            text = f"{name} cannot be written back: each row of the deparser has a word for its column"
            raise OverlayError("E0809", text, process.span, "use fewer words of the packet")
        taken = {found[other] % L.UNIT_OPERATIONS for other in names[name] if other in found}
        number = next((one for one in fitting if one % L.UNIT_OPERATIONS not in taken), fitting[0])  # `action` refuses the latter
        free.remove(number)
        found[name] = number
    return found


def _column(name: str) -> int:
    return (number_of(name) or 0) % L.DEPARSER_COLUMNS


def _headers(
    containers: Mapping[str, int], written: Sequence[str], checksums: Mapping[str, frozenset[str]], sizes: Sizes, span: Span
) -> HeaderProgram:
    """Steps that each read the words of a row of containers, and writers for those with words that change."""
    rows: dict[int, dict[int, int]] = {}
    for name, container in containers.items():
        if (word := number_of(name)) is not None:
            rows.setdefault(container // L.PARSER_SLOTS, {})[container] = word
    steps = [rows[row] for row in sorted(rows)] or [{}]
    stages: list[tuple[Entry, ...]] = [() for _ in range(sizes.stages)]
    writers = []
    for number, words in enumerate(steps):
        following = number + 2 if number + 1 < len(steps) else L.PARSER_DONE
        step = L.ParserStep(state=following, base=number, has_base=1)
        row = L.DeparserRow()
        for container, word in words.items():
            place = L.ParserExtract(1 + container // L.PARSER_SLOTS, word)
            step.extracts[container % L.PARSER_SLOTS] = place
            if word_name(word) in written:
                row.places[container % L.PARSER_SLOTS] = place
        if any(place.row for place in row.places):
            writers.append((number, {0: row}))
        stages[number] = (Entry(L.ParserKey([0, 0], number + 1, 0), L.ParserKey([0, 0], ANY_STATE, 0), step),)
    if len(steps) > sizes.stages or len(writers) > sizes.writers:
        text = f"the program uses {len(containers)} words of the packet, in {len(steps)} steps of the parser"
        raise OverlayError("E0809", text, span, "use fewer, or a device with more parser stages and writers")
    sums = tuple(
        (0, {0: L.ChecksumRow(sum(1 << containers[word] for word in words), containers[name], 1, 0)})
        for name, words in checksums.items()
    )
    parser = ParserProgram(L.ParserStart([0, 0], 1), tuple(stages))
    return HeaderProgram(parser, DeparserProgram(tuple(writers), sums), {})


def _unit(unit: UnitDraft, units: Sequence[UnitDraft], stateful: int | None, containers: Mapping[str, int]) -> UnitProgram:
    sources = [containers[name] if name in containers else FIXED[name] for name in unit.words]
    cares = 0
    entries = []
    for cube, effect, span in unit.entries[:-1]:
        value, mask = _key(cube, unit.words)
        cares |= mask
        entries.append(UnitEntry(value, mask, _action(effect, units, stateful, containers, span)))
    words = [*sources, *[0] * (L.UNIT_KEY_WORDS - len(sources))]
    selector = L.UnitSelector(words, cares, int(unit.exact))
    return UnitProgram(selector, tuple(entries), _action(unit.entries[-1][1], units, stateful, containers, unit.entries[-1][2]))


def _key(cube: Cube, words: Sequence[str]) -> tuple[int, int]:
    """Value and mask; the first word is the lowest of the key."""
    value, mask = 0, 0
    for (name, at), bit in cube.items():
        place = 16 * words.index(name) + at
        value, mask = value | bit << place, mask | 1 << place
    return value, mask


def _number(following: UnitDraft | ProcessDraft | None, units: Sequence[UnitDraft], stateful: int | None) -> int:
    if isinstance(following, ProcessDraft):
        assert stateful is not None
        return stateful
    return L.UNIT_END if following is None else units.index(following)


def _action(
    effect: Effect, units: Sequence[UnitDraft], stateful: int | None, containers: Mapping[str, int], span: Span
) -> L.UnitAction:
    operations = []
    for change in effect.changes:
        source = None if change.source is None else FIXED.get(change.source, containers.get(change.source))
        operations.append(Operation(containers[change.target], change.kind, change.value, source, change.mask))
    following = _number(effect.following, units, stateful)
    try:
        return action(operations, following, effect.verdict, effect.lanes, effect.queue)
    except ProgramError as error:
        text = f"{len(operations)} words change at once; an action has {L.UNIT_OPERATIONS} operations, on containers that differ"
        raise OverlayError("E0809", text, span, "change fewer words of a packet") from error


assert HOST == L.HOST_PORT
