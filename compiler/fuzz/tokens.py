# SPDX-License-Identifier: Apache-2.0
"""Random tokens for the inputs of an element, and random calls of its signals. Each port and signal has a generator of its own, so
that a program which loses another port keeps these."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from compiler.frontend import typed
from compiler.frontend.tables import updates
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


def with_headers(choose: random.Random) -> bytes:
    """A packet with headers of the usual protocols, mostly right: Ethernet, VLAN tags, IPv4 or IPv6, TCP, UDP, or NVGRE with a
    packet inside."""
    macs = choose.randbytes(12)
    tags = b"".join(b"\x81\x00" + choose.randbytes(2) for _ in range(choose.choice([0, 0, 0, 1, 2])))
    return macs + tags + _network(choose, choose.choice([0, 0, 0, 1]))


def _network(choose: random.Random, depth: int) -> bytes:
    """From the ethertype on."""
    payload = choose.randbytes(choose.choice([0, 6, 18, 26, 64, 200, choose.randrange(600)]))
    protocol = choose.choice([1, 6, 6, 17, 17, 47, choose.randrange(256)])
    if protocol in (6, 17):
        ports = b"".join(choose.choice([b"\x00\x50", b"\x12\xb5", choose.randbytes(2)]) for _ in range(2))
        rest = choose.randbytes(16) if protocol == 6 else (8 + len(payload)).to_bytes(2, "big") + bytes(2)
        payload = ports + rest + payload
    elif protocol == 47 and depth:
        payload = b"\x20\x00\x65\x58" + choose.randbytes(4) + choose.randbytes(12) + _network(choose, 0)
    kind = choose.choice([4, 4, 4, 6, 0])
    ttl = choose.choice([0, 1, 2, 64, 255])
    if kind == 4:
        words = choose.choice([5, 5, 5, 6, 15])
        fragment = choose.choice([0, 0, 0x4000, 0x2000, 0x00B9]).to_bytes(2, "big")
        head = bytes([4 << 4 | words, choose.randrange(256)]) + (4 * words + len(payload)).to_bytes(2, "big") + choose.randbytes(2)
        head += (
            fragment + bytes([ttl, protocol, 0, 0]) + _address(choose, 4) + _address(choose, 4) + choose.randbytes(4 * words - 20)
        )
        check = _sum(head) ^ choose.choice([0, 0, 0, 1])
        return b"\x08\x00" + head[:10] + check.to_bytes(2, "big") + head[12:] + payload
    if kind == 6:
        head = b"\x60\x00" + choose.randbytes(2) + len(payload).to_bytes(2, "big") + bytes([protocol, ttl])
        return b"\x86\xdd" + head + _address(choose, 16) + _address(choose, 16) + payload
    return choose.choice([b"\x08\x06", b"\x88\xcc", choose.randbytes(2)]) + payload


def _address(choose: random.Random, size: int) -> bytes:
    """Few of them more often."""
    return choose.choice([choose.randbytes(size), bytes([10] + [0] * (size - 2) + [choose.randrange(4)])])


def _sum(head: bytes) -> int:
    """The checksum of an IPv4 header whose own is 0 (RFC 1071)."""
    total = sum(int.from_bytes(head[at : at + 2], "big") for at in range(0, len(head), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


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
    """Calls of every signal of every element; many of those that change the rules of a table."""
    found: dict[str, Sequence[SignalCall]] = {}
    for element in program.elements:
        choose = random.Random(f"{seed} signals")
        changes = updates(element)
        calls = [s for s in element.signals for _ in range(choose.randint(2, 8) if s.name in changes else choose.randint(0, 2))]
        if changes:
            choose.shuffle(calls)
        found[element.name] = [call_of(choose, signal) for signal in calls]
    return found


def call_of(choose: random.Random, signal: typed.Signal) -> SignalCall:
    """With any arguments; of a timer, a period has passed."""
    least = 1 if signal.every else 0
    return SignalCall(signal.name, tuple(max(least, value(choose, p.type.bits)) for p in signal.parameters))
