# SPDX-License-Identifier: Apache-2.0
"""What random programs of the programmable pipeline do: read headers, compare fields, look rules up, change fields as a unit can.
What a program compares with is kept, so that there are packets that have it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from compiler.fuzz.overlay_packets import LENGTH, PORT, Field, Wish
from compiler.fuzz.overlay_rules import Table, parts_of
from compiler.fuzz.packets import Packets
from compiler.fuzz.writer import BOOL, Features, Kind

WILD = Features(packets=False, signals=False, flows=False, numbered=False)  # much of it is refused
PLAIN = Features(packets=False, signals=False, flows=False, numbered=False, choices=False, messages=False, randoms=False)
HEADERS = {  # where a view begins; fields: first bit and bits
    "ethernet_t": ((0,), {"destination": (0, 48), "source": (48, 48), "ethertype": (96, 16)}),
    "vlan_t": ((14,), {"priority_code": (0, 3), "drop_eligible": (3, 1), "vlan_id": (4, 12), "ethertype": (16, 16)}),
    "ipv4_t": (
        (14, 18),
        {
            **{"version": (0, 4), "ihl": (4, 4), "tos": (8, 8), "total_length": (16, 16), "more_fragments": (50, 1)},
            **{"ttl": (64, 8), "protocol": (72, 8), "checksum": (80, 16), "source": (96, 32), "destination": (128, 32)},
        },
    ),
    "ipv6_t": ((14,), {"next_header": (48, 8), "hop_limit": (56, 8), "source": (64, 128), "flow_label": (12, 20)}),
    "udp_t": ((34, 38), {"source_port": (0, 16), "destination_port": (16, 16), "length": (32, 16), "checksum": (48, 16)}),
}
NEAR = {8: (6, 17, 1, 64, 255), 16: (0x800, 0x86DD, 0x8100, 80, 443), 32: (0x0A000001, 0x0A000000, 0xC0A80101), 4: (4, 5)}


class OverlayStatements(Packets):
    """Writes the statements of one handler."""

    def __init__(self, choose: random.Random, name: str) -> None:
        self.is_wild = choose.random() < 0.12  # says what the overlay may not have
        super().__init__(choose, name, WILD if self.is_wild else PLAIN)
        self.depth, self.wide_percent, self.is_arithmetic = 2, 0, False
        self.budget = choose.choice([2, 3, 3, 4, 6])
        self.fields: dict[str, Field] = {}
        self.wishes: list[Wish] = []
        self.asked: list[Table] = []
        self.changed: list[Field] = []
        self.checked: list[Field] = []  # words that a checksum follows: they change with it only
        self.decisions: list[Callable[[], str]] = []  # statements that say where the packet goes
        self.helper: tuple[str, int] | None = None  # a function that compares so many bits
        self.pool = {bits: [self.choose.getrandbits(bits) for _ in range(3)] for bits in range(1, 129)}

    # Values

    def near(self, bits: int) -> int:
        """A value that others of the program take too."""
        edges: Sequence[int] = [0, 1, (1 << bits) - 1, 1 << (bits - 1)]
        return self.choose.choice([*self.pool[bits], *self.choose.choice([edges, NEAR.get(bits, edges)])]) & (1 << bits) - 1

    def want(self, field: Field, value: int) -> None:
        """Have packets in which a field has the value."""
        if 0 <= value < 1 << field.bits:
            self.wishes.append(((field, value),))

    def part(self, least: int = 1, most: int = 128) -> Field | None:
        """A field of the packet that can be read here."""
        found = [self.fields[text] for text, _ in self.scope.values if text in self.fields]
        found = [field for field in found if least <= field.bits <= most]
        return self.choose.choice(found) if found else None

    def constant(self, kind: Kind) -> str:
        if kind.kind != "int" or kind.text.startswith("int"):
            return super().constant(kind)
        return hex(self.near(kind.bits))

    def value(self, depth: int) -> str:
        if self.is_wild and self.chance(30):
            return super().value(depth)
        kind = self.unsigned_integer()
        below = depth + 1
        if depth >= self.depth or self.chance(60):
            return self.leaf()
        field = self.part(2, 64)
        forms: list[Callable[[], str]] = [lambda: f"(({kind.text}) {self.constant(kind)})"]
        forms += [lambda: f"({self.condition(below)} ? ({kind.text}) {self.leaf()} : ({kind.text}) {self.leaf()})"]
        if field is not None:
            mask, amount = hex(self.near(field.bits)), self.choose.randrange(field.bits)
            forms += [lambda: f"({field.text} & {mask})", lambda: f"((uint<{field.bits}>) ({field.text} >> {amount}))"]
            forms += [lambda: f"((uint<{field.bits}>) ({field.text} {self.choose.choice('+-')} {mask}))"]
        return self.choose.choice(forms)()

    def unsigned_integer(self) -> Kind:
        bits = self.choose.choice([1, 4, 8, 8, 16, 16, 32, 48])
        return Kind(f"uint<{bits}>", "int", bits)

    def condition(self, depth: int) -> str:
        if self.is_wild and self.chance(30):
            return super().condition(depth)
        bools = [text for text, kind in self.scope.values if kind.kind == "bool"]
        if bools and self.chance(35):
            return self.choose.choice(["", "", "!"]) + self.choose.choice(bools)
        if depth < self.depth and self.chance(25):
            a, b = self.condition(depth + 1), self.condition(depth + 1)
            return f"({a} {self.choose.choice(['&&', '||', '&&', '==', '!='])} {b})"
        return self.comparison()

    def comparison(self) -> str:
        """Of a field with a constant, mostly."""
        field = self.part()
        if field is None:
            return self.choose.choice(["true", "false"])
        value = self.near(field.bits)
        operator = self.choose.choice(["==", "==", "==", "!=", "<", "<=", ">", ">="])
        for one in (value, value + 1, value - 1):
            self.want(field, one)
        forms = [f"({field.text} {operator} {value:#x})"] * 8
        mask = self.near(field.bits)
        self.wishes.append(((field, value & mask),))
        forms += [f"(({field.text} & {mask:#x}) {self.choose.choice(['==', '!='])} {value & mask:#x})"] * 2
        amount = self.choose.randrange(field.bits)
        forms += [
            f"(({field.text} >> {amount}) {self.choose.choice(['==', '!=', '<'])} {value >> amount:#x})",
            f"({field.text} >> {amount} & 1)",
        ]
        forms += [f"((uint<{field.bits}>) ({field.text} + {mask:#x}) {operator} {value:#x})"]
        if self.helper is not None:
            forms += [f"{self.helper[0]}((uint<{self.helper[1]}>) {field.text})"] * 3
        if (other := self.part(field.bits, field.bits if field.bits < 5 or self.chance(10) else 0)) is not None:
            forms += [f"({field.text} {operator} {other.text})"] * 3
        return self.choose.choice(forms)

    # Views of the packet

    def know_field(self, field: Field, is_target: bool = True) -> None:
        """A field that may be read from here on, and changed."""
        self.fields[field.text] = field
        place = (field.text, Kind(f"uint<{field.bits}>", "int", field.bits))
        self.scope.values.append(place)
        if is_target:
            self.scope.targets.append(place)

    def views(self) -> None:
        """Headers and bytes of the first flit."""
        for text, bits in ((LENGTH, 16), (PORT, 8)):
            if self.chance(40):
                self.know_field(Field(text, bits), False)
        for _ in range(self.choose.randint(1, 4)):
            self.choose.choice([self.known_header, self.known_header, self.known_header, self.own_header, self.bytes_view])()
        if self.chance(10):
            self.know_field(Field("x.meta.mark", 32))
        if self.chance(10):
            self.scope.values += [("(x.eop == 1)", BOOL), ("x.empty", Kind("uint<6>", "int", 6))]

    def known_header(self) -> None:
        name, (places, fields) = self.choose.choice(list(HEADERS.items()))
        start, view = self.choose.choice(places), self.fresh("h")
        self.line(f"{name} *{view} = ({name} *) (&x.data + {start});")
        for part in self.choose.sample(sorted(fields), min(len(fields), self.choose.randint(2, 5))):
            first, bits = fields[part]
            self.know_field(Field(f"{view}->{part}", bits, 8 * start + first))

    def own_header(self) -> None:
        """A header that only this program knows."""
        name, view, start = f"{self.name}_{self.fresh('h')}_t", self.fresh("h"), self.choose.choice([12, 14, 18, 22, 33, 54, 58])
        widths = self.choose.choice([(8, 8, 16, 32), (3, 13, 16), (4, 12, 8, 24), (16, 48), (1, 7, 8), (20, 4, 8), (13, 3, 48)])
        parts = [(f"f{number}", Kind(f"uint<{bits}>", "int", bits)) for number, bits in enumerate(widths)]
        self.structs.append(Kind(name, "header", sum(widths), fields=tuple(parts)))
        if 8 * start + sum(widths) > 512:
            start = 48
        self.line(f"{name} *{view} = ({name} *) (&x.data + {start});")
        first = 8 * start
        for part, kind in parts:
            self.know_field(Field(f"{view}->{part}", kind.bits, first))
            first += kind.bits

    def bytes_view(self) -> None:
        """Integers of the packet: bytes the other way round."""
        view, bits = self.fresh("p"), self.choose.choice([8, 8, 16, 32])
        kind = {8: "uchar", 16: "ushort", 32: "uint"}[bits]
        self.line(f"{kind} *{view} = ({kind} *) &x.data;")
        for at in self.choose.sample(range(min(512 // bits, 30)), 3):
            self.know_field(Field(f"{view}[{at}]", bits, bits * at, True))

    def field(self, view: str, fields: dict[str, int]) -> None:
        """Of a header that a state machine takes: somewhere."""
        part = self.choose.choice(list(fields))
        self.know_field(Field(f"{view}->{part}", fields[part]))

    # Tables

    def lookup(self) -> None:
        """In any table."""
        self.look_up(self.choose.choice(self.asked))

    def look_up(self, table: Table) -> None:
        """By fields of the packet as they came, mostly."""
        asked = [self.key_part(kind.bits) for _, kind in parts_of(table.key)]
        texts = [
            field.text if field else self.key_text(kind.bits) for field, (_, kind) in zip(asked, parts_of(table.key), strict=True)
        ]
        given, found, name = texts[0], self.fresh("b"), self.fresh("v")
        if table.key.kind == "struct":
            given = self.fresh("v")
            self.line(f"{table.key.text} {given} = {{{', '.join(texts)}}};")
        self.line(f"{table.value.text} {name};")
        self.line(f"bool {found} = {table.name}.lookup({given}, {name});")
        table.lookups.append(tuple(asked))
        self.know(name, table.value)
        self.know(found, BOOL, False)

    def key_text(self, bits: int) -> str:
        """The low bits of a wider field, or anything."""
        wider = self.part(bits)
        return f"(uint<{bits}>) {wider.text if wider and self.chance(90) else self.value(2)}"

    def key_part(self, bits: int) -> Field | None:
        return self.part(bits, bits) if self.chance(95) else None

    # What becomes of a packet

    def change(self) -> None:
        """A field of the packet, mostly one whose words have not changed before, and as a unit can."""
        field = self.part()
        if field is None or field.text in (LENGTH, PORT) or any(field.overlaps(one) for one in self.checked):
            return self.decide()
        if any(field.overlaps(one) for one in self.changed) and self.chance(85):
            return self.decide()
        self.changed.append(field.words)
        kind = Kind(f"uint<{field.bits}>", "int", field.bits)
        alike = [
            text for text, other in self.scope.values if other.kind == "int" and other.bits == field.bits and text != field.text
        ]
        alike = [text for text in alike if text not in self.fields or self.fields[text].is_aligned_with(field) or self.chance(5)]
        operand = self.choose.choice(alike) if alike and self.chance(60) else self.constant(kind)
        forms = [f"{field.text} = {operand};"] * 5
        forms += [f"{field.text} {operator}= {self.constant(kind)};" for operator in "^|&"]
        forms += [f"{field.text} = ~{field.text};"] if field.bits <= 16 or self.chance(20) else []
        if field.is_in_word or self.chance(5):
            forms += [f"{field.text}{self.choose.choice(['++', '--'])};"] * 2
            forms += [f"{field.text} {self.choose.choice(['+=', '-='])} {self.constant(kind)};"] * 2
            forms += [f"{field.text} {self.choose.choice(['+=', '-='])} {operand};"]
        if self.chance(15):
            forms = [f"{field.text} = ({kind.text}) {self.value(1)};"]
        return self.line(self.choose.choice(forms))

    def swap(self) -> None:
        """Two fields of one width."""
        one = self.part(8)
        other = self.part(one.bits, one.bits) if one is not None else None
        if one is None or other is None or one == other or {one.text, other.text} & {LENGTH, PORT}:
            return self.change()
        if not one.is_aligned_with(other) or any(a.overlaps(b) for a in (one, other) for b in (*self.changed, *self.checked)):
            return self.change()
        self.changed += [one.words, other.words]
        name = self.fresh("v")
        self.line(f"uint<{one.bits}> {name} = {one.text};")
        self.line(f"{one.text} = {other.text};")
        return self.line(f"{other.text} = {name};")

    def checksum(self) -> None:
        """A word changes, and a checksum with it."""
        words = [
            f for text, _ in self.scope.targets if (f := self.fields.get(text)) and f.bits == 16 and f.at >= 0 and not f.is_little
        ]
        if len(words) < 2:
            return self.change()
        sum_field, word = self.choose.sample(words, 2)
        if any(a.at % 16 or a.overlaps(b) for a in (sum_field, word) for b in (*self.checked, *self.changed)) or sum_field == word:
            return self.change()
        if self.chance(90):
            self.checked += [sum_field, word]
        self.wishes.append(((sum_field, 0xFFFF), (word, 0xFFFF)))
        before, now = self.fresh("v"), self.choose.choice(["0", "0xffff", self.constant(Kind("uint<16>", "int", 16))])
        self.line(f"ushort {before} = {word.text};")
        self.line(f"{word.text} {self.choose.choice(['=', '=', '-=', '+=', '^='])} {now};")
        return self.line(f"{sum_field.text} = checksum_updated({sum_field.text}, {before}, {word.text});")

    def address(self) -> None:
        """Two words change, and a checksum follows both."""
        view, old, new = self.fresh("h"), self.fresh("v"), self.fresh("v")
        address, total = Field(f"{view}->destination", 32, 8 * 30), Field(f"{view}->checksum", 16, 8 * 24)
        if any(one.overlaps(address) or one.overlaps(total) for one in (*self.checked, *self.changed)):
            return self.change()
        self.checked += [address, total]
        self.wishes.append(((total, 0xFFFF), (address, self.choose.choice([0, 0xFFFFFFFF, 0xFFFF0000]))))
        self.line(f"ipv4_t *{view} = (ipv4_t *) (&x.data + 14);")
        self.line(f"uint {old} = {view}->destination;")
        self.line(f"uint {new} = {self.choose.choice(['0', '0xffffffff', hex(self.near(32))])};")
        self.line(f"{view}->destination = {new};")
        first = f"checksum_updated({view}->checksum, (ushort) ({old} >> 16), (ushort) ({new} >> 16))"
        return self.line(f"{view}->checksum = checksum_updated({first}, (ushort) {old}, (ushort) {new});")

    def hop(self) -> None:
        """A router's work on IPv4."""
        view = self.fresh("h")
        ttl, total = Field(f"{view}->ttl", 16, 8 * 22), Field(f"{view}->checksum", 16, 8 * 24)
        if any(one.overlaps(ttl) or one.overlaps(total) for one in (*self.checked, *self.changed)):
            return self.change()
        self.checked += [ttl, total]
        before = self.fresh("v")
        self.line(f"ipv4_t *{view} = (ipv4_t *) (&x.data + 14);")
        self.line(f"ushort {before} = {view}->ttl << 8 | {view}->protocol;")
        self.line(f"{view}->ttl -= 1;")
        return self.line(f"{view}->checksum = checksum_updated({view}->checksum, {before}, {view}->ttl << 8 | {view}->protocol);")

    def decide(self) -> None:
        """Where the packet goes."""
        return self.line(self.choose.choice(self.decisions)())

    def meta(self) -> None:
        forms = [f"x.meta.mark = {hex(self.near(32))};", f"x.meta.queue = {self.choose.randrange(16)};"]
        forms += ["x.meta.verdict = VERDICT_TO_CONTROLLER;"]
        if (field := self.part(8, 32)) is not None:
            forms.append(f"x.meta.mark = {field.text};")
        self.line(self.choose.choice(forms))

    def statement(self) -> None:
        if self.is_wild and self.chance(25):
            return super().statement()
        self.budget -= 1
        forms = [self.decide] * 3 + [self.change] * 4 + [self.swap, self.meta, self.checksum, self.hop, self.address, self.declare]
        if self.budget > 0:
            forms += [self.branch] * 5 + [self.switch]
            forms += [self.lookup] * 5 if self.asked else []
        return self.choose.choice(forms)()

    def declare(self) -> None:
        kind = BOOL if self.chance(60) else self.unsigned_integer()
        name = self.fresh("v")
        self.line(f"{kind.text} {name} = {self.of(kind, 1)};")
        self.know(name, kind)
