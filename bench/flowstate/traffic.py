# SPDX-License-Identifier: Apache-2.0
"""Records for the programs: mixes of flows, times that pass slowly, jump and wrap, and fields that lead a program through its
states."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

from compiler.frontend import typed

MIXES = ("1 flow", "4 flows", "Zipf", "new flows")
ZIPF_FLOWS = 4000
FIRST_NEW = 1 << 20  # of the numbers of new flows
START = (1 << 32) - 400  # microseconds: time wraps soon
STEPS = (0, 0, 0, 0, 1, 1, 2)  # microseconds from record to record
JUMP_EVERY = 400  # records, on average
SLEEPS = (600, 600, 12_000, 40_000, 700_000)  # microseconds: longer than states of the programs live
INSIDE = 0x0A000000
PORTS = 1 << 15  # that the translator gives away, the highest
KNOCKS = (1111, 2222, 3333, 22)
FIN, SYN, RST, ACK = 1, 2, 4, 16
FLAGS = (SYN, SYN, SYN | ACK, SYN | ACK, ACK, ACK, ACK, FIN | ACK, RST)

Fields = dict[str, int]


def flows(mix: str, count: int, choose: random.Random) -> Sequence[int]:
    """Which flow each record is of."""
    if mix == "new flows":
        return range(FIRST_NEW, FIRST_NEW + count)
    number = {"1 flow": 1, "4 flows": 4, "Zipf": ZIPF_FLOWS}[mix]
    weights = itertools.accumulate(1 / (n + 1) if mix == "Zipf" else 1.0 for n in range(number))
    return choose.choices(range(number), cum_weights=list(weights), k=count)


def times(count: int, timeout: int, choose: random.Random) -> list[int]:
    """When each record comes; jumps are about the timeout, or longer."""
    found, now = [], START
    for _ in range(count):
        now += choose.choice(STEPS)
        if choose.random() < 1 / JUMP_EVERY:
            now += choose.choice((timeout - 1, timeout, 2 * timeout, *SLEEPS))
        found.append(now & 0xFFFFFFFF)
    return found


def _mixed(number: int) -> int:
    """Bits that look random, the same for the same flow."""
    number = (number + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    return number ^ number >> 27


def _mac(flow: int) -> int:
    return 0x020000000000 | _mixed(flow) >> 40 << 20 | flow & 0xFFFFF


def _any(flow: int, before: int, at: int, choose: random.Random) -> Fields:
    """A record of a flow, from inside; `before`: the flow of the record before."""
    mixed = _mixed(flow)
    return {
        "source": INSIDE | mixed & 0xFFFF,
        "destination": mixed >> 16 & 0x7FFFFFFF | 1 << 31,
        "source_port": mixed >> 48,
        "destination_port": 80 + (flow & 1),
        "protocol": (6, 6, 17)[flow % 3],
        "source_mac": _mac(flow),
        "destination_mac": _mac(before),
        "lane": flow & 15,
        "flags": ACK,
        "length": choose.choice((64, 64, 576, 1514)),
        "sequence": (at * 1448 - choose.choice((0, 0, 0, 5000))) & 0xFFFFFFFF,
    }


def _knocks(fields: Fields, seen: int, choose: random.Random) -> None:
    fields["destination_port"] = choose.choice(KNOCKS)


def _turns(fields: Fields) -> None:
    """The record comes from outside."""
    for name in ("", "_port"):
        fields[f"source{name}"], fields[f"destination{name}"] = fields[f"destination{name}"], fields[f"source{name}"]


def _connects(fields: Fields, seen: int, choose: random.Random) -> None:
    fields["flags"] = choose.choice(FLAGS)
    if choose.random() < 0.5:
        _turns(fields)


def _translates(fields: Fields, seen: int, choose: random.Random) -> None:
    if choose.random() < 0.4:
        _turns(fields)
        port = max(0, choose.randrange(seen + 1) - choose.randrange(8)) % PORTS
        fields["destination_port"] = PORTS + port if choose.random() < 0.9 else port


def _moves(fields: Fields, seen: int, choose: random.Random) -> None:
    if choose.random() < 0.1:
        fields["lane"] = choose.randrange(16)


ADAPT: Mapping[str, Callable[[Fields, int, random.Random], None]] = {
    "knocking": _knocks,
    "tracking": _connects,
    "nat": _translates,
    "learning": _moves,
}


def _places(kind: typed.Type, low: int = 0) -> dict[str, int]:
    """The lowest bit of each field of a structure, and of those inside."""
    found: dict[str, int] = {}
    for field in kind.fields if isinstance(kind, typed.Struct) else ():
        inner = _places(field.type, low + field.low)
        found |= inner or {field.name: low + field.low}
    return found


def records(element: typed.Element, program: str, mixes: Sequence[str], count: int, timeout: int, seed: int = 1) -> list[int]:
    """`count` tokens of each of some mixes, one mix after another; of new flows each one is another."""
    choose, places = random.Random(f"{seed} {program} {mixes}"), _places(element.inputs[0].type)
    numbers = [flow for mix in mixes for flow in flows(mix, count, choose)]
    adapt, known, found, before = ADAPT.get(program), set[int](), [], 0
    for at, (flow, time) in enumerate(zip(numbers, times(len(numbers), timeout, choose), strict=True)):
        known.add(flow)
        fields = {**_any(flow, before, at, choose), "time": time}
        if adapt:
            adapt(fields, len(known), choose)
        found.append(sum(value << places[name] for name, value in fields.items()))
        before = flow
    return found
