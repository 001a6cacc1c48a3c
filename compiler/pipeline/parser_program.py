# SPDX-License-Identifier: Apache-2.0
"""A program of the programmable parser and deparser: read from TOML, checked, and made into the entries of each stage.

docs/design/pipeline.md describes the file. A state stands for a header; every state that a stage can be in gives that stage its
entries, in the order of the file. The deparser's rows are those of the states that name what is written back.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sluice_layouts as L

DONE = "done"
WORD = 0xFFFF
Row = TypeVar("Row")
ANY_STATE = next((1 << bits) - 1 for name, _, bits, *_ in L.ParserKey.PLACES if name == "state")


class ProgramError(ValueError):
    """What is wrong with a program: file, state, cause, what to do."""


@dataclass(frozen=True)
class Length:
    """The length field of a header: word `word` under `mask` counts 2**`scale` words."""

    word: int
    mask: int
    scale: int


@dataclass(frozen=True)
class Choice:
    """What follows a header whose compared words agree with `value` under `mask`; `fault` other than none ends the packet."""

    value: tuple[int, ...]
    mask: tuple[int, ...]
    to: str
    advance: int
    length: Length | None
    fault: L.Fault


@dataclass(frozen=True)
class Checksum:
    """The checksum in a header: its container, those that it covers, whether 0 says that there is none."""

    container: int
    covers: frozenset[int]
    optional: bool


@dataclass(frozen=True)
class State:
    """A header: its place among the bases, what is extracted (container: word), the words that are compared, what follows; what the
    deparser writes back."""

    name: str
    number: int
    base: int | None
    kind: int
    writes: frozenset[int]
    checksum: Checksum | None
    needs: int
    extracts: Mapping[int, int]
    replaces: frozenset[int]
    lookups: tuple[int, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Entry:
    """A line of a stage's table: key bits under a mask, version apart, and what is done."""

    value: L.ParserKey
    mask: L.ParserKey
    step: L.ParserStep


@dataclass(frozen=True)
class ParserProgram:
    """Where packets begin, and the entries of each stage; the first that matches is taken."""

    start: L.ParserStart
    stages: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class DeparserProgram:
    """Rows of each writer and each checksum unit by the kind of header, with the base that it serves."""

    writers: tuple[tuple[int, Mapping[int, L.DeparserRow]], ...] = ()
    checksums: tuple[tuple[int, Mapping[int, L.ChecksumRow]], ...] = ()


@dataclass(frozen=True)
class HeaderProgram:
    """What a file says of headers: how they are read, how they are written back, and the containers by name."""

    parser: ParserProgram
    deparser: DeparserProgram
    containers: Mapping[str, range]


def read(path: Path, stages: int = L.PARSER_STAGES) -> HeaderProgram:
    """The program of a file. Raises ProgramError, OSError."""
    try:
        text = path.read_text(encoding="utf-8")
        return _Reader(path.name, tomllib.loads(text), stages).program()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProgramError(f"{path.name}: {error}") from error


