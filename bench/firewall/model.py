# SPDX-License-Identifier: Apache-2.0
"""A firewall in software to compare with, rules that fill its tables, and packets for them. It shares no code with the manager but
the class of rules: every rule is compared with every five-tuple."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict

import numpy as np

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.guard import fields_of
from configs.ofw.manager import EXACT_MASK, KEY_BITS, Manager, Rule, Sizes, TableFull, seed_of
from elements.hash.five_tuple import hash_of
from toolchain import ROOT

SOURCE = ROOT / "configs" / "ofw" / "ofw.sl"
VERDICT_PASS, VERDICT_FORWARD, VERDICT_DROP = 0, 1, 2
MISS, OTHER = VERDICT_DROP << 27, VERDICT_PASS << 27  # what `ofw.sl` does at reset with IPv4 without a rule, and with all else
TCP, UDP = 6, 17
MACS = bytes.fromhex("020000000001020000000002")
ID_AT = 54  # where a packet has its number, 4 bytes
HIGH = 64  # bits of a key from here on are in the upper word of two

ANY = 0.9  # of the exact table
DRAWN = 1 << 17  # keys at once

Key = int | None  # a five-tuple; None: not IPv4


def program(sizes: Sizes | None = None) -> typed.Program:
    """The configuration, with tables of other sizes if wanted."""
    text = SOURCE.read_text()
    for name, number in (asdict(sizes) if sizes else {}).items():
        head, _, rest = text.partition(f"uint {name.upper()} = ")
        text = f"{head}uint {name.upper()} = {number}{rest[rest.index(';') :]}"
    diagnostics = Diagnostics()
    found = load_text(text, str(SOURCE), diagnostics)
    if found is None:
        raise ValueError("".join(error.render() for error in diagnostics.sorted()))
    return found


def action(verdict: int, queue: int | None = None, mark: int | None = None) -> int:
    """`action_t` of `ofw.sl`."""
    set_queue, set_mark = queue is not None, mark is not None
    return set_queue << 31 | set_mark << 30 | verdict << 27 | (queue or 0) << 23 | (mark or 0)


def effect(value: int) -> int:
    """What a packet shows of an action: verdict, queue and mark; nothing but the verdict where it is dropped."""
    shown = value & (1 << 30) - 1
    return MISS if shown >> 27 == VERDICT_DROP else shown


CHANGED = ("verdict", "queue", "mark")


class Shown:
    """What a packet of one flit shows of an action, seen beside what it was before."""

    def __init__(self, flit: typed.Struct) -> None:
        low = {field.name: field.low for field in flit.fields}
        meta = fields_of(next(field.type for field in flit.fields if field.name == "meta"))
        self.places = [(low["meta"] + meta[name][0], (1 << meta[name][1]) - 1) for name in CHANGED]
        self.kept = ~sum(mask << at for at, mask in self.places)
        self.number_at = low["data"] + 8 * ID_AT

    def __call__(self, sent: int, left: int) -> int:
        """The effect; -1 where anything else has changed."""
        if (sent ^ left) & self.kept:
            return -1
        verdict, queue, mark = (left >> at & mask for at, mask in self.places)
        return verdict << 27 | queue << 23 | mark

    def number(self, token: int) -> int:
        """The packet's number."""
        return token >> self.number_at & 0xFFFFFFFF

    def all(self, sent: Sequence[int], left: Iterable[int]) -> list[int]:
        """The effects on packets whose number is their place in `sent`; what did not leave was dropped."""
        found = {self.number(token): self(sent[self.number(token)], token) for token in left}
        return [found.get(number, MISS) for number in range(len(sent))]


