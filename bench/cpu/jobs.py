# SPDX-License-Identifier: Apache-2.0
"""The jobs of the benchmark: a program, its rules for both sides, and the packets that come in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from bench.firewall import Firewall
from bench.firewall.model import SOURCE, frame, traffic
from bench.ternary import generate
from configs.ofw.manager import Sizes
from toolchain import ROOT

HERE = Path(__file__).parent
SIZE = 60  # bytes of a packet, FCS not counted
TUNNELS, OWN_MAC, OWN_IP = 256, 0x020000000001, 0x0A000001
FEW, MANY = 1000, 16_384  # packets of the capture that comes again and again


@dataclass(frozen=True)
class Job:
    """`by_hand`: the job of `by_hand.c`, None where there is none; `signals` and `lines`: the same rules for both sides;
    `openflow`: for Open vSwitch, where it has such a function; `partitioned`: whether threads may have states of their own."""

    name: str
    program: Path
    packets: Sequence[bytes]
    by_hand: str | None = None
    signals: Sequence[str] = ()
    lines: Sequence[str] = field(default=())
    openflow: Sequence[str] = ()
    partitioned: bool = False


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
    return Job("count", HERE / "count.sl", [packet(some(choose)) for _ in range(FEW)], "count", openflow=["actions=output:2"])


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
    openflow = [
        f"priority={length},ip,nw_dst={IPv4Address(prefix)}/{length},actions=dec_ttl,mod_dl_src:{own.to_bytes(6).hex(':')},"
        f"mod_dl_dst:{other.to_bytes(6).hex(':')},output:2"
        for (prefix, length), (own, other) in hops.items()
    ]
    return Job("router, 1K routes", HERE / "router.sl", packets, "router", signals, lines, openflow)


def key_of(five: Five) -> int:
    """The struct of both programs, first field highest."""
    source, destination, source_port, destination_port, protocol = five
    return source << 72 | destination << 40 | source_port << 24 | destination_port << 8 | protocol


def exact(flows: int = 131_072) -> Job:
    """As many flows as the table takes, packets of a part of them."""
    choose = random.Random(3)
    known = [some(choose) for _ in range(flows)]
    addresses = [0x02 << 40 | choose.getrandbits(40) for _ in known]
    signals = [f"known/flows_insert/{key_of(five):x}/{mac:x}" for five, mac in zip(known, addresses, strict=True)]
    lines = [_line(five, mac) for five, mac in zip(known, addresses, strict=True)]
    seen = choose.sample(range(flows), min(MANY, flows))
    packets = [packet(known[n]) for n in seen]
    # Those of the packets alone: Open vSwitch takes minutes for all.
    openflow = [f"{_match(known[n])},actions=mod_dl_dst:{addresses[n].to_bytes(6).hex(':')},output:2" for n in seen]
    return Job(f"exact, {flows // 1024}K flows", HERE / "exact.sl", packets, "exact", signals, lines, openflow)


def _line(five: Five, value: int) -> str:
    return " ".join(f"{number:x}" for number in (*five, value))


def _match(five: Five) -> str:
    source, destination, source_port, destination_port, protocol = five
    addresses = f"nw_src={IPv4Address(source)},nw_dst={IPv4Address(destination)}"
    return f"{'tcp' if protocol == 6 else 'udp'},{addresses},tp_src={source_port},tp_dst={destination_port}"


def balancer(flows: int = 65_536) -> Job:
    """Flows over tunnels, packets of a part of them."""
    choose = random.Random(5)
    known = [(some(choose), choose.randrange(TUNNELS)) for _ in range(flows)]
    tunnels = [(0x02 << 40 | choose.getrandbits(40), choose.getrandbits(32), choose.getrandbits(24)) for _ in range(TUNNELS)]
    signals = [f"tunnels/set_own/{OWN_MAC:x}/{OWN_IP:x}"]
    signals += [f"tunnels/set_tunnel/{n:x}/1/{mac:x}/{ip:x}/{subnet:x}" for n, (mac, ip, subnet) in enumerate(tunnels)]
    signals += [f"balance/flows_insert/{key_of(five):x}/{tunnel:x}" for five, tunnel in known]
    lines = [f"{OWN_MAC:x} {OWN_IP:x}", *(" ".join(f"{part:x}" for part in tunnel) for tunnel in tunnels)]
    lines += [_line(five, tunnel) for five, tunnel in known]
    packets = [packet(five) for five, _ in choose.sample(known, min(MANY, flows))]
    name = f"load balancer, {flows // 1024}K flows, NVGRE"
    return Job(name, HERE / "balancer.sl", packets, "balancer", signals, lines, partitioned=True)


def _mask(length: int, bits: int) -> int:
    return ((1 << length) - 1) << (bits - length)


def firewall(rules: int) -> Job:
    """Rules with the statistics of acl1, where ports are one or any; each packet matches one drawn at random, or one before it."""
    choose = random.Random(4)
    drawn = generate.rules("acl1", 4 * rules + 400)
    usable = [r for r in drawn if all(r[n] == r[n + 1] or (r[n], r[n + 1]) == (0, 0xFFFF) for n in (4, 6))][:rules]
    signals, lines, packets = [], [], []
    openflow: list[str] = []
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
        openflow += _flows(kept, masks, f"priority={priority}", "output:2" if passes else "drop")
    for _ in range(MANY):
        number = choose.randrange(len(usable))
        words = signals[number].split("/")
        key, mask = int(words[2], 16), int(words[3], 16)
        found = key | (choose.getrandbits(104) & ~mask)
        packets.append(packet((found >> 72, found >> 40 & 0xFFFFFFFF, found >> 24 & 0xFFFF, found >> 8 & 0xFFFF, found & 0xFF)))
    return Job(f"firewall, {len(usable):,} rules", HERE / "firewall.sl", packets, "firewall", signals, lines, openflow)


def _flows(values: Sequence[int], masks: Sequence[int], head: str, actions: str) -> Iterator[str]:
    """Ports can be matched only of one protocol: a rule of any becomes two."""
    source, destination, *ports, protocol = values
    match = f"nw_src={IPv4Address(source)}/{IPv4Address(masks[0])},nw_dst={IPv4Address(destination)}/{IPv4Address(masks[1])}"
    match += "".join(f",{name}={port}" for name, port, mask in zip(("tp_src", "tp_dst"), ports, masks[2:4], strict=True) if mask)
    for number in (6, 17) if masks[2] | masks[3] and not masks[4] else (protocol,):
        kind = f"nw_proto={number}," if masks[4] or masks[2] | masks[3] else ""
        yield f"{head},ip,{kind}{match},actions={actions}"


def guard() -> Job:
    """Finds floods and scans; its settings are those of a device that was just started."""
    return Job("guard", ROOT / "configs" / "guard" / "guard.sl", count().packets)


def ofw(sizes: Sizes | None = None) -> Job:
    """The OpenFlow firewall of ClickNP with a rule at every place: exact, under a few masks, and under any."""
    full = Firewall(sizes or Sizes())
    signals = ["/".join([call.instance, call.name, *(f"{argument:x}" for argument in call.arguments)]) for call in full.fill]
    packets = [frame(key, number) for number, key in enumerate(traffic(full.rules, MANY))]
    return Job(f"ofw, {len(full.rules) / 1000:.0f}K rules", SOURCE, packets, signals=signals)


JOBS: Sequence[Callable[[], Job]] = (
    count,
    router,
    exact,
    lambda: firewall(128),
    lambda: firewall(1000),
    lambda: firewall(8000),
    balancer,
    guard,
    ofw,
)
