# SPDX-License-Identifier: Apache-2.0
"""A program of the process block: read from TOML, checked, and made into the words of its memories.

docs/design/stateful_process.md describes the file. What does not fit is refused, with the entry and the reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.encode import Encoder, Target
from compiler.stateful.expressions import Expression, assignment, comparison, expression
from compiler.stateful.families import composition
from compiler.stateful.flow_key import FlowKey, flow_key
from compiler.stateful.places import Field, Holder, container, flow_field, number, shared

VERSION_SHIFT = 10
MATCH_GROUP = 16  # entries that share the words of the match memory
LABELS = 256
FILE_KEYS = ("key", "containers", "flow", "shared", "inputs", "labels", "conditions", "entries", "next")
ENTRY_KEYS = ("at", "if", "update", "goto", "packet", "next", "verdict", "ports", "queue", "splice", "again")
VERDICTS = {"pass": L.VERDICT_PASS, "forward": L.VERDICT_FORWARD, "drop": L.VERDICT_DROP, "host": L.VERDICT_TO_HOST}
VERDICTS |= {"controller": L.VERDICT_TO_CONTROLLER}
Address = tuple[int, int]  # memory, address without the version


@dataclass(frozen=True)
class BlockSizes:
    """What a process block has."""

    inputs: int = L.PROCESS_INPUTS
    conditions: int = L.PROCESS_CONDITIONS
    words: int = L.PROCESS_WORDS
    updates: int = L.PROCESS_UPDATES
    entries: int = L.PROCESS_ENTRIES
    actions: int = L.PROCESS_ACTIONS


@dataclass(frozen=True)
class EntryText:
    """An entry as the file has it: label and conditions under masks, updates of words, actions, what becomes of the packet."""

    label: tuple[int, int]
    conditions: tuple[int, int]
    updates: Mapping[int, L.ProcessInstruction]
    goto: int | None
    actions: Mapping[int, L.ProcessAction]
    decision: L.ProcessDecision

    @property
    def takes_all(self) -> bool:
        return not self.label[1] and not self.conditions[1]


@dataclass(frozen=True)
class ProcessProgram:
    """The words of the memories of a version, and what the program is made of."""

    words: Mapping[Address, int]
    fields: Mapping[str, Field]
    labels: Sequence[str]
    conditions: Mapping[str, L.ProcessCondition]  # in the order of their bits
    entries: Sequence[EntryText]
    inputs: Sequence[L.ProcessInput]
    sizes: BlockSizes
    key: FlowKey

    @property
    def composes(self) -> bool:
        """Whether its packets need not wait for each other."""
        return bool(L.ProcessComposed.from_int(self.words[L.PROCESS_MEMORY_COMPOSED, 0]).composed)

    def writes(self, version: int) -> Iterator[L.ProcessWrite]:
        """All of them; global and table state are not of a program."""
        for (memory, address), word in self.words.items():
            yield L.ProcessWrite(word, version << VERSION_SHIFT | address, memory)

    def to_core(self, core: int) -> ProcessProgram:
        """The same with packets to the controller for this one of the device's controller cores."""
        words = dict(self.words)
        for place, word in self.words.items():
            if place[0] == L.PROCESS_MEMORY_DECISION:
                decision = L.ProcessDecision.from_int(word)
                if decision.verdict == L.VERDICT_TO_CONTROLLER:
                    words[place] = decision.replace(queue=core).to_int()
        return replace(self, words=words)


def read(path: Path, sizes: BlockSizes | None = None) -> ProcessProgram:
    """The program of a file. Raises ProgramError, OSError."""
    return assembled(path.read_text(encoding="utf-8"), path.name, sizes)


