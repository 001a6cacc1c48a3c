# SPDX-License-Identifier: Apache-2.0
"""Random tokens for the inputs of an element, and random calls of its signals. Each port and signal has a generator of its own, so
that a program which loses another port keeps these."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from compiler.frontend import typed
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.guard import fields_of

LEAST_TOKENS, MOST_TOKENS = 8, 24


def value(choose: random.Random, bits: int) -> int:
    """Of any size; small ones, and those at the edges, more often."""
    edges = [0, 1, (1 << bits) - 1, 1 << (bits - 1)]
    return choose.choice([choose.getrandbits(bits), choose.getrandbits(min(bits, 4)), choose.choice(edges)])


def packet(choose: random.Random, flit: typed.Type) -> list[int]:
    """Flits with any contents, framed well."""
    places = fields_of(flit)
    count = choose.choice([1, 1, 2, 3, 4])
    flits = []
    for number in range(count):
        is_last = number == count - 1
        found = choose.getrandbits(flit.bits)
        empty = choose.getrandbits(places["empty"][1]) if is_last else 0
        for name, new in (("sop", number == 0), ("eop", is_last), ("empty", empty)):
            low, bits = places[name]
            found = found & ~((1 << bits) - 1 << low) | int(new) << low
        flits.append(found)
    return flits


def stream(port: typed.Port, seed: int) -> list[int]:
    """The tokens of one input."""
    choose = random.Random(f"{seed} {port.name}")
    count = choose.randint(LEAST_TOKENS, MOST_TOKENS)
    if not port.is_packet:
        return [value(choose, port.type.bits) for _ in range(count)]
    return [flit for _ in range(count // 2) for flit in packet(choose, port.type)]


def streams(program: typed.Program, seed: int) -> dict[str, Mapping[str, Sequence[int]]]:
    """Tokens for every input of every element."""
    return {element.name: {port.name: stream(port, seed) for port in element.inputs} for element in program.elements}


def signals(program: typed.Program, seed: int) -> dict[str, Sequence[SignalCall]]:
    """Calls of every signal of every element."""
    found: dict[str, Sequence[SignalCall]] = {}
    for element in program.elements:
        choose = random.Random(f"{seed} signals")
        calls = [s for s in element.signals for _ in range(choose.randint(0, 2))]
        found[element.name] = [SignalCall(s.name, tuple(value(choose, p.type.bits) for p in s.parameters)) for s in calls]
    return found
