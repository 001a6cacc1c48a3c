# SPDX-License-Identifier: Apache-2.0
"""A program of the programmable parser: read from TOML, checked, and made into the entries of each stage.

docs/design/pipeline.md describes the file. A state stands for a header; every state that a stage can be in gives that stage its
entries, in the order of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sluice_layouts as L

DONE = "done"
WORD = 0xFFFF
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
class State:
    """A header: its place among the bases, what is extracted (container: word), the words that are compared, what follows."""

    name: str
    number: int
    base: int | None
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

    def overlaps(self, other: Entry) -> bool:
        """Whether one packet can match both."""
        both = self.mask.to_int() & other.mask.to_int()
        return not (self.value.to_int() ^ other.value.to_int()) & both


@dataclass(frozen=True)
class ParserProgram:
    """Where packets begin, and the entries of each stage; the first that matches is taken."""

    start: L.ParserStart
    stages: tuple[tuple[Entry, ...], ...]


def read(path: Path, stages: int = L.PARSER_STAGES) -> ParserProgram:
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
        tables = self._table(text, "states")
        if len(tables) > ANY_STATE:
            raise self._error("the file", f"{len(tables)} states; hint: at most {ANY_STATE}")
        if DONE in tables:
            raise self._error(f"state {DONE}", "this name is taken; hint: it is the state behind the last header")
        self.numbers = {DONE: L.PARSER_DONE, **{one: number for number, one in enumerate(tables, 1)}}
        self.states = {one: self._state(one, table) for one, table in tables.items()}
        self.begin = text.get("begin")
        if self.begin not in self.states:
            raise self._error(
                "the file", f"undefined state {self.begin!r} to begin with; hint: begin = one of {self._some(self.states)}"
            )

    def program(self) -> ParserProgram:
        begin = self.states[self.begin or ""]
        reached = self._reached()
        stages = tuple(tuple(entry for one in names for entry in self._entries(one)) for names in reached)
        for number, entries in enumerate(stages):
            if len(entries) > L.PARSER_ENTRIES:
                raise self._error(f"stage {number}", f"{len(entries)} entries; hint: a stage has {L.PARSER_ENTRIES}")
        return ParserProgram(L.ParserStart(_padded(begin.lookups), begin.number), stages)

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

    def _state(self, name: str, table: Mapping[str, Any]) -> State:
        where = f"state {name}"
        self._known(where, table, ("base", "needs", "extract", "replace", "lookups", "advance", "length", "next"))
        lookups = table.get("lookups", [])
        if not isinstance(lookups, list) or len(lookups) > L.PARSER_LOOKUPS:
            raise self._error(where, f"lookups is {lookups!r}; hint: at most {L.PARSER_LOOKUPS} words of the header")
        lookups = [self._number(where, {"lookups": word}, "lookups", 0, L.PARSER_REACH - 1) for word in lookups]
        followers = table.get("next", [{"to": DONE}])
        if not isinstance(followers, list) or not all(isinstance(one, dict) for one in followers):
            raise self._error(where, 'next is no list of tables; hint: next = [{ when = ["0x0800"], to = "ip4" }]')
        extracts = dict(self._extracts(where, table.get("extract", {})))
        return State(
            name,
            self.numbers[name],
            self._number(where, table, "base", 0, L.PARSER_BASES - 1) if "base" in table else None,
            max([self._number(where, table, "needs", 0, L.PARSER_FARTHEST, 0), *(word + 1 for word in extracts.values())]),
            extracts,
            frozenset(c for one in self._names(where, table.get("replace", [])) for c in self.containers[one]),
            tuple(lookups),
            tuple(
                self._choice(where, {**{k: table[k] for k in ("advance", "length") if k in table}, **one}, len(lookups))
                for one in followers
            ),
        )

    def _names(self, where: str, names: Any) -> list[str]:
        if not isinstance(names, list):
            raise self._error(where, f"replace is {names!r}; hint: a list of containers")
        for name in names:
            if name not in self.containers:
                raise self._error(where, f"undefined container {name!r}; hint: {self._some(self.containers)}")
        return names

    def _extracts(self, where: str, table: Any) -> Iterator[tuple[int, int]]:
        if not isinstance(table, dict):
            raise self._error(where, "extract is no table; hint: extract = { ip_src = 6 }")
        slots: dict[int, str] = {}
        for name in self._names(where, list(table)):
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
        """The states that each stage can be in. Raises ProgramError where a path extracts twice into one container."""
        filled: dict[str, set[int]] = {self.begin or "": set()}
        reached = []
        for _ in range(self.stages):
            reached.append([one for one in self.states if one in filled])
            later: dict[str, set[int]] = {}
            for one, before in filled.items():
                state = self.states[one]
                if twice := before & state.extracts.keys() - state.replaces:
                    names = [name for name, containers in self.containers.items() if twice & set(containers)]
                    text = f"container {names[0]} is extracted twice on the way here; hint: replace = [{names[0]!r}]"
                    raise self._error(f"state {one}", text)
                for choice in state.choices:
                    if choice.to != DONE and choice.fault == L.FAULT_NONE:
                        later.setdefault(choice.to, set()).update(before, state.extracts)
            filled = later
        return reached

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
            has_base=int(state.base is not None),
        )
        for container, word in state.extracts.items():
            step.extracts[container % L.PARSER_SLOTS] = L.ParserExtract(1 + container // L.PARSER_SLOTS, word)
        return step


def _padded(values: Sequence[int]) -> list[int]:
    return [*values, *[0] * (L.PARSER_LOOKUPS - len(values))]