class _Reader:
    def __init__(self, name: str, text: Mapping[str, Any], stages: int) -> None:
        self.name, self.stages = name, stages
        self._known("the file", text, ("begin", "containers", "states"))
        self.containers = {one: self._container(one, place) for one, place in self._table(text, "containers").items()}
        tables = self._alike(self._table(text, "states"))
        if len(tables) > ANY_STATE:
            raise self._error("the file", f"{len(tables)} states; hint: at most {ANY_STATE}")
        if DONE in tables:
            raise self._error(f"state {DONE}", "this name is taken; hint: it is the state behind the last header")
        self.numbers = {DONE: L.PARSER_DONE, **{one: number for number, one in enumerate(tables, 1)}}
        kinds = self._kinds(tables)
        self.states = {one: self._state(one, table, kinds.get(one, 0)) for one, table in tables.items()}
        self.begin = text.get("begin")
        if self.begin not in self.states:
            raise self._error(
                "the file", f"undefined state {self.begin!r} to begin with; hint: begin = one of {self._some(self.states)}"
            )

    def program(self) -> HeaderProgram:
        begin = self.states[self.begin or ""]
        reached = self._reached()
        stages = tuple(tuple(entry for one in names for entry in self._entries(one)) for names in reached)
        for number, entries in enumerate(stages):
            if len(entries) > L.PARSER_ENTRIES:
                raise self._error(f"stage {number}", f"{len(entries)} entries; hint: a stage has {L.PARSER_ENTRIES}")
        parser = ParserProgram(L.ParserStart(_padded(begin.lookups), begin.number), stages)
        writers = self._units("write", L.DEPARSER_WRITERS, {one: _row(state) for one, state in self.states.items() if state.writes})
        sums = {one: _checksum_row(state.checksum) for one, state in self.states.items() if state.checksum}
        deparser = DeparserProgram(writers, self._units("checksum", L.DEPARSER_CHECKSUMS, sums))
        return HeaderProgram(parser, deparser, self.containers)

    def _units(self, key: str, most: int, rows: Mapping[str, Row]) -> tuple[tuple[int, Mapping[int, Row]], ...]:
        """The rows of each base by kind."""
        bases: dict[int, dict[int, Row]] = {}
        for name, row in rows.items():
            bases.setdefault(self.states[name].base or 0, {})[self.states[name].kind] = row
        if len(bases) > most:
            raise self._error("the file", f"{key} at {len(bases)} bases; hint: at most {most}")
        return tuple(sorted(bases.items()))

    def _alike(self, tables: Mapping[str, Any]) -> Mapping[str, Any]:
        """The states; one that is `like` another has what it does not say itself from there."""
        for name, table in tables.items():
            if "like" in table and "like" in tables.get(str(table["like"]), {"like": ""}):
                raise self._error(f"state {name}", f"like is {table['like']!r}; hint: a state that is not like another")
        return {name: {**tables[table["like"]], **table} if "like" in table else table for name, table in tables.items()}

    def _kinds(self, tables: Mapping[str, Any]) -> Mapping[str, int]:
        """The number of each state among those with its base."""
        kinds: dict[str, int] = {}
        for base in range(L.PARSER_BASES):
            names = [name for name, table in tables.items() if table.get("base") == base]
            if len(names) > L.PARSER_KINDS:
                raise self._error("the file", f"{len(names)} states have base {base}; hint: at most {L.PARSER_KINDS}")
            kinds |= {name: kind for kind, name in enumerate(names)}
        return kinds

    def _error(self, where: str, text: str) -> ProgramError:
        return ProgramError(f"{self.name}: {where}: {text}")

    @staticmethod
    def _some(names: Mapping[str, object] | Sequence[str]) -> str:
        return ", ".join(names)

    def _known(self, where: str, table: Mapping[str, Any], keys: Sequence[str]) -> None:
        for key in table:
            if key not in keys:
                raise self._error(where, f"unknown key '{key}'; hint: {self._some(keys)}")

    def _table(self, text: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        table = text.get(key)
        if not isinstance(table, dict) or not table or not all(isinstance(one, dict) for one in table.values()):
            raise self._error("the file", f"no [{key}.NAME]")
        return table

    def _number(self, where: str, table: Mapping[str, Any], key: str, least: int, most: int, default: int | None = None) -> int:
        value = table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._error(where, f"{key} is {value!r}; hint: a number from {least} to {most}")
        return value

    def _container(self, name: str, table: Mapping[str, Any]) -> range:
        where = f"container {name}"
        self._known(where, table, ("first", "words"))
        first = self._number(where, table, "first", 0, L.PIPELINE_CONTAINERS - 1)
        return range(first, first + self._number(where, table, "words", 1, L.PIPELINE_CONTAINERS - first, 1))

    def _length(self, where: str, table: Any) -> Length | None:
        if table is None:
            return None
        if not isinstance(table, dict):
            raise self._error(where, "length is no table; hint: length = { word = 0, mask = 0x0f00, scale = -7 }")
        self._known(where, table, ("word", "mask", "scale"))
        return Length(
            self._number(where, table, "word", 0, L.PARSER_REACH - 1),
            self._number(where, table, "mask", 1, WORD),
            self._number(where, table, "scale", -16, 15, 0),
        )

    def _state(self, name: str, table: Mapping[str, Any], kind: int) -> State:
        where = f"state {name}"
        keys = ("like", "base", "needs", "extract", "replace", "write", "checksum", "lookups", "advance", "length", "next")
        self._known(where, table, keys)
        lookups = table.get("lookups", [])
        if not isinstance(lookups, list) or len(lookups) > L.PARSER_LOOKUPS:
            raise self._error(where, f"lookups is {lookups!r}; hint: at most {L.PARSER_LOOKUPS} words of the header")
        lookups = [self._number(where, {"lookups": word}, "lookups", 0, L.PARSER_REACH - 1) for word in lookups]
        followers = table.get("next", [{"to": DONE}])
        if not isinstance(followers, list) or not all(isinstance(one, dict) for one in followers):
            raise self._error(where, 'next is no list of tables; hint: next = [{ when = ["0x0800"], to = "ip4" }]')
        extracts = dict(self._extracts(where, table.get("extract", {})))
        checksum = self._checksum(where, table["checksum"]) if "checksum" in table else None
        writes = self._named(where, table, "write") | {checksum.container for checksum in [checksum] if checksum}
        if writes and "base" not in table:
            raise self._error(where, f"write without a base; hint: base = 0 to {L.PARSER_BASES - 1}")
        if others := writes - extracts.keys():
            raise self._error(where, f"container {self._name_of(others)} is written, but not extracted; hint: extract it here")
        return State(
            name,
            self.numbers[name],
            self._number(where, table, "base", 0, L.PARSER_BASES - 1) if "base" in table else None,
            kind,
            frozenset(writes),
            checksum,
            max([self._number(where, table, "needs", 0, L.PARSER_FARTHEST, 0), *(word + 1 for word in extracts.values())]),
            extracts,
            self._named(where, table, "replace"),
            tuple(lookups),
            tuple(
                self._choice(where, {**{k: table[k] for k in ("advance", "length") if k in table}, **one}, len(lookups))
                for one in followers
            ),
        )

    def _names(self, where: str, names: Sequence[Any]) -> Sequence[str]:
        for name in names:
            if name not in self.containers:
                raise self._error(where, f"undefined container {name!r}; hint: {self._some(self.containers)}")
        return names

    def _named(self, where: str, table: Mapping[str, Any], key: str) -> frozenset[int]:
        """The containers whose names a key lists."""
        names = table.get(key, [])
        if not isinstance(names, list):
            raise self._error(where, f"{key} is {names!r}; hint: a list of containers")
        return frozenset(c for one in self._names(where, names) for c in self.containers[one])

    def _name_of(self, containers: Set[int]) -> str:
        return next(repr(name) for name, places in self.containers.items() if containers & set(places))

    def _checksum(self, where: str, table: Any) -> Checksum:
        if not isinstance(table, dict) or not isinstance(table.get("in"), str):
            raise self._error(where, 'checksum names no container; hint: checksum = { in = "udp_checksum", covers = ["ip4_src"] }')
        self._known(where, table, ("in", "covers", "optional"))
        place = self.containers[self._names(where, [table["in"]])[0]]
        covers = self._named(where, table, "covers")
        if len(place) > 1 or place[0] in covers:
            raise self._error(where, f"checksum in {table['in']!r}; hint: a container of one word that it does not cover itself")
        return Checksum(place[0], covers, bool(table.get("optional", False)))

    def _extracts(self, where: str, table: Any) -> Iterator[tuple[int, int]]:
        if not isinstance(table, dict):
            raise self._error(where, "extract is no table; hint: extract = { ip_src = 6 }")
        slots: dict[int, str] = {}
        for name in self._names(where, [*table]):
            first = self._number(where, table, name, 0, L.PARSER_REACH - len(self.containers[name]))
            for offset, container in enumerate(self.containers[name]):
                if (slot := container % L.PARSER_SLOTS) in slots:
                    hint = f"extract containers that differ modulo {L.PARSER_SLOTS}"
                    text = f"'{name}' and '{slots[slot]}' both need slot {slot}; hint: {hint}"
                    raise self._error(where, text)
                slots[slot] = name
                yield container, first + offset

    def _choice(self, where: str, table: Mapping[str, Any], lookups: int) -> Choice:
        self._known(where, table, ("when", "to", "fault", "advance", "length"))
        when = table.get("when", [])
        if not isinstance(when, list) or len(when) > lookups:
            raise self._error(where, f"when is {when!r}; hint: a value for each of the {lookups} lookups")
        pairs = [self._ternary(where, one) for one in when]
        fault = L.FAULT_NONE
        if "fault" in table and (fault := L.Fault.__members__.get(f"FAULT_{table['fault']}".upper(), fault)) == L.FAULT_NONE:
            raise self._error(
                where, f"undefined fault {table['fault']!r}; hint: {', '.join(f.name[6:].lower() for f in list(L.Fault)[1:])}"
            )
        to = table.get("to", DONE)
        if to not in self.numbers:
            raise self._error(where, f"undefined state {to!r}; hint: {self._some(self.numbers)}")
        return Choice(
            tuple(value & mask for value, mask in pairs),
            tuple(mask for _, mask in pairs),
            to,
            self._number(where, table, "advance", 0, L.PARSER_FARTHEST, 0),
            self._length(where, table.get("length")),
            fault,
        )

    def _ternary(self, where: str, text: Any) -> tuple[int, int]:
        """VALUE, VALUE/MASK or *."""
        if text == "*":
            return 0, 0
        try:
            value, _, mask = str(text).partition("/")
            pair = int(value, 0), int(mask, 0) if mask else WORD
        except ValueError:
            pair = -1, 0
        if not (0 <= pair[0] <= WORD and 0 <= pair[1] <= WORD):
            raise self._error(where, f'when has {text!r}; hint: "0x0800", "0x4000/0xf000" or "*"')
        return pair

    def _reached(self) -> list[list[str]]:
        """The states that each stage can be in. Raises ProgramError where a path extracts twice into one container, or what it
        writes back is not what one header had."""
        paths = {self.begin or "": _Path()}
        reached = []
        for _ in range(self.stages):
            reached.append([one for one in self.states if one in paths])
            later: dict[str, _Path] = {}
            for one, before in paths.items():
                state = self.states[one]
                self._check(state, before)
                for choice in state.choices:
                    if choice.to != DONE and choice.fault == L.FAULT_NONE:
                        later.setdefault(choice.to, _Path()).add(before, state, choice)
            paths = later
        return reached

    def _check(self, state: State, before: _Path) -> None:
        where = f"state {state.name}"
        if twice := before.filled & state.extracts.keys() - state.replaces:
            name = self._name_of(twice)
            raise self._error(where, f"container {name} is extracted twice on the way here; hint: replace = [{name}]")
        if lost := before.written & state.extracts.keys():
            text = f"container {self._name_of(lost)} is replaced, but written back to an earlier header"
            raise self._error(where, f"{text}; hint: leave it out of the write of that header")
        if state.base in before.bases:
            raise self._error(where, f"an earlier header that is written back has base {state.base} too; hint: another base")
        words = sorted(before.words) + [state.extracts[one] for one in state.writes]
        if shared := [word for word in words if words.count(word) > 1]:
            raise self._error(where, f"two containers are written back to word {shared[0]}; hint: leave one of them out of write")
        self._check_columns(where, {(one, state.extracts[one] % L.DEPARSER_COLUMNS) for one in state.writes}, before.columns)

    def _check_columns(self, where: str, own: Set[tuple[int, int]], before: Set[tuple[int, int]]) -> None:
        """Containers of one row of the deparser are not written to one column, whatever length the packet gives its headers."""
        for one, column in sorted(own):
            row = range(one - one % L.DEPARSER_ROW, one - one % L.DEPARSER_ROW + L.DEPARSER_ROW)
            if others := {other for other, place in own | before if other in row and other != one and place == column}:
                names = f"{self._name_of({one})} and {self._name_of(others)} are in a row, {row[0]} to {row[-1]}"
                text = f"containers {names}, and can be written to words that are equal modulo {L.DEPARSER_COLUMNS}"
                raise self._error(where, f"{text}; hint: a container of another row, or leave one of them out of write")

    def _entries(self, name: str) -> Iterator[Entry]:
        state = self.states[name]
        for choice in state.choices:
            value = L.ParserKey(_padded(choice.value), state.number, 0)
            mask = L.ParserKey(_padded(choice.mask), ANY_STATE, 0)
            yield Entry(value, mask, self._step(state, choice))

    def _step(self, state: State, choice: Choice) -> L.ParserStep:
        if choice.fault != L.FAULT_NONE:
            return L.ParserStep(fault=choice.fault)
        length = choice.length or Length(0, 0, -16)
        step = L.ParserStep(
            length_mask=length.mask,
            length_word=length.word,
            length_scale=length.scale + 16,
            advance=choice.advance,
            needs=max([state.needs, *([length.word + 1] if choice.length else [])]),
            lookups=_padded(self.states[choice.to].lookups if choice.to != DONE else ()),
            state=self.numbers[choice.to],
            base=state.base or 0,
            kind=state.kind,
            has_base=int(state.base is not None),
        )
        for container, word in state.extracts.items():
            step.extracts[container % L.PARSER_SLOTS] = L.ParserExtract(1 + container // L.PARSER_SLOTS, word)
        return step


@dataclass
class _Path:
    """What the headers before a state can have done: containers extracted, containers to write back, bases of these headers; the
    words written back that are known to lie in the state's header; containers that are written back with the columns of the
    deparser that they can go to, as a header at the state's position numbers its words."""

    filled: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    bases: set[int | None] = field(default_factory=set)
    words: set[int] = field(default_factory=set)
    columns: set[tuple[int, int]] = field(default_factory=set)

    def add(self, before: _Path, state: State, choice: Choice) -> None:
        """The headers before that state, and its own."""
        self.filled |= before.filled | state.extracts.keys()
        self.written |= before.written | state.writes
        self.bases |= before.bases | {state.base for _ in [state] if state.writes}
        if choice.length is None:
            words = before.words | {state.extracts[one] for one in state.writes}
            self.words |= {word - choice.advance for word in words if word >= choice.advance}
        columns = before.columns | {(one, state.extracts[one]) for one in state.writes}
        for length in _lengths(choice.length):
            self.columns |= {(one, (column - choice.advance - length) % L.DEPARSER_COLUMNS) for one, column in columns}


def _lengths(length: Length | None) -> set[int]:
    """The words that a length field can count, modulo the columns of the deparser."""
    found = {0}
    for bit in range(16):
        if length is not None and length.mask >> bit & 1:
            words = 1 << bit + length.scale if bit + length.scale >= 0 else 0
            found |= {(one + words) % L.DEPARSER_COLUMNS for one in found}
    return found


def _row(state: State) -> L.DeparserRow:
    row = L.DeparserRow()
    for container in state.writes:
        place = L.ParserExtract(1 + container // L.PARSER_SLOTS, state.extracts[container])
        row.places[container % L.PARSER_SLOTS] = place
    return row


def _checksum_row(checksum: Checksum) -> L.ChecksumRow:
    return L.ChecksumRow(sum(1 << one for one in checksum.covers), checksum.container, 1, int(checksum.optional))


def _padded(values: Sequence[int]) -> list[int]:
    return [*values, *[0] * (L.PARSER_LOOKUPS - len(values))]
