# SPDX-License-Identifier: Apache-2.0
"""The rule manager of the OpenFlow firewall: chooses the table of each rule, and the signals that write it while packets pass.

Exact rules go into the cuckoo table, and are moved on collisions. The others are grouped by mask: the masks with the most rules get
the groups of the HashTCAM, the rest goes into the TCAM, whose slots it keeps in priority order. Nothing is read back from the
device. Packets see each addition, move or removal at once, in one signal: an entry is copied before its slot is written, so that
every other rule holds at all times. `TableFull` changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from itertools import pairwise

from elements.hash.five_tuple import WORD, five_tuple_hash

KEY_BITS = 104  # of five_tuple4_t
BYTES = KEY_BITS // 8
EXACT_MASK = (1 << KEY_BITS) - 1
BANK_SEED = 0x3C6EF372  # of elements/cuckoohash, times the bank number plus 1
MOST_STEPS = 200_000  # entries that an insertion into the cuckoo table may visit


class TableFull(Exception):
    """No free slot for a rule; nothing was changed."""


@dataclass(frozen=True)
class Rule:
    """`key` and `mask` are five_tuple4_t (ip_src highest), `value` the rule's action (action_t of `ofw.sl`). The highest
    `priority` (0 to 65535) wins; a rule with all bits in its mask wins over all others, as in OpenFlow 1.0."""

    key: int
    mask: int
    priority: int
    value: int

    def __post_init__(self) -> None:
        if self.key & ~self.mask or self.mask >> KEY_BITS or self.key < 0:
            raise ValueError("a rule's key has bits outside of its mask, or of a five-tuple")
        if self.priority >> 16 or self.value >> 32:
            raise ValueError("a rule's priority has 16 bits, its value 32")

    @property
    def is_exact(self) -> bool:
        """Whether it matches a single five-tuple."""
        return self.mask == EXACT_MASK

    @property
    def match(self) -> tuple[int, int, int]:
        """Must be unique among rules; the priority of exact rules is ignored."""
        return self.key, self.mask, 0 if self.is_exact else self.priority

    def matches(self, key: int) -> bool:
        """Whether the rule matches a five-tuple."""
        return key & self.mask == self.key


def rule_of(
    priority: int,
    value: int,
    source: str = "0.0.0.0/0",
    destination: str = "0.0.0.0/0",
    protocol: int | None = None,
    source_port: int | None = None,
    destination_port: int | None = None,
) -> Rule:
    """A rule from prefixes as text ("10.0.0.0/8", or an address), and numbers; None matches any. Raises ValueError."""
    key = mask = 0
    for prefix in (ip_network(source), ip_network(destination)):
        if prefix.version != 4:
            raise ValueError(f"{prefix}: the tables hold IPv4")
        key, mask = key << 32 | int(prefix.network_address), mask << 32 | int(prefix.netmask)
    for number, bits in ((protocol, 8), (source_port, 16), (destination_port, 16)):
        if number is not None and number >> bits:
            raise ValueError(f"{number} does not fit into {bits} bits")
        key, mask = key << bits | (number or 0), mask << bits | (0 if number is None else (1 << bits) - 1)
    return Rule(key, mask, priority, value)


@dataclass(frozen=True)
class Call:
    """A signal of an instance of `ofw.sl`."""

    instance: str
    name: str
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """The constants of `ofw.sl`."""

    banks: int = 4
    bank_entries: int = 32768
    masks: int = 16
    mask_entries: int = 1024
    tcam_groups: int = 4
    tcam_entries: int = 512


def seed_of(bank: int) -> int:
    """The seed of the hash of a bank of the cuckoo table."""
    return BANK_SEED * (bank + 1) & WORD


class ExactTable:
    """Contents of the CuckooHash."""

    name = "exact"

    def __init__(self, banks: int, entries: int) -> None:
        self.banks, self.entries = banks, entries
        self.slots: list[Rule | None] = [None] * (banks * entries)
        self.places: dict[int, tuple[int, ...]] = {}  # of a present key: its slot in each bank
        self.at: dict[int, int] = {}

    def places_of(self, key: int) -> tuple[int, ...]:
        """Its slot in each bank."""
        return tuple(bank * self.entries + five_tuple_hash(key, seed_of(bank)) % self.entries for bank in range(self.banks))

    def _put(self, slot: int, rule: Rule, is_valid: bool = True) -> Call:
        return Call(self.name, "put", (slot // self.entries, int(is_valid), rule.key, rule.value))

    def add(self, rule: Rule) -> list[Call]:
        """Breadth-first search for the nearest free slot; entries on the path move, the last first."""
        places = self.places_of(rule.key)
        came: dict[int, int] = dict.fromkeys(places, -1)
        queue = list(places)
        for slot in queue:
            there = self.slots[slot]
            if there is None:
                return self._moved(self._path(slot, came), rule, places)
            if len(queue) < MOST_STEPS:
                for other in self.places[there.key]:
                    if other not in came:
                        came[other] = slot
                        queue.append(other)
        raise TableFull(f"no place for an exact rule: {len(self.at)} of {len(self.slots)} entries are taken")

    @staticmethod
    def _path(slot: int, came: dict[int, int]) -> list[int]:
        path = [slot]
        while came[path[-1]] >= 0:
            path.append(came[path[-1]])
        return path

    def _moved(self, path: list[int], rule: Rule, places: tuple[int, ...]) -> list[Call]:
        calls = []
        for to, before in pairwise(path):
            moved = self.slots[before]
            assert moved is not None
            self.slots[to], self.at[moved.key] = moved, to
            calls.append(self._put(to, moved))
        self.slots[path[-1]], self.at[rule.key], self.places[rule.key] = rule, path[-1], places
        return [*calls, self._put(path[-1], rule)]

    def written(self) -> list[Call]:
        """The calls that write all entries."""
        return [self._put(slot, rule) for slot, rule in enumerate(self.slots) if rule]

    def change(self, rule: Rule) -> list[Call]:
        """Changes the value of a present rule."""
        slot = self.at[rule.key]
        self.slots[slot] = rule
        return [self._put(slot, rule)]

    def remove(self, rule: Rule) -> list[Call]:
        """Removes a rule."""
        slot = self.at.pop(rule.key)
        del self.places[rule.key]
        self.slots[slot] = None
        return [self._put(slot, rule, False)]


class HashTable:
    """Contents of the HashTCAM."""

    name = "masked"

    def __init__(self, groups: int, entries: int) -> None:
        self.entries = entries
        self.masks: list[int | None] = [None] * groups
        self.rules: list[dict[int, Rule]] = [{} for _ in range(groups)]  # by slot

    def place(self, rule: Rule) -> int:
        """Its slot in every group of its mask."""
        return five_tuple_hash(rule.key, 0) % self.entries

    def _put(self, group: int, rule: Rule, is_valid: bool = True) -> Call:
        return Call(self.name, "put", (group, int(is_valid), rule.key, rule.priority, rule.value))

    def find(self, rule: Rule) -> int | None:
        """A group of the rule's mask whose slot is free, else a free group, else None."""
        place = self.place(rule)
        for group, mask in enumerate(self.masks):
            if mask == rule.mask and place not in self.rules[group]:
                return group
        return self.masks.index(None) if None in self.masks else None

    def add(self, group: int, rule: Rule) -> list[Call]:
        """Puts a rule into a group returned by `find`."""
        calls = [] if self.masks[group] == rule.mask else [Call(self.name, "set_mask", (group, rule.mask))]
        self.masks[group] = rule.mask
        self.rules[group][self.place(rule)] = rule
        return [*calls, self._put(group, rule)]

    def change(self, group: int, rule: Rule) -> list[Call]:
        """Changes the value of a present rule."""
        self.rules[group][self.place(rule)] = rule
        return [self._put(group, rule)]

    def remove(self, group: int, rule: Rule) -> list[Call]:
        """Removes a rule; a group without rules can get another mask."""
        del self.rules[group][self.place(rule)]
        if not self.rules[group]:
            self.masks[group] = None
        return [self._put(group, rule, False)]


