# SPDX-License-Identifier: Apache-2.0
"""What a program does with a packet and the state of its flow, as a program of the stateful unit (docs/design/stateful_process.md).

Small fields of the state, and whether the flow is there, become the label; the others are words. For each label the program is
followed through its conditions, until it is decided what becomes of flow and packet; then cases become entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import sluice_layouts as L

from compiler.frontend.source import Span
from compiler.ir.ir import Node
from compiler.ir.rewrite import order
from compiler.overlay.behaviour import CHECKSUM, FlowUse, Packet, Way
from compiler.overlay.bits import PORT, AnyBit, Bit, OverlayError, refuse, replaced, word_name
from compiler.overlay.decisions import next_test, verdict_of
from compiler.overlay.entries import Case, Entry, Space, listed
from compiler.overlay.operands import Operands, Test, free_name

if TYPE_CHECKING:
    from compiler.overlay.units import Follower, Rest

LABEL_BITS = 4  # of a field that can be part of the label
MOST_LABELS = 32
MOST_CONDITIONS = 10  # before those that no entry asks for are left out
VERDICTS = {
    L.VERDICT_FORWARD: "forward",
    L.VERDICT_DROP: "drop",
    L.VERDICT_TO_HOST: "host",
    L.VERDICT_TO_CONTROLLER: "controller",
}
BYTES = {0xFF: (0, 1), 0xFF00: (1, 1), 0xFFFF: (0, 2)}  # first byte of a word, and how many, by their mask
Label = tuple[int, ...]  # whether the flow is there, then the values of fields
Cube = dict[int, bool]  # results of conditions, by number


@dataclass(frozen=True)
class Action:
    """What becomes of flow and packet. `changed`: words of the packet; `checksums`: with the words that each must follow."""

    goto: int | None  # None: the label stays
    updates: tuple[str, ...]
    packet: tuple[str, ...]
    verdict: L.Verdict
    lanes: frozenset[int]
    queue: int
    changed: frozenset[str] = frozenset()
    checksums: tuple[tuple[str, frozenset[str]], ...] = ()


Decided = tuple[Cube, Action, Label]  # what some packets do, and the label of their flow afterwards


@dataclass(eq=False)
class ProcessDraft:
    """A program of the stateful unit, but for the containers of its words. `fields`: words of the flow state, first byte, bytes.
    `places`: where the source decides what an entry does."""

    span: Span
    key: Sequence[tuple[str, int]]
    timeout: int
    labels: Sequence[str]
    fields: Mapping[str, tuple[int, int]]
    operands: Operands
    conditions: Mapping[str, Span]
    entries: Sequence[Entry[Action]]
    written: frozenset[str]  # words of the packet

    def following(self) -> Iterator[ProcessDraft]:
        """Packets go nowhere from here."""
        yield from ()

    @property
    def runs(self) -> list[tuple[int, int]]:
        """First and last of the words of the packet that it reads or writes, those that it reads at once in one run."""
        words = [(first // 2, (first + size - 1) // 2) for first, size in self._read().values()]
        runs: list[tuple[int, int]] = []
        for first, last in sorted(words):
            if runs and first <= runs[-1][1]:
                runs[-1] = (runs[-1][0], max(last, runs[-1][1]))
            else:
                runs.append((first, last))
        return runs

    @property
    def pairs(self) -> set[int]:
        """Words of the packet that are written with the one behind them, so that both are in one word of the block."""
        targets = [text.partition(" = ")[0] for entry in self.entries for text in entry.does.packet]
        places = [self.operands.containers[name] for name in targets if name in self.operands.containers]
        return {first // 2 for first, size in places if size > 2}

    def _texts(self) -> list[str]:
        actions = [text for entry in self.entries for text in (*entry.does.updates, *entry.does.packet)]
        return [*self.conditions, *actions]

    def _inputs(self) -> dict[str, str]:
        names = _names(self._texts())
        return {name: text for name, text in self.operands.inputs.items() if name in names}

    def _read(self) -> dict[str, tuple[int, int]]:
        names = _names([*self._texts(), *self._inputs().values()])
        return {name: place for name, place in self.operands.containers.items() if name in names}

    def text(self, containers: Mapping[str, int]) -> str:
        """The program for the assembler (compiler/stateful), with its words in these containers."""
        lines = [f"labels = [{', '.join(map(_quoted, self.labels))}]"] if self.labels else []
        lines += ["", "[key]", f"fields = [{', '.join(_quoted(self._key_name(name)) for name, _ in self.key)}]"]
        lines += [f"timeout = {self.timeout}"] if self.timeout else []
        lines += ["", "[containers]"]
        for name, mask in self.key:
            if (container := containers.get(name)) is not None:
                lines.append(
                    f"{self._key_name(name)} = {{ first = {container}, byte = {BYTES[mask][0]}, bytes = {BYTES[mask][1]} }}"
                )
        for name, (first, size) in self._read().items():
            low, high = first // 2, (first + size - 1) // 2
            byte = 2 * high + 1 - (first + size - 1)
            place = f"first = {containers[word_name(low)]}, words = {high - low + 1}, byte = {byte}, bytes = {size}"
            lines.append(f"{name} = {{ {place} }}")
        if any(text.startswith("mark =") for text in self._texts()):
            lines.append(f"mark = {{ first = {L.PIPELINE_MARK}, words = 2 }}")
        lines += ["", "[flow]", *(f"{name} = {{ word = {word}, bytes = {size} }}" for name, (word, size) in self.fields.items())]
        lines += ["", "[inputs]", *(f"{name} = {_quoted(text)}" for name, text in self._inputs().items())]
        lines += ["", "[conditions]", *(f"condition{at} = {_quoted(text)}" for at, text in enumerate(self.conditions))]
        for entry in self.entries:
            lines += ["", "[[entries]]", *self._entry(entry)]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _key_name(name: str) -> str:
        """Of a word of the key: it may be another field of the program, too."""
        return name if name == PORT else f"key_{name.removeprefix('key ').replace(' ', '')}"

    def _entry(self, entry: Entry[Action]) -> Iterator[str]:
        does = entry.does
        if entry.label is not None and self.labels:
            yield f"at = {_quoted(self.labels[entry.label])}"
        if entry.results:
            names = [f"{'' if value else '!'}condition{number}" for number, value in sorted(entry.results.items())]
            yield f"if = [{', '.join(map(_quoted, names))}]"
        if does.updates:
            yield f"update = [{', '.join(map(_quoted, does.updates))}]"
        if does.goto not in (None, entry.label) and self.labels:
            yield f"goto = {_quoted(self.labels[does.goto or 0])}"
        if does.packet:
            yield f"packet = [{', '.join(map(_quoted, does.packet))}]"
        yield f"verdict = {_quoted(VERDICTS[does.verdict])}"
        if does.lanes:
            yield f"ports = {sorted(does.lanes)}"
        if does.queue:
            yield f"queue = {does.queue}"


def process_of(follower: Follower, rest: Rest) -> ProcessDraft:
    """The program of packets with this rest. Raises OverlayError with the place of what does not fit."""
    flow = follower.flow_of(rest)
    assert flow is not None
    small = [name for name, node in flow.values.items() if node.width <= LABEL_BITS]
    while True:
        try:
            return _Process(follower, rest, flow, small).draft()
        except _NotALabel as error:
            small.remove(error.register)


class _NotALabel(Exception):
    """A field takes values that only the packet knows."""

    def __init__(self, register: str) -> None:
        super().__init__(register)
        self.register = register


class _Process:
    def __init__(self, follower: Follower, rest: Rest, flow: FlowUse, small: Sequence[str]) -> None:
        self.follower, self.rest, self.flow, self.small = follower, rest, flow, small
        self.span = flow.table.span
        self.names = {register: free_name(flow.field(register)) for register in flow.values}
        words = {register: name for register, name in self.names.items() if register not in small}
        self.operands = Operands(follower.bits, words)
        self.conditions: dict[str, Span] = {}
        self.written: set[str] = set()
        controls = [
            *self._controls(rest),
            *flow.values.values(),
            *(node for _, _, _, nodes in follower.ways(rest) for node in nodes),
        ]
        self.asks_hit = any(node.op == "register" and node.name == flow.hit_name for node in order(controls))

    def draft(self) -> ProcessDraft:
        labels: list[Label] = [(0,) * (1 + len(self.small))]
        cases: list[Case[Action]] = []
        steps: list[tuple[int, Cube, int]] = []  # from label to label
        for label in labels:  # grows
            for cube, action, after in self._cases(label):
                if after not in labels:
                    labels.append(after)
                number = labels.index(after)
                there = replace(action, goto=number)
                steps.append((labels.index(label), cube, number))
                cases.append(Case(labels.index(label), cube, (action, there) if after == label else (there,)))
            if len(labels) > MOST_LABELS:
                raise refuse(f"more than {MOST_LABELS} states", self.span, "fewer values of enums in the state", self.span)
        names = [*self.conditions]
        exclusive = [(a, b) for a in range(len(names)) for b in range(a) if _exclude(names[a], names[b])]
        possible = _possible(steps, [number for number, name in enumerate(names) if self._is_of_key(name)])
        made = listed(cases, Space(len(labels), len(names), exclusive, possible), L.PROCESS_ENTRIES)
        entries = _without_idle(made, names, L.PROCESS_CONDITIONS, self)
        shown = [self._shown(label) for label in labels] if len(labels) > 1 else []
        flow = self.flow
        return ProcessDraft(
            self.span, self.follower.keys.words, flow.table.timeout, shown, self._fields(), self.operands,
            self.conditions, entries, frozenset(self.written),
        )  # fmt: skip

    def _is_of_key(self, condition: str) -> bool:
        """Whether all packets of a flow have the same result: it compares a part of the key with a number."""
        places = [self.operands.containers.get(name) for name in _names([condition])]
        if len(places) != 1 or places[0] is None:
            return False
        key, (first, size) = dict(self.follower.keys.words), places[0]
        masks = [(word_name(byte // 2), 0xFF if byte % 2 else 0xFF00) for byte in range(first, first + size)]
        return all(mask & ~key.get(name, 0) == 0 for name, mask in masks)

    def _shown(self, label: Label) -> str:
        """The name of a label."""
        if not self.asks_hit or label[0]:
            return " ".join(f"{self.names[name]} {value}" for name, value in zip(self.small, label[1:], strict=True)) or "known"
        return "absent"

    def _fields(self) -> dict[str, tuple[int, int]]:
        """Word and bytes of each field; word 0 has the label, too."""
        sizes = {name: -(-self.flow.values[register].width // 8) for register, name in self.operands.registers.items()}
        for register, name in self.operands.registers.items():
            width = self.flow.values[register].width
            if width > 32:
                hint = "at most 32 bits; of a time the low ones"
                raise refuse(f"'{self.flow.field(register)}' has {width} bits", self.span, hint, self.span)
            assert name in sizes
        small = [name for name, size in sizes.items() if size <= L.PROCESS_LABEL_LOW // 8]
        first = small[:1]
        rest = [name for name in sizes if name not in first]
        if len(rest) > L.PROCESS_WORDS - 1:
            text = (
                f"the state has {len(sizes)} fields that are no enums; a flow has {L.PROCESS_WORDS} words, one of at most 3 bytes"
            )
            raise OverlayError("E0809", text, self.span, "fewer fields")
        return {name: (0, sizes[name]) for name in first} | {name: (1 + at, sizes[name]) for at, name in enumerate(rest)}

    # Cases of a label

    def _cases(self, label: Label) -> Iterator[Decided]:
        b = self.follower.b
        registers = {self.flow.hit_name: label[0] if self.asks_hit else 1, **dict(zip(self.small, label[1:], strict=True))}
        known = {
            node: b.const(registers[node.name], node.width)
            for node in order(self.rest)
            if node.op == "register" and node.name in registers
        }
        yield from self._follow(replaced(b, self.rest, known), {}, label)

    def _controls(self, rest: Rest) -> list[Node]:
        return [node for _, enable, later, _ in self.follower.ways(rest) for node in (enable, later)]

    def _next(self, rest: Rest) -> Node | None:
        flow = self.follower.flow_of(rest)
        if flow is None:
            return None
        packets = [
            node for _, enable, _, nodes in self.follower.ways(rest) if enable.op != "const" or enable.value for node in nodes
        ]
        controls = [flow.used, *self._controls(rest), flow.differs, flow.hit, flow.inserted]
        return next_test(controls, True) or next_test([*flow.values.values(), *packets], False)

    def _follow(self, rest: Rest, cube: Cube, label: Label) -> Iterator[Decided]:
        rest = self.follower.normal(rest)
        flow = self.follower.flow_of(rest)
        if flow is None:
            return  # no packet comes here
        test = self._next(rest)
        if test is not None:
            tests = self._tests(test)
            yield from self._split(rest, cube, label, test, tests)
            return
        for name in self.small:
            for bit in self.follower.bits.of(flow.values[name]):
                if isinstance(bit, Bit) and self._result(tests := self._bit_tests(bit, name), cube) is None:
                    for result in (True, False):
                        yield from self._follow(rest, {**cube, self._number(tests[0][0], bit.node): result}, label)
                    return
        yield cube, self._action(rest, flow), self._after(flow, cube)

    def _split(self, rest: Rest, cube: Cube, label: Label, test: Node, tests: Sequence[Test]) -> Iterator[Decided]:
        result = self._result(tests, cube)
        if result is not None:
            known = {test: self.follower.b.const(int(result), 1)}
            yield from self._follow(replaced(self.follower.b, rest, known), cube, label)
            return
        text = next(text for text, _ in tests if self._number(text, test) not in cube)
        for value in (True, False):
            yield from self._split(rest, {**cube, self._number(text, test): value}, label, test, tests)

    def _result(self, tests: Sequence[Test], cube: Cube) -> bool | None:
        """Whether all tests have their results; None where it is not known."""
        known = [None if text not in self.conditions else cube.get([*self.conditions].index(text)) for text, _ in tests]
        if any(value is not None and value != wanted for value, (_, wanted) in zip(known, tests, strict=True)):
            return False
        return None if None in known else True

    def _number(self, text: str, node: Node) -> int:
        if text not in self.conditions:
            span = node.span or self.span
            if len(self.conditions) == MOST_CONDITIONS:
                hint = (
                    f"a stateful unit compares {L.PROCESS_CONDITIONS} pairs of words; what only the packet decides can be a table"
                )
                raise refuse(f"more than {MOST_CONDITIONS} conditions of what becomes of a flow", span, hint, self.span)
            self.conditions[text] = span
        return [*self.conditions].index(text)

    def _tests(self, test: Node) -> list[Test]:
        if test.op == "lookup":
            hint = "look it up before, to decide whether a packet asks for its flow"
            raise refuse(f"the value of the table '{test.name}' decides what becomes of a flow", test.span, hint, self.span)
        tests = self.operands.conditions(test)
        if tests is None:
            hint = "a condition compares two fields, of the packet or of the flow's state, or one with a constant"
            raise refuse("the stateful unit cannot compare this", test.span, hint, self.span)
        return tests

    def _bit_tests(self, bit: Bit, register: str) -> list[Test]:
        tests = self.operands.bit(bit)
        if tests is None or bit.node.op == "register":
            raise _NotALabel(register)
        return tests

    # What is decided

    def _after(self, flow: FlowUse, cube: Cube) -> Label:
        values: list[int] = []
        for name in self.small:
            bits = self.follower.bits.of(flow.values[name])
            values.append(sum(self._value(bit, name, cube) << at for at, bit in enumerate(bits)))
        is_there = flow.hit.value if flow.hit.op == "const" else 1
        return (int(is_there and self.asks_hit), *values)

    def _value(self, bit: AnyBit, register: str, cube: Cube) -> int:
        return bit if isinstance(bit, int) else int(bool(self._result(self._bit_tests(bit, register), cube)))

    def _action(self, rest: Rest, flow: FlowUse) -> Action:
        """All of it but the label."""
        self._check(flow)
        updates = tuple(self._update(register, flow.values[register]) for register in self.operands.registers)
        changed = tuple(update for update in updates if update)
        left = self.follower.leaving(rest)
        if left is None:
            return Action(None, changed, (), L.VERDICT_DROP, frozenset(), 0)
        packet, lanes, way = left
        arrived, checksums = self.follower.arrived.words, list[tuple[str, frozenset[str]]]()
        for number, (was, now) in enumerate(zip(arrived, packet.words, strict=True)):
            if now.op == "call" and now.name == CHECKSUM:
                checksums.append((word_name(number), self.follower.followed(now, was, packet)))
        texts = tuple(self._packet(packet, flow, way))
        words = frozenset(word_name(n) for n, (was, now) in enumerate(zip(arrived, packet.words, strict=True)) if now is not was)
        self.written |= words
        verdict, ports = verdict_of(packet, lanes)
        return Action(None, changed, texts, verdict, ports, packet.queue.value, words, tuple(checksums))

    def _check(self, flow: FlowUse) -> None:
        if flow.differs.op != "const" or flow.differs.value:
            hint = "a packet has one key; a program for two flows of a packet is for --target cpu or sim"
            raise refuse("a packet asks for two flows", self.span, hint, self.span)
        if flow.table.timeout and not self._is_timestamp(flow.time):
            hint = "x.meta.timestamp as the time of find() and insert()"
            raise refuse("the time of this flow table is not that of the packet", flow.time.span, hint, self.span)

    def _is_timestamp(self, time: Node) -> bool:
        return all(
            isinstance(bit, Bit) and bit.node.name == "timestamp" and bit.at == at
            for at, bit in enumerate(self.follower.bits.of(time))
        )

    def _update(self, register: str, now: Node) -> str:
        if now.op == "register" and now.name == register:
            return ""
        name = self.operands.registers[register]
        text = self.operands.computed(now, now.width)
        if text is None:
            hint = "one operation: + - & | ^ of two fields of packet and state, or of one and a constant"
            raise refuse(
                f"the stateful unit has no operation for this value of '{self.flow.field(register)}'", now.span, hint, self.span
            )
        return "" if text == name else f"{name} = {text}"

    def _packet(self, packet: Packet, flow: FlowUse, way: Way) -> Iterator[str]:
        """What is written into the packet."""
        arrived = self.follower.arrived
        if packet.mark != arrived.mark:
            low, high = self.follower.bits.of(packet.mark[1]), self.follower.bits.of(packet.mark[0])
            yield f"mark = {self._written((*low, *high), flow, packet.mark[1].span or way.span)}"
        bits, number = self.follower.bits, 0
        changes = [
            now is not was and not (now.op == "call" and now.name == CHECKSUM)
            for was, now in zip(arrived.words, packet.words, strict=True)
        ]
        while number < len(changes):
            now = packet.words[number]
            is_pair = all(changes[number : number + 2]) and number + 1 < len(changes)
            both = (*bits.of(packet.words[number + 1]), *bits.of(now)) if is_pair else ()
            if both and (operand := self._operand(both, flow)) is not None:
                yield f"{self.operands.bytes(2 * number, 4)} = {operand}"
                number += 1
            elif changes[number]:
                yield f"{self.operands.bytes(2 * number, 2)} = {self._written(bits.of(now), flow, now.span or way.span)}"
            number += 1

    def _written(self, bits: Sequence[AnyBit], flow: FlowUse, span: Span) -> str:
        """An operand of an action. Raises OverlayError."""
        if (operand := self._operand(bits, flow)) is None:
            hint = "a constant, a field of the packet, or a field of the flow's state, in all bytes of a word"
            raise refuse("the stateful unit cannot write this into a packet", span, hint, self.span)
        return operand

    def _operand(self, bits: Sequence[AnyBit], flow: FlowUse) -> str | None:
        """Of the new state, of the old one, or of the packet."""
        for register, name in self.operands.registers.items():
            now = self.follower.bits.of(flow.values[register])
            if bits[: len(now)] == now and not any(bits[len(now) :]):
                return name
        term = self.operands.term(bits)
        if term is None:
            return None
        return f"old.{term}" if term in self.operands.registers.values() else str(term)


def _names(texts: Iterable[str]) -> set[str]:
    """The names in expressions."""
    return {name.removeprefix("old.") for text in texts for name in re.findall(r"[A-Za-z_][\w.]*", text)}


def _quoted(text: str) -> str:
    return f'"{text}"'


def _possible(steps: Sequence[tuple[int, Cube, int]], of_key: Sequence[int]) -> list[tuple[int, Cube]]:
    """The labels that flows can have, with results of the conditions `of_key`, which stay as they are."""
    results = [dict(zip(of_key, values, strict=True)) for values in product([True, False], repeat=len(of_key))]
    found = [(0, one) for one in results]
    for label, known in found:  # grows
        for begin, cube, end in steps:
            fits = begin == label and all(cube.get(number, value) == value for number, value in known.items())
            if fits and (end, known) not in found:
                found.append((end, known))
    return found


def _exclude(a: str, b: str) -> bool:
    """Whether two conditions are never true together: a field is equal to two constants."""
    (one, is_a, x), (other, is_b, y) = a.partition(" == "), b.partition(" == ")
    return bool(is_a and is_b) and one == other and x != y and x.isdigit() and y.isdigit()


def _without_idle(entries: list[Entry[Action]], names: list[str], most: int, process: _Process) -> list[Entry[Action]]:
    """The entries with numbers of the conditions that they ask for; others are no conditions any more."""
    asked = sorted({number for entry in entries for number in entry.results})
    if len(asked) > most:
        hint = f"a stateful unit has {most} conditions"
        raise refuse(f"this program takes {len(asked)} conditions", process.conditions[names[asked[most]]], hint, process.span)
    process.conditions = {names[number]: process.conditions[names[number]] for number in asked}
    numbers = {number: at for at, number in enumerate(asked)}
    return [Entry(e.label, {numbers[n]: value for n, value in e.results.items()}, e.does) for e in entries]
