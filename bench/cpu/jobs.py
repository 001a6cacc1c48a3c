# SPDX-License-Identifier: Apache-2.0
"""The jobs of the benchmark: a program, its rules for both sides, and the packets that come in."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from bench.ternary import generate
from toolchain import ROOT

HERE = Path(__file__).parent
SIZE = 60  # bytes of a packet, FCS not counted
FEW, MANY = 1000, 16_384  # packets of the capture that comes again and again


@dataclass(frozen=True)
class Job:
    """`by_hand`: the job of `by_hand.c`, None where there is none; `signals` and `lines`: the same rules for both sides."""

    name: str
    program: Path
    packets: Sequence[bytes]
    by_hand: str | None = None
    signals: Sequence[str] = ()
    lines: Sequence[str] = field(default=())


Five = tuple[int, int, int, int, int]  # addresses, ports, protocol


def packet(five: Five) -> bytes:
    """A packet of a flow, with a checksum."""
    source, destination, source_port, destination_port, protocol = five
    head = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:01") / IP(src=source, dst=destination, proto=protocol, len=SIZE - 14)
    inner = TCP if protocol == 6 else UDP
    data = bytes(head / inner(sport=source_port, dport=destination_port, chksum=1))
    return data[:SIZE] + bytes(SIZE - len(data[:SIZE]))


def some(choose: random.Random) -> Five:
    return choose.getrandbits(32), choose.getrandbits(32), choose.getrandbits(16), choose.getrandbits(16), choose.choice([6, 17])


def count() -> Job:
    """Receive and count."""
    choose = random.Random(1)
    return Job("count", HERE / "count.sl", [packet(some(choose)) for _ in range(FEW)], "count")


def router(routes: int = 1000) -> Job:
    """Prefixes of 8 to 32 bits, each packet to one of them."""
    choose = random.Random(2)
    prefixes: dict[tuple[int, int], tuple[int, int]] = {}
    while len(prefixes) < routes:
        length = choose.choices([8, 16, 20, 22, 24, 28, 32], [1, 10, 10, 15, 55, 5, 4])[0]
        prefixes[choose.getrandbits(length) << (32 - length), length] = (choose.getrandbits(40), choose.getrandbits(40))
    packets = []
    for _ in range(FEW):
        prefix, length = choose.choice(list(prefixes))
        source, _, *rest = some(choose)
        packets.append(packet((source, prefix | choose.getrandbits(32) >> length, *rest)))  # type: ignore[arg-type]
    hops = {key: (0x02 << 40 | own, 0x02 << 40 | other) for key, (own, other) in prefixes.items()}
    signals = [
        f"router/routes_insert/{prefix:x}/{length:x}/{own << 48 | other:x}" for (prefix, length), (own, other) in hops.items()
    ]
    lines = [f"{prefix:x}/{length:x} {own:x} {other:x}" for (prefix, length), (own, other) in hops.items()]
    return Job("router, 1K routes", HERE / "router.sl", packets, "router", signals, lines)


def key_of(five: Five) -> int:
    """The struct of both programs, first field highest."""
    source, destination, source_port, destination_port, protocol = five
    return source << 72 | destination << 40 | source_port << 24 | destination_port << 8 | protocol


def exact(flows: int = 65_536) -> Job:
    """As many flows as the table takes, packets of a part of them."""
    choose = random.Random(3)
    known = [some(choose) for _ in range(flows)]
    addresses = [0x02 << 40 | choose.getrandbits(40) for _ in known]
    signals = [f"known/flows_insert/{key_of(five):x}/{mac:x}" for five, mac in zip(known, addresses, strict=True)]
    lines = [" ".join(f"{value:x}" for value in (*five, mac)) for five, mac in zip(known, addresses, strict=True)]
    return Job(
        "exact, 64K flows", HERE / "exact.sl", [packet(five) for five in choose.sample(known, MANY)], "exact", signals, lines
    )


def _mask(length: int, bits: int) -> int:
    return ((1 << length) - 1) << (bits - length)


def firewall(rules: int) -> Job:
    """Rules with the statistics of acl1, where ports are one or any; each packet matches one drawn at random, or one before it."""
    choose = random.Random(4)
    drawn = generate.rules("acl1", 4 * rules + 400)
    usable = [r for r in drawn if all(r[n] == r[n + 1] or (r[n], r[n + 1]) == (0, 0xFFFF) for n in (4, 6))][:rules]
    signals, lines, packets = [], [], []
    for number, rule in enumerate(usable):
        values = (rule[0], rule[2], rule[4], rule[6], rule[8])
        ports = [0xFFFF if rule[n] == rule[n + 1] else 0 for n in (4, 6)]
        masks = (_mask(rule[1], 32), _mask(rule[3], 32), *ports, rule[9])
        kept = [value & mask for value, mask in zip(values, masks, strict=True)]
        priority, passes = len(usable) - number, number % 4 != 3
        key, mask = key_of(tuple(kept)), key_of(tuple(masks))  # type: ignore[arg-type]
        signals.append(f"firewall/rules_insert/{key:x}/{mask:x}/{priority:x}/{passes:x}")
        fields = " ".join(f"{value:x}/{mask:x}" for value, mask in zip(kept, masks, strict=True))
        lines.append(f"{fields} {priority:x} {int(passes):x}")
    for _ in range(MANY):
        number = choose.randrange(len(usable))
        words = signals[number].split("/")
        key, mask = int(words[2], 16), int(words[3], 16)
        found = key | (choose.getrandbits(104) & ~mask)
        packets.append(packet((found >> 72, found >> 40 & 0xFFFFFFFF, found >> 24 & 0xFFFF, found >> 8 & 0xFFFF, found & 0xFF)))
    return Job(f"firewall, {len(usable):,} rules", HERE / "firewall.sl", packets, "firewall", signals, lines)


def guard() -> Job:
    """Finds floods and scans; its settings are those of a device that was just started."""
    return Job("guard", ROOT / "configs" / "guard" / "guard.sl", count().packets)


JOBS: Sequence[Callable[[], Job]] = (
    count,
    router,
    exact,
    lambda: firewall(128),
    lambda: firewall(1000),
    lambda: firewall(8000),
    guard,
)