def byte_matches(rule: Rule) -> tuple[int, ...]:
    """For every byte value: bit i says whether the rule can match if byte i of the key has this value."""
    words = [0] * 256
    for i in range(BYTES):
        key, mask = rule.key >> 8 * i & 0xFF, rule.mask >> 8 * i & 0xFF
        for value in range(256):
            if value & mask == key:
                words[value] |= 1 << i
    return tuple(words)


NO_MATCHES = (0,) * 256


@dataclass
class TernaryGroup:
    """A group of the TCAM: priorities never increase from slot to slot. `written`: word contents, also of removed entries."""

    number: int
    slots: list[Rule | None]
    written: list[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.written = [NO_MATCHES] * len(self.slots)

    def moves(self, priority: int) -> list[int] | None:
        """The path to a free slot, which comes first: each slot gets the entry of the next, the last is for the new rule.
        One entry of each priority in between moves. None if no slot is free."""
        higher = (slot for slot, rule in enumerate(self.slots) if rule and rule.priority > priority)
        after = max(higher, default=-1)
        before = next((slot for slot, rule in enumerate(self.slots) if rule and rule.priority < priority), len(self.slots))
        free = [slot for slot, rule in enumerate(self.slots) if rule is None]
        inside = [slot for slot in free if after < slot < before]
        if inside:
            return [inside[len(inside) // 2]]
        down = self._way(next((slot for slot in free if slot > before), None), before, -1)
        up = self._way(next((slot for slot in reversed(free) if slot < after), None), after, 1)
        return min((way for way in (down, up) if way), key=len, default=None)

    def _way(self, free: int | None, end: int, step: int) -> list[int] | None:
        """From a free slot towards `end`, over the farthest entry of each priority."""
        if free is None:
            return None
        way = [free]
        while way[-1] != end:
            slot = way[-1] + step
            while slot != end and self._priority(slot + step) == self._priority(way[-1] + step):
                slot += step
            way.append(slot)
        return way

    def _priority(self, slot: int) -> int:
        rule = self.slots[slot]
        assert rule is not None
        return rule.priority

    def write(self, slot: int, rule: Rule) -> list[Call]:
        """Writes a slot, used or free; only the words that change."""
        calls = [self.put(slot, rule, False)] if self.slots[slot] else []
        words = byte_matches(rule)
        for value, (old, new) in enumerate(zip(self.written[slot], words, strict=True)):
            if old != new:
                calls.append(Call("ternary", "put_bytes", (self.number, slot, value, new)))
        self.slots[slot], self.written[slot] = rule, words
        return [*calls, self.put(slot, rule)]

    def put(self, slot: int, rule: Rule, is_valid: bool = True) -> Call:
        """Makes a slot valid or invalid."""
        return Call("ternary", "put", (self.number, slot, int(is_valid), rule.priority, rule.value))


class TernaryTable:
    """Contents of the TCAM."""

    name = "ternary"

    def __init__(self, groups: int, entries: int) -> None:
        self.groups = [TernaryGroup(number, [None] * entries) for number in range(groups)]

    @property
    def free(self) -> int:
        """Slots without a rule."""
        return sum(group.slots.count(None) for group in self.groups)

    def add(self, rule: Rule) -> tuple[int, list[Call]]:
        """The group, and the calls: picks the group with the fewest moves, and of these the emptiest."""
        ways = [(way, group) for group in self.groups if (way := group.moves(rule.priority))]
        if not ways:
            raise TableFull("no place for a rule with this mask: no group of the HashTCAM can have it, and the TCAM is full")
        way, group = min(ways, key=lambda found: (len(found[0]), -found[1].slots.count(None)))
        calls = []
        for to, before in pairwise(way):
            moved = group.slots[before]
            assert moved is not None
            calls += group.write(to, moved)
        return group.number, [*calls, *group.write(way[-1], rule)]

    def load(self, rules: Sequence[Rule]) -> Iterator[tuple[Rule, int, list[Call]]]:
        """Loads many rules into an empty table, in priority order and with even gaps: none moves."""
        ordered = sorted(rules, key=lambda rule: -rule.priority)
        for group in self.groups:
            mine = ordered[group.number :: len(self.groups)]
            for n, rule in enumerate(mine):
                yield rule, group.number, group.write(n * len(group.slots) // len(mine), rule)

    def _slot(self, number: int, rule: Rule) -> int:
        return next(s for s, there in enumerate(self.groups[number].slots) if there and there.match == rule.match)

    def change(self, number: int, rule: Rule) -> list[Call]:
        """Changes the value of a present rule."""
        slot = self._slot(number, rule)
        self.groups[number].slots[slot] = rule
        return [self.groups[number].put(slot, rule)]

    def remove(self, number: int, rule: Rule) -> list[Call]:
        """Removes a rule; its words stay unchanged."""
        slot = self._slot(number, rule)
        self.groups[number].slots[slot] = None
        return [self.groups[number].put(slot, rule, False)]


class Manager:
    """All rules of a firewall. Every method returns the signals that update the device, in order."""

    def __init__(self, sizes: Sizes | None = None) -> None:
        sizes = sizes or Sizes()
        self.exact = ExactTable(sizes.banks, sizes.bank_entries)
        self.masked = HashTable(sizes.masks, sizes.mask_entries)
        self.ternary = TernaryTable(sizes.tcam_groups, sizes.tcam_entries)
        self.rules: dict[tuple[int, int, int], tuple[Rule, str, int]] = {}  # with its table and group

    def table_of(self, rule: Rule) -> str:
        """The instance that holds a rule. Raises KeyError if there is none."""
        return self.rules[rule.match][1]

    def _note(self, rule: Rule, table: str, group: int) -> None:
        self.rules[rule.match] = rule, table, group

    def add(self, rule: Rule) -> list[Call]:
        """Adds a rule, or changes the value of the one with this match and priority. Raises TableFull."""
        if rule.match in self.rules:
            return self._change(rule)
        if rule.is_exact:
            calls, table, group = self.exact.add(rule), self.exact.name, 0
        else:
            found = self.masked.find(rule)
            if found is not None:
                calls, table, group = self.masked.add(found, rule), self.masked.name, found
            else:
                (group, calls), table = self.ternary.add(rule), self.ternary.name
        self._note(rule, table, group)
        return calls

    def _change(self, rule: Rule) -> list[Call]:
        _, table, group = self.rules[rule.match]
        self._note(rule, table, group)
        if table == self.exact.name:
            return self.exact.change(rule)
        return self.masked.change(group, rule) if table == self.masked.name else self.ternary.change(group, rule)

    def remove(self, rule: Rule) -> list[Call]:
        """Removes the rule with this match and priority. Raises KeyError if there is none."""
        there, table, group = self.rules.pop(rule.match)
        if table == self.exact.name:
            return self.exact.remove(there)
        return self.masked.remove(group, there) if table == self.masked.name else self.ternary.remove(group, there)

    def load(self, rules: Iterable[Rule]) -> list[Call]:
        """Loads many distinct rules into empty tables: the masks with the most rules get the groups of the HashTCAM, several for a
        mask with collisions. Raises TableFull; the manager is unusable afterwards."""
        calls, pending = [], dict[int, list[Rule]]()
        for rule in rules:
            if rule.is_exact:
                self.add(rule)
            else:
                pending.setdefault(rule.mask, []).append(rule)
        calls += self.exact.written()
        for group in range(len(self.masked.masks)):
            mask = max(pending, key=lambda mask: len(pending[mask]), default=None)
            if mask is None:
                break
            rest = []
            for rule in pending.pop(mask):
                if self.masked.place(rule) in self.masked.rules[group]:
                    rest.append(rule)
                else:
                    calls += self.masked.add(group, rule)
                    self._note(rule, self.masked.name, group)
            if rest:
                pending[mask] = rest
        rest = [rule for some in pending.values() for rule in some]
        if len(rest) > self.ternary.free:
            raise TableFull(f"{len(rest)} rules find no place in the HashTCAM, and the TCAM has {self.ternary.free} entries")
        for rule, group, written in self.ternary.load(rest):
            calls += written
            self._note(rule, self.ternary.name, group)
        return calls