class Model:
    """All rules of a moment."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        found = list(rules)
        self.exact = {rule.key: rule for rule in found if rule.mask == EXACT_MASK}
        self.others = [rule for rule in found if rule.mask != EXACT_MASK]
        low = (1 << HIGH) - 1
        self.columns = [
            np.array([getattr(rule, name) >> shift & low for rule in self.others], dtype=np.uint64)
            for name in ("key", "mask")
            for shift in (HIGH, 0)
        ]

    def matching(self, key: Key) -> list[Rule]:
        """Every rule that matches."""
        if key is None:
            return []
        key_high, key_low, mask_high, mask_low = self.columns
        high, low = np.uint64(key >> HIGH), np.uint64(key & (1 << HIGH) - 1)
        others = [self.others[n] for n in np.flatnonzero((mask_high & high == key_high) & (mask_low & low == key_low))]
        return others + ([self.exact[key]] if key in self.exact else [])

    def values(self, key: Key) -> set[int]:
        """What may happen to a packet."""
        return decided(key, self.matching(key))


def decided(key: Key, matching: Sequence[Rule]) -> set[int]:
    """The value of any of the rules that win, of those that match."""
    if key is None:
        return {OTHER}
    ranks = [(rule.mask == EXACT_MASK, rule.priority) for rule in matching]
    return {rule.value for rule, rank in zip(matching, ranks, strict=True) if rank == max(ranks)} or {MISS}


def frame(key: Key, number: int) -> bytes:
    """A packet of 64 bytes on the wire with its number: ARP where there is no five-tuple."""
    if key is None:
        head = MACS + b"\x08\x06"
    else:
        source, destination, protocol, ports = key >> 72, key >> 40 & 0xFFFFFFFF, key >> 32 & 0xFF, key & 0xFFFFFFFF
        head = MACS + struct.pack("!HBBHHHBBHII", 0x0800, 0x45, 0, 46, 0, 0, 64, protocol, 0, source, destination)
        head += struct.pack("!I", ports)
    return (head.ljust(ID_AT, b"\0") + number.to_bytes(4, "little")).ljust(60, b"\0")


def masks(rng: random.Random, count: int) -> list[int]:
    """Different masks over parts of a five-tuple: prefixes of addresses and ports, the protocol or not."""
    found: dict[int, None] = {}
    while len(found) < count:
        source, destination = (rng.choice([0, 8, 12, 16, 20, 24, 28, 32]) for _ in range(2))
        ports = [rng.choice([0, 8, 12, 16]) for _ in range(2)]
        mask = _upper(source, 32) << 72 | _upper(destination, 32) << 40 | rng.choice([0, 0xFF]) << 32
        mask |= _upper(ports[0], 16) << 16 | _upper(ports[1], 16)
        if mask.bit_count() >= 32 and mask != EXACT_MASK:
            found[mask] = None
    return list(found)


def _upper(bits: int, width: int) -> int:
    return (1 << bits) - 1 << width - bits


def any_key(rng: random.Random) -> int:
    """A five-tuple of TCP or UDP."""
    return rng.getrandbits(KEY_BITS) & ~(0xFF << 32) | rng.choice([TCP, UDP]) << 32


class Filler:
    """Rules that fill every entry of every table: keys are drawn until each place has one, as a full group of the HashTCAM and the
    last percents of a cuckoo table take only some keys. Every rule has a mark of its own, so that a wrong one shows."""

    def __init__(self, sizes: Sizes, seed: int = 1) -> None:
        self.sizes, self.rng = sizes, random.Random(seed)
        self.marks = 0
        self.ternary_masks = max(4, sizes.tcam_groups * sizes.tcam_entries // 32)
        found = masks(self.rng, sizes.masks + self.ternary_masks)
        self.hashed, self.others = found[: sizes.masks], found[sizes.masks :]

    def value(self) -> int:
        """An action: one in eight drops, the others pass with their mark, some with a queue."""
        self.marks += 1
        if self.rng.random() < 0.125:
            return action(VERDICT_DROP)
        return action(VERDICT_FORWARD, self.rng.choice([None, 3, 7]), self.marks)

    def exact(self, manager: Manager) -> Iterator[Rule]:
        """Exact rules for all entries that are free in the manager's table, which gets them: any up to `ANY` of them, then such as
        have a free place at once (of any, some find none from 97 % on, with 2 banks from 50 % on)."""
        slots = manager.exact.slots
        with suppress(TableFull):
            while len(manager.exact.at) < ANY * len(slots):
                rule = Rule(any_key(self.rng), EXACT_MASK, 0, self.value())
                manager.add(rule)
                yield rule
        while slots.count(None):
            for key in self.with_place(slots):
                rule = Rule(key, EXACT_MASK, 0, self.value())
                if any(slots[place] is None for place in manager.exact.places_of(key)):
                    manager.add(rule)
                    yield rule

    def with_place(self, slots: Sequence[Rule | None]) -> list[int]:
        """Keys with a free place, of many that are drawn."""
        draw = np.random.default_rng(self.rng.getrandbits(32))
        addresses, ports = draw.integers(0, 1 << 32, (2, DRAWN), np.uint64), draw.integers(0, 1 << 32, DRAWN, np.uint64)
        free = np.array([rule is None for rule in slots])
        entries = self.sizes.bank_entries
        hits = np.zeros(DRAWN, bool)
        for bank in range(self.sizes.banks):
            place = hash_of(addresses[0], addresses[1], np.full(DRAWN, TCP, np.uint64), ports, seed_of(bank)) % entries
            hits |= free[bank * entries + place]
        columns = (column[hits].tolist() for column in (addresses[0], addresses[1], ports))
        return [source << 72 | destination << 40 | TCP << 32 | last for source, destination, last in zip(*columns, strict=True)]

    def masked(self, place: Callable[[Rule], int]) -> Iterator[Rule]:
        """A rule for every place of each group."""
        for mask in self.hashed:
            taken: set[int] = set()
            while len(taken) < self.sizes.mask_entries:
                rule = Rule(any_key(self.rng) & mask, mask, self.rng.randrange(1 << 16), self.value())
                if place(rule) not in taken:
                    taken.add(place(rule))
                    yield rule

    def ternary(self, count: int) -> Iterator[Rule]:
        """Rules with other masks, of 16 priorities."""
        taken: set[tuple[int, int, int]] = set()
        while len(taken) < count:
            mask = self.others[len(taken) % len(self.others)]
            rule = Rule(any_key(self.rng) & mask, mask, self.rng.randrange(16) << 12, self.value())
            if rule.match not in taken:
                taken.add(rule.match)
                yield rule


def traffic(rules: Sequence[Rule], count: int, seed: int = 2) -> list[Key]:
    """Five-tuples: most of them of a rule of each kind alike, the others of no rule, or none."""
    rng = random.Random(seed)
    kinds: dict[bool, list[Rule]] = {is_exact: [rule for rule in rules if rule.is_exact == is_exact] for is_exact in (True, False)}
    found: list[Key] = []
    for _ in range(count):
        draw = rng.random()
        if draw < 0.9:
            rule = rng.choice(kinds[draw < 0.3])
            key = rule.key | any_key(rng) & ~rule.mask
            found.append(key)
        else:
            found.append(any_key(rng) if draw < 0.95 else None)
    return found