def assembled(text: str, name: str, sizes: BlockSizes | None = None) -> ProcessProgram:
    """The program of a text: one whose updates compose, if there is one that fits. Raises ProgramError."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProgramError(f"{name}: {error}") from error
    try:
        program = _with_settings(_Reader(name, table, sizes or BlockSizes(), sets=True).program())
    except ProgramError:
        program = None
    if program is None or not program.composes:
        program = _with_settings(_Reader(name, table, sizes or BlockSizes(), sets=False).program())
    return program


def _with_settings(program: ProcessProgram) -> ProcessProgram:
    settings: dict[Address, int] = {(L.PROCESS_MEMORY_COMPOSED, 0): composition(program).settings.to_int()}
    return replace(program, words={**program.words, **settings})


class _Reader:
    def __init__(self, name: str, text: Mapping[str, Any], sizes: BlockSizes, sets: bool) -> None:
        self.name, self.sizes, self.text = name, sizes, text
        self._known("the file", text, FILE_KEYS)
        self.labels: list[str] = self._list("the file", text, "labels")
        if len(set(self.labels)) < len(self.labels) or len(self.labels) > LABELS:
            raise self._error("labels", f"{len(self.labels)} names, some twice; hint: at most {LABELS} different ones")
        self.fields: dict[str, Field] = {}
        self._read_fields("containers", container)
        self._read_fields("flow", lambda keys: flow_field(keys, sizes.words))
        self._read_fields("shared", shared)
        computed: dict[str, Expression] = {}
        self.encoder = Encoder(self.fields, computed, sizes.inputs, sets)
        for one, value in self._table("inputs").items():
            self._new_name("inputs", one, computed)
            computed[one] = self._at(f"input {one}", expression, str(value))
        self.conditions = self._read_conditions()

    def program(self) -> ProcessProgram:
        tables = self.text.get("entries", [])
        if not isinstance(tables, list) or not tables:
            raise self._error("the file", "no entries; hint: [[entries]]")
        entries = [self._entry(f"entry {number}", table) for number, table in enumerate(tables)]
        for at, entry in enumerate(entries[:-1]):
            if entry.takes_all:
                raise self._error(f"entry {at + 1}", f"entry {at} takes every packet; hint: it should be the last")
        if not entries[-1].takes_all:
            entries.append(EntryText((0, 0), (0, 0), {}, None, {}, L.ProcessDecision(self._next("the file", self.text))))
        if len(entries) > self.sizes.entries:
            text = f"{len(entries)} entries with the one for all other packets; hint: at most {self.sizes.entries}"
            raise self._error(f"entry {self.sizes.entries}", text)
        key = self._at("key", flow_key, self._table("key"), self.fields)
        words, inputs = self._words(entries), self.encoder.inputs
        return ProcessProgram(words, self.fields, self.labels, self.conditions, entries, inputs, self.sizes, key)

    def _read_fields(self, section: str, make: Callable[[Mapping[str, Any]], Field]) -> None:
        for one, keys in self._table(section).items():
            self._new_name(section, one, self.fields)
            if not isinstance(keys, dict):
                raise self._error(f"{section}.{one}", "not a table; hint: { ... }")
            self.fields[one] = self._at(f"{section}.{one}", make, keys)

    def _new_name(self, section: str, name: str, names: Mapping[str, object]) -> None:
        if not re.fullmatch(r"[a-zA-Z_]\w*", name):
            raise self._error(f"{section}.{name}", "not a name; hint: letters, digits and _")
        if name in names or name in self.fields:
            raise self._error(f"{section}.{name}", "this name is taken")

    def _read_conditions(self) -> dict[str, L.ProcessCondition]:
        conditions: dict[str, L.ProcessCondition] = {}
        for name, text in self._table("conditions").items():
            where = f"condition {name}"
            if len(conditions) == self.sizes.conditions:
                raise self._error(where, f"one too many; hint: at most {self.sizes.conditions}")
            conditions[name] = self._at(where, self.encoder.condition, self._at(where, comparison, str(text)))
        return conditions

    def _entry(self, where: str, table: Mapping[str, Any]) -> EntryText:
        self._known(where, table, ENTRY_KEYS)
        value = mask = 0
        for text in self._list(where, table, "if"):
            name = text.removeprefix("!")
            if name not in self.conditions:
                raise self._error(where, f"undefined condition {name!r}; hint: {', '.join(self.conditions)}")
            bit = 1 << [*self.conditions].index(name)
            if mask & bit:
                raise self._error(where, f"condition {name} is named twice")
            mask, value = mask | bit, value | (0 if text != name else bit)
        label = (self._label(where, table["at"]), LABELS - 1) if "at" in table else (0, 0)
        goto = self._label(where, table["goto"]) if "goto" in table else None
        updates, actions = self._updates(where, table), self._actions(where, table)
        return EntryText(label, (value, mask), updates, goto, actions, self._decision(where, table))

    def _updates(self, where: str, table: Mapping[str, Any]) -> dict[int, L.ProcessInstruction]:
        updates: dict[int, L.ProcessInstruction] = {}
        for text in self._list(where, table, "update"):
            name, value = self._at(where, assignment, text)
            place = self._at(where, self.encoder.field, name)
            if place.holder is not Holder.FLOW:
                raise self._error(where, f"{text!r}: {name} is not in the flow state; hint: `packet`")
            if place.word in updates:
                raise self._error(where, f"{text!r}: word {place.word} is written twice; hint: a field of another word")
            updates[place.word] = self._at(where, self.encoder.update, value, Target(place.byte, place.size))
        return updates

    def _actions(self, where: str, table: Mapping[str, Any]) -> dict[int, L.ProcessAction]:
        actions: dict[int, L.ProcessAction] = {}
        for text in self._list(where, table, "packet"):
            name, value = self._at(where, assignment, text)
            word, target = self._packet_target(where, name, self._at(where, self.encoder.field, name))
            row, alu = divmod(word, self.sizes.actions)
            if alu in actions:
                other = actions[alu].row * self.sizes.actions + alu
                text = f"{text!r}: words {other} and {word} have the same ALU, they are equal modulo {self.sizes.actions}"
                raise self._error(where, f"{text}; hint: other containers; word n is containers 2n and 2n + 1")
            actions[alu] = L.ProcessAction(self._at(where, self.encoder.instruction, value, target), row)
        return actions

    def _packet_target(self, where: str, name: str, place: Field) -> tuple[int, Target]:
        if place.holder is Holder.CONTAINER and place.word % 2 == 0:
            return place.word // 2, Target(place.byte, place.size, name, after=True)
        if place.holder is Holder.CONTAINER and place.byte >= 2:
            return place.word // 2, Target(place.byte - 2, place.size, None, after=True)
        if place.holder is Holder.CONTAINER:
            raise self._error(where, f"{name} is in two words; hint: containers 2n and 2n + 1")
        raise self._error(where, f"{name} cannot be written in `packet`; hint: a container")

    def _decision(self, where: str, table: Mapping[str, Any]) -> L.ProcessDecision:
        verdict = table.get("verdict", "pass")
        if verdict not in VERDICTS:
            raise self._error(where, f"unknown verdict {verdict!r}; hint: {', '.join(VERDICTS)}")
        ports = table.get("ports", [])
        if not isinstance(ports, list) or any(type(port) is not int or not 0 <= port < 8 for port in ports):
            raise self._error(where, f"ports = {ports!r}; hint: numbers from 0 to 7")
        queue, splice, again = (self._at(where, number, table, key, 0, 15) for key in ("queue", "splice", "again"))
        mask = sum(1 << port for port in set(ports))
        following = self._next(where, {"next": self.text.get("next", "end"), **table})
        return L.ProcessDecision(following, VERDICTS[verdict], mask, queue, splice, again)

    def _next(self, where: str, table: Mapping[str, Any]) -> int:
        following = table.get("next", "end")
        if following == "end":
            return L.UNIT_END
        if type(following) is not int or not 0 <= following < L.UNIT_END:
            raise self._error(where, f'next = {following!r}; hint: "end", or a unit from 0 to {L.UNIT_END - 1}')
        return following

    def _label(self, where: str, label: Any) -> int:
        if label in self.labels:
            return self.labels.index(label)
        raise self._error(where, f"undefined label {label!r}; hint: labels = {self.labels}")

    def _words(self, entries: Sequence[EntryText]) -> dict[Address, int]:
        sizes = self.sizes
        rows = [*range(len(entries) - 1), sizes.entries - 1]  # of the memories; the last takes all packets that no other takes
        known: list[list[L.ProcessInstruction]] = [[] for _ in range(sizes.words)]
        choices = [self._choices(f"entry {number}", entry, known) for number, entry in enumerate(entries)]
        words: dict[Address, int] = {}
        self._fill(words, L.PROCESS_MEMORY_INPUT, 0, self.encoder.inputs, sizes.inputs)
        self._fill(words, L.PROCESS_MEMORY_CONDITION, 0, [*self.conditions.values()], sizes.conditions)
        for word, updates in enumerate(known):
            self._fill(words, L.PROCESS_MEMORY_UPDATE, word << 4, updates, sizes.updates)
        words |= self._match_words(dict(zip(rows[:-1], entries, strict=False)))
        for row in range(sizes.entries):
            at = rows.index(row) if row in rows else len(entries) - 1  # a row without an entry is never taken
            entry = entries[at]
            words[L.PROCESS_MEMORY_ENTRY, row] = L.ProcessEntry(choices[at], int(entry.goto is not None), entry.goto or 0).to_int()
            words[L.PROCESS_MEMORY_DECISION, row] = entry.decision.to_int()
            for alu in range(sizes.actions):
                address = alu >> 4 << 9 | row << 4 | alu & 15
                words[L.PROCESS_MEMORY_ACTION, address] = entry.actions.get(alu, L.ProcessAction()).to_int()
        return words

    @staticmethod
    def _fill(words: dict[Address, int], memory: int, first: int, layouts: Sequence[L.Layout], count: int) -> None:
        for n in range(count):
            words[memory, first + n] = layouts[n].to_int() if n < len(layouts) else 0

    def _choices(self, where: str, entry: EntryText, known: Sequence[list[L.ProcessInstruction]]) -> list[int]:
        """Which update of each word the entry takes; 0: none."""
        choices = [0] * L.PROCESS_WORDS
        for word, instruction in entry.updates.items():
            if instruction not in known[word]:
                known[word].append(instruction)
            if len(known[word]) > self.sizes.updates:
                text = f"word {word} has more than {self.sizes.updates} different updates"
                raise self._error(where, f"{text}; hint: the same update in several entries, or a field of another word")
            choices[word] = known[word].index(instruction) + 1
        return choices

    def _match_words(self, rows: Mapping[int, EntryText]) -> dict[Address, int]:
        words: dict[Address, int] = {}
        for group in range((self.sizes.entries + MATCH_GROUP - 1) // MATCH_GROUP):
            for nibble in range(16):
                word = 0
                for row, entry in rows.items():
                    if row // MATCH_GROUP == group:
                        word |= _accepted(entry, nibble) << row % MATCH_GROUP
                words[L.PROCESS_MEMORY_MATCH, group << 4 | nibble] = word
        return words

    def _at(self, where: str, make: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return make(*arguments)
        except ProgramError as error:
            raise self._error(where, str(error)) from None

    def _table(self, section: str) -> Mapping[str, Any]:
        table = self.text.get(section, {})
        if not isinstance(table, dict):
            raise self._error(section, "not a table; hint: [" + section + "]")
        return table

    def _list(self, where: str, table: Mapping[str, Any], key: str) -> list[str]:
        texts = table.get(key, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._error(where, f'{key} is not a list of texts; hint: {key} = ["...", "..."]')
        return texts

    def _known(self, where: str, table: Any, known: Sequence[str]) -> None:
        if not isinstance(table, dict):
            raise self._error(where, "not a table")
        if unknown := [key for key in table if key not in known]:
            raise self._error(where, f"unknown key {unknown[0]!r}; hint: {', '.join(known)}")

    def _error(self, where: str, text: str) -> ProgramError:
        return ProgramError(f"{self.name}: {where}: {text}")


def _accepted(entry: EntryText, nibble: int) -> int:
    """Bit 16n: the entry takes this value as nibble n of its key."""
    value = entry.conditions[0] | entry.label[0] << 8
    mask = entry.conditions[1] | entry.label[1] << 8
    return sum(int(not (value >> 4 * n ^ nibble) & mask >> 4 * n & 15) << MATCH_GROUP * n for n in range(4))
