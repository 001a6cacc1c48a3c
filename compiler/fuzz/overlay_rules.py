# SPDX-License-Identifier: Apache-2.0
"""Random tables and their rules, as lines of a rules file. Behind each stands the signal that inserts it, which is computed here
and not by the reader of such files."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from compiler.fuzz.overlay_packets import Field, Wish
from compiler.fuzz.writer import Kind

TOO_MANY = 0.02  # of tables have more rules than entries
KINDS = ("exact", "lpm", "ternary", "ternary")


@dataclass
class Table:
    """A table: key and value as struct or integer, and the fields of the packet that each lookup has as its key."""

    name: str
    kind: str
    key: Kind
    value: Kind
    entries: int
    instance: str = ""  # that has it
    shown: str = ""  # its name in a rules file
    lookups: list[tuple[Field | None, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class RuleLine:
    """A rule: its line, and a packet that it matches at each lookup."""

    text: str
    wishes: tuple[Wish, ...]


def parts_of(kind: Kind) -> tuple[tuple[str, Kind], ...]:
    """Fields of a struct, the first in the highest bits; an integer is one without a name."""
    return kind.fields if kind.kind == "struct" else (("", kind),)


def joined(kind: Kind, values: Sequence[int]) -> int:
    """The number that values of the fields are."""
    result = 0
    for (_, part), value in zip(parts_of(kind), values, strict=True):
        result = result << part.bits | value
    return result


def rules(choose: random.Random, table: Table, near: Callable[[int], int]) -> Iterator[RuleLine]:
    """Rules with different keys; `near` gives a value of so many bits."""
    seen = set[tuple[int, int]]()
    most = table.entries + (choose.random() < TOO_MANY)
    for number in range(choose.choice([min(most, choose.randint(0, 6)), min(most, choose.randint(2, 6)), most])):
        keys = [_key(choose, table.kind, part.bits, near) for _, part in parts_of(table.key)]
        value, mask = (joined(table.key, [key[at] for key in keys]) for at in (0, 1))
        if (value, mask) in seen:
            continue
        seen.add((value, mask))
        results = [near(part.bits) for _, part in parts_of(table.value)]
        result = joined(table.value, results)
        match table.kind:
            case "exact":
                arguments = [value, result]
            case "lpm":
                arguments = [value, mask.bit_count(), result]
            case _:
                arguments = [value, mask, 0xF000 - number, result]
        left = ", ".join(filter(None, (_written(choose, table.kind, name, part, *key) for (name, part), key in _zip(table, keys))))
        right = ", ".join(f"{name} {_number(choose, one, part.bits)}".strip() for (name, part), one in _values(table, results))
        if not left:  # a key without a field is none
            left = f"{parts_of(table.key)[0][0]} 0/0x0".strip()
        text = f"{table.shown} {left} -> {right}  # {table.instance}.{table.name}_insert {','.join(map(hex, arguments))}"
        yield RuleLine(text, tuple(_wish(choose, keys, lookup) for lookup in table.lookups))


def _zip(table: Table, keys: list[tuple[int, int]]) -> list[tuple[tuple[str, Kind], tuple[int, int]]]:
    return list(zip(parts_of(table.key), keys, strict=True))


def _values(table: Table, results: list[int]) -> list[tuple[tuple[str, Kind], int]]:
    return list(zip(parts_of(table.value), results, strict=True))


def _key(choose: random.Random, kind: str, bits: int, near: Callable[[int], int]) -> tuple[int, int]:
    """Value and mask of a field of a key."""
    everything = (1 << bits) - 1
    value, length = near(bits), choose.choice([0, bits, choose.randint(0, bits), bits * 3 // 4])
    prefix = everything ^ everything >> length
    match kind:
        case "exact":
            mask = everything
        case "lpm":
            mask = prefix
        case _:
            mask = choose.choice([everything, everything, prefix, 0, choose.getrandbits(bits)])
    return value & mask, mask


def _written(choose: random.Random, table: str, name: str, part: Kind, value: int, mask: int) -> str:
    """A field of a key; nothing where it may be left out."""
    everything = (1 << part.bits) - 1
    if not mask and table == "ternary" and name and choose.random() < 0.8:
        return ""
    length = mask.bit_count()
    is_prefix = mask == everything ^ everything >> length
    suffix = "" if mask == everything and choose.random() < 0.8 else f"/{length}" if is_prefix else f"/{mask:#x}"
    return f"{name} {_number(choose, value, part.bits)}{suffix}".strip()


def _number(choose: random.Random, value: int, bits: int) -> str:
    """A value in one of its spellings."""
    spellings = [str(value), hex(value)]
    if bits == 32:
        spellings.append(str(ipaddress.IPv4Address(value)))
    if bits == 48:
        spellings.append(value.to_bytes(6, "big").hex(":"))
    return choose.choice(spellings)


def _wish(choose: random.Random, keys: Sequence[tuple[int, int]], lookup: Sequence[Field | None]) -> Wish:
    """A packet that the rule matches."""
    found = zip(lookup, keys, strict=True)
    return tuple((one, value | choose.getrandbits(one.bits) & ~mask) for one, (value, mask) in found if one is not None)
