# SPDX-License-Identifier: Apache-2.0
"""Elements with state of flows, for the stateful unit: a key of fields, a value of labels and words, conditions on packet and
state, and what becomes of both. Most fit; some ask for a condition or an operation too many."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from compiler.fuzz.overlay_packets import LENGTH, Field
from compiler.fuzz.overlays import Overlays, text
from compiler.fuzz.writer import Kind

ALONE, STATEFUL = 0.75, 0.3  # of configurations have one element, others two in a row; have one with flows
FLOWS = 3  # that packets belong to
KEY_BITS = (8, 16, 24, 32, 48, 64)
WORDS = ((), (16,), (32,), (32,), (8, 32), (16, 32), (24, 32, 32), (16, 16, 32, 32), (24, 32))  # bits of the fields of a value


def integer(bits: int) -> Kind:
    return Kind(f"uint<{bits}>", "int", bits)


class FlowOverlays(Overlays):
    """Writes one element with a flow table."""

    def __init__(self, choose: random.Random, name: str) -> None:
        super().__init__(choose, name)
        self.is_wild = False
        if self.style == "plain":
            self.style = "states"
        self.table = self.fresh("flows")
        self.timeout = self.choose.choice([0, 0, 2000, 100_000])
        self.labels = [(f"e{at}", self.choose.choice([1, 2, 2, 3])) for at in range(self.choose.choice([0, 1, 1, 2]))]
        words = self.choose.choice(WORDS) or ((8,) if not self.labels else ())
        self.words = [(f"w{at}", bits) for at, bits in enumerate(words)]
        self.has_time = self.timeout > 0 or self.chance(50)
        self.numbers = {bits: [1, 2, self.near(bits)] for bits in (8, 16, 24, 32)}

    # What stands in front of the flow table

    def rule_tables(self) -> None:
        if self.chance(30):
            super().rule_tables()

    def states(self) -> None:
        super().states()
        fields = tuple((name, integer(bits)) for name, bits in (*self.labels, *self.words))
        self.state_kind = Kind(f"{self.name}_state_t", "struct", sum(kind.bits for _, kind in fields), fields=fields)
        self.key_kind = Kind(f"{self.name}_key_t", "struct", 0)
        options = f" (timeout = {self.timeout})" if self.timeout else ""
        self.line(f"flow<{self.key_kind.text}, {self.state_kind.text}> {self.table}[1024]{options};")

    def first_flit(self) -> None:
        self.defaults()
        self.views()
        self.scope.is_handler = True
        fields = self._key_fields()
        if self.asked:
            self.look_up(self.choose.choice(self.asked))
        with self._in_front():
            self._flow(fields)

    def _in_front(self) -> AbstractContextManager[None]:
        """What decides whether a packet asks for its flow."""
        field = self.part(8, 32)
        if self.chance(35) or field is None or field.at < 0:
            bools = [text for text, kind in self.scope.values if kind.kind == "bool" and text.startswith("b")]
            return self.inside(f"if ({self.choose.choice(bools)})") if bools and self.chance(70) else nullcontext()
        value = self.near(field.bits)
        self.keys = [(*key, (field, value)) for key in self.keys]
        return self.inside(f"if ({field.text} == {value:#x})")

    def _key_fields(self) -> list[Field]:
        """Fields of whole bytes that do not overlap; the packets have one of a few values of them."""
        self.bytes_view()
        known = [f for text, _ in self.scope.values if (f := self.fields.get(text)) is not None]
        known = [f for f in known if f.at >= 0 and f.at % 8 == 0 and f.bits in KEY_BITS and not (f.is_little and f.bits > 8)]
        self.choose.shuffle(known)
        chosen: list[Field] = []
        for field in known[: self.choose.choice([1, 1, 2, 3, 4])]:
            if not any(field.words.overlaps(other.words) for other in chosen):
                chosen.append(field)
        kinds = tuple((f"k{at}", integer(field.bits)) for at, field in enumerate(chosen)) or (("k0", integer(8)),)
        self.structs += [Kind(self.key_kind.text, "struct", sum(k.bits for _, k in kinds), fields=kinds), self.state_kind]
        self.keys = [tuple((field, self.near(field.bits)) for field in chosen) for _ in range(FLOWS)]
        return chosen

    # The flow

    def _operand(self, least: int, most: int) -> Field | None:
        """A field of the packet that the stateful unit can read: of whole bytes, in their order."""
        field = self.part(least, most)
        is_read = field is not None and field.at >= 0 and not field.at % 8 and not field.bits % 8
        return field if field is not None and is_read and not (field.is_little and field.bits > 8) else None

    def _flow(self, fields: Sequence[Field]) -> None:
        self.line(f"{self.key_kind.text} key = {{{', '.join(field.text for field in fields) or '0'}}};")
        pairs = [(a, b) for at, a in enumerate(fields) for b in fields[:at] if a.bits == b.bits and a.is_aligned_with(b)]
        if pairs and self.chance(40):  # of a reply
            a, b = self.choose.choice(pairs)
            texts = [b.text if field is a else a.text if field is b else field.text for field in fields]
            field = self.part(8, 16)
            with self.inside(f"if ({field.text if field else '1'} == {self.near(field.bits) if field else 1})"):
                self.line(f"{self.key_kind.text} other = {{{', '.join(texts)}}};")
                self.line("key = other;")
        self.line(f"{self.state_kind.text} s;")
        time = ", x.meta.timestamp" if self.timeout or self.chance(20) else ""
        asks_hit = self.chance(60)
        self.line(f"{'bool is_there = ' if asks_hit else ''}{self.table}.find(key, s{time});")
        if self.has_time:
            self.line("uint now = (uint) x.meta.timestamp;")
        asks = [self.choose.choice(self._conditions(asks_hit)) for _ in range(self.choose.choice([1, 2, 3, 3, 4]))]
        self.insert, self.time = f"{self.table}.insert(key, s{time});", time
        self._body(self.choose.choice([1, 2, 2, 3]), frozenset(), asks)

    def _conditions(self, asks_hit: bool) -> list[Callable[[], str]]:
        """Each the same whenever it is asked, but for labels, of which there are many."""
        found: list[Callable[[], str]] = []
        operators = ["==", "!=", "<", ">", ">=", "<="]
        if asks_hit:
            found += [lambda: "is_there", lambda: "!is_there"]
        for name, bits in self.labels:
            found += [lambda name=name, bits=bits: f"s.{name} == {self.choose.randrange(1 << bits)}"] * 2  # type: ignore[misc]
        for name, bits in self.words:
            fixed = f"s.{name} {self.choose.choice(operators)} {self.choose.choice(self.numbers[bits])}"
            found.append(lambda fixed=fixed: fixed)  # type: ignore[misc]
            if (field := self._operand(bits, bits)) is not None:
                compared = f"s.{name} {self.choose.choice(operators)} {field.text}"
                found += [lambda fixed=compared: fixed] * 2  # type: ignore[misc]
            if self.has_time and bits == 32:
                found += [lambda name=name: f"(int) (s.{name} - now) {self.choose.choice(['<', '>='])} 0"] * 2  # type: ignore[misc]
        if (field := self._operand(8, 32)) is not None:
            value = self.near(field.bits)
            self.want(field, value)
            same = f"{field.text} {self.choose.choice(['==', '==', '<', '!='])} {value:#x}"
            found.append(lambda: same)
        long = f"{LENGTH} {self.choose.choice(['<', '>'])} {self.choose.choice([60, 64, 100])}"
        found.append(lambda: long)
        some = self.comparison()
        return [*found, lambda: some] if self.chance(20) else found

    def _body(self, depth: int, changed: frozenset[str], asks: Sequence[Callable[[], str]]) -> None:
        """Branches, and in each what becomes of flow and packet. `asks`: conditions that are open still."""
        if depth and asks and self.chance(85):
            first, *rest = self.choose.sample(asks, len(asks))
            ask = first()
            if rest and self.chance(25):
                ask = f"{ask} {self.choose.choice(['&&', '||'])} {rest.pop()()}"
            with self.inside(f"if ({ask})"):
                self._body(depth - 1, changed, rest)
            with self.inside("else"):
                self._body(depth - 1, changed, rest)
            return
        if self.chance(60):
            self._decision()
        if self.words and self.chance(50):
            self.line(f"x.meta.mark = s.{self.choose.choice(self.words)[0]};")
        for _ in range(self.choose.choice([1, 2, 2, 3])):
            changed |= self._deed(changed)
        self._end()

    def _end(self) -> None:
        """A flow is removed, inserted, or left as it is."""
        chosen = self.choose.randrange(100)
        if chosen < 8:
            self.line(f"{self.table}.remove(key{self.time});")
        elif chosen < 85:
            self.line(self.insert)

    def _deed(self, changed: frozenset[str]) -> frozenset[str]:
        """One change, of what has not changed before."""
        labels = [(name, bits) for name, bits in self.labels if name not in changed]
        words = [(name, bits) for name, bits in self.words if name not in changed]
        forms = [lambda: self._decision()] * 2
        forms += [lambda: self._label(*self.choose.choice(labels))] * 3 if labels else []
        forms += [lambda: self._word(*self.choose.choice(words), changed)] * 4 if words else []
        forms += [] if "packet" in changed else [self._packet]
        return self.choose.choice(forms)()

    def _decision(self) -> frozenset[str]:
        if self.has_host and self.chance(30):
            self.line(f"{self.front}upload = {self.choose.choice(['true', 'false'])};")
        else:
            self.line(f"{self.front}lanes = {self.choose.randrange(1 << len(self.lanes))};")
        return frozenset()

    def _label(self, name: str, bits: int) -> frozenset[str]:
        number = self.choose.randrange(1 << bits)
        texts = [f"s.{name} = {number};"] * 5 + [f"s.{name} = (uint<{bits}>) (s.{name} + 1);", f"s.{name} ^= {number};"]
        self.line(self.choose.choice(texts))
        return frozenset([name])

    def _word(self, name: str, bits: int, changed: frozenset[str]) -> frozenset[str]:
        """One operation."""
        place, number = f"s.{name}", str(self.choose.choice(self.numbers[bits]))
        operands = [number, number, place]
        if (field := self._operand(bits, bits)) is not None:
            operands += [field.text] * 2
        operands += [LENGTH] * 2 if bits == 16 else []
        if self.has_time and bits == 32:
            operands += ["now"] * 3
        operands += [f"s.{other}" for other, width in self.words if width == bits and other not in changed]
        a, b = self.choose.choice(operands), self.choose.choice(operands)
        texts = [f"{place} {operator}= {b};" for operator in "+-&|^"] + [f"{place} = {a};"] * 2
        texts += [f"{place} = (uint<{bits}>) ({a} {operator} {b});" for operator in "+-&|^"]
        self.line(self.choose.choice(texts))
        return frozenset([name])

    def _packet(self) -> frozenset[str]:
        """A word of the packet, or its metadata."""
        forms = [lambda: f"x.meta.mark = {self.choose.choice([f's.{n}' for n, _ in self.words] + [str(self.near(16))])};"] * 2
        forms += [lambda: f"x.meta.queue = {self.choose.randrange(16)};"]
        forms += [lambda: "x.meta.verdict = VERDICT_TO_CONTROLLER;"] if self.has_host else []
        fields = [f for text, _ in self.scope.targets if (f := self.fields.get(text)) is not None and f.bits in (16, 32)]
        fields = [f for f in fields if f.at >= 0 and f.at % 16 == 0 and not f.is_little]
        if fields:
            field = self.choose.choice(fields)
            values = [f"s.{name}" for name, bits in self.words if bits == field.bits]
            values += [other.text for other in fields if other.bits == field.bits]
            forms += [lambda: f"{field.text} = {self.choose.choice([*values, hex(self.near(field.bits))])};"] * 3
        self.line(self.choose.choice(forms)())
        return frozenset(["packet"])


def overlay(seed: int, name: str) -> str:
    """The text of one configuration."""
    choose = random.Random(f"overlay {seed}")
    names = {"main": name} if random.Random(f"elements {seed}").random() < ALONE else {"front": f"{name}a", "main": f"{name}b"}
    draw = random.Random(f"flows {seed}")
    stateful = draw.choice(sorted(names)) if draw.random() < STATEFUL else None
    kinds = {instance: FlowOverlays if instance == stateful else Overlays for instance in names}
    return text(choose, {instance: kinds[instance](choose, element) for instance, element in names.items()})
