# SPDX-License-Identifier: Apache-2.0
"""Tunnelled packets for tests of whatever opens tunnels: every kind, every damage, headers in any order. Built with scapy,
seeded by `random`. `OWN` are the addresses that they are sent to.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from scapy.contrib.geneve import GENEVE
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import ARP, GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from models.packet import Own
from models.traffic import MACS, ip4, ip6, malformed, tags, well_formed

IPV4, IPV6 = "10.0.0.1", "2001:db8::1"
OWN = Own(lane_mac=(0x020000000001,) * 8, ipv4=int(ip_address(IPV4)), ipv6=int(ip_address(IPV6)))


def geneve(options: int = 0, **fields: Any) -> Packet:
    """UDP and a Geneve header with this many words of options."""
    some: dict[str, Any] = {"vni": random.getrandbits(24), "proto": 0x6558, **fields}
    option = Raw(bytes([1, 2, 3, (options - 1) & 0x1F]) + random.randbytes(4 * (options - 1))) if options else Raw(b"")
    return UDP(sport=49152, dport=6081) / Raw(bytes(GENEVE(**some, optionlen=options))[:8]) / option


def vxlan(**fields: Any) -> Packet:
    """UDP and a VXLAN header."""
    return UDP(sport=49152, dport=4789) / Raw(bytes(VXLAN(**{"vni": random.getrandbits(24), "flags": 8, **fields}))[:8])


def gre(**fields: Any) -> Packet:
    """A GRE header; with a key, NVGRE."""
    key: dict[str, Any] = {"key": random.getrandbits(32)} if fields.get("key_present") else {}
    return Raw(bytes(GRE(**{"proto": 0x6558, **key, **fields})))


def sound() -> list[Packet]:
    """A tunnel header of every kind."""
    flags = ("chksum_present", "key_present", "seqnum_present")
    return [
        vxlan(),
        vxlan(flags=0xFF, reserved1=0xFFFFFF),
        geneve(),
        geneve(1),
        geneve(5),
        *(gre(**{flag: n >> bit & 1 for bit, flag in enumerate(flags)}) for n in range(8)),
    ]


def unsound() -> list[Packet]:
    """Headers that open nothing, most of them one bit away from one that does."""
    return [
        vxlan(flags=0xF7),
        geneve(version=1),
        geneve(oam=1),
        geneve(critical=1),
        geneve(proto=0x0800),
        geneve(63),
        gre(version=1),
        gre(proto=0x0800),
        *(Raw(bytes([bits, 0, 0x65, 0x58, 0, 0, 0, 0])) for bits in (0x40, 0x08, 0x04)),
        UDP(sport=4789, dport=4790) / Raw(b"\x08" + bytes(7)),
    ]


def outer(header: Packet, **fields: Any) -> list[Packet]:
    """Stacks that carry a tunnel header to the device itself."""
    number: dict[str, Any] = {} if isinstance(header, UDP) else {"proto": 47}
    four = ip4(dst=IPV4, **number, **fields)
    options = ip4(dst=IPV4, options=[IPOption_Router_Alert()] * 2, **number, **fields)
    six = ip6(dst=IPV6, nh=17 if isinstance(header, UDP) else 47, **fields)
    next_header = {"nh": six.nh}
    pad = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))], **next_header)
    chains = [pad, IPv6ExtHdrFragment(m=0, offset=0, **next_header)]
    return [tags(random.randrange(3)) / ip / header for ip in (four, options, six)] + [
        tags(0) / ip6(dst=IPV6, **fields) / chain / header for chain in chains
    ]


def opened() -> list[bytes]:
    """Packets that are opened, sound inside, though not all within the window."""
    inside = well_formed()
    packets = [bytes(stack / random.choice(inside)) for header in sound() for stack in outer(header)]
    packets += [bytes(tags(0) / ip4(dst=IPV4) / vxlan() / packet) for packet in inside if len(packet) < 200]
    packets += [packet + random.randbytes(random.randrange(1, 9)) for packet in packets[::5]]  # behind the IP packet
    return packets


def closed() -> list[bytes]:
    """Packets that look like tunnels to the device itself, and are not opened."""
    inner = bytes(tags(0) / ip4() / UDP(sport=1, dport=2) / Raw(bytes(10)))
    header = vxlan() / inner
    ip = ip4(dst=IPV4)
    stacks = [
        Ether(dst="02:00:00:00:00:03") / ip / header,
        tags(0) / ip4(dst="10.0.0.2") / header,
        tags(0) / ip6(dst="2001:db8:0:1::1") / header,
        tags(0) / ip4(dst=IPV4, flags="MF") / header,
        tags(0) / ip6(dst=IPV6) / IPv6ExtHdrFragment(m=1, offset=0) / header,
        tags(0) / ip6(dst=IPV6) / IPv6ExtHdrFragment(m=0, offset=3) / header,
        tags(0) / ip / UDP(dport=4789, len=15) / vxlan().payload / inner,
        tags(0) / ip / UDP(dport=4789, len=7) / vxlan().payload / inner,
        tags(0) / ip / UDP(dport=4789, len=900) / vxlan().payload / inner,
        tags(0) / ip4(dst=IPV4, options=[IPOption_Router_Alert()] * 10) / geneve(10) / inner,
        tags(2) / ip6(dst=IPV6) / IPv6ExtHdrHopByHop() / geneve(11) / inner,
    ]
    return [bytes(stack) for stack in stacks] + [bytes(stack / inner) for header in unsound() for stack in outer(header)]


def malformed_inside() -> list[bytes]:
    """Opened packets with every fault inside."""
    packets = [bytes(random.choice(outer(random.choice(sound()))) / packet) for packet in malformed()]
    packets += [bytes(random.choice(outer(random.choice(sound()))) / packet[: random.randrange(60)]) for packet in well_formed()]
    # The deepest headers that still open, and what then goes beyond the window.
    deep = [tags(0) / ip6(dst=IPV6) / geneve(14), tags(0) / ip4(dst=IPV4, options=[IPOption_Router_Alert()] * 9) / geneve(10)]
    return packets + [bytes(stack / packet) for stack in deep for packet in well_formed()[::3]]


def truncated() -> list[bytes]:
    """Tunnels of each kind, cut at every byte: of the packet, and of what it carries with the outer lengths right."""
    inner = bytes(tags(1) / ip4() / TCP())
    six = bytes(tags(0) / ip6() / IPv6ExtHdrHopByHop() / UDP() / Raw(bytes(2)))
    stacks = [tags(0) / ip4(dst=IPV4) / header for header in (vxlan(), geneve(2))]
    stacks += [tags(1) / ip4(dst=IPV4, proto=47) / gre(chksum_present=1, key_present=1, seqnum_present=1)]
    stacks += [tags(0) / ip6(dst=IPV6) / vxlan(), tags(0) / ip6(dst=IPV6, nh=47) / gre()]
    packets = []
    for stack in stacks:
        whole = bytes(stack / random.choice((inner, six)))
        packets += [whole[:n] for n in range(1, len(whole))]
        packets += [bytes(stack / inner[:n]) for n in range(len(inner))] + [bytes(stack / six[:n]) for n in range(len(six))]
        packets += [bytes(stack)[:n].ljust(100, b"\0") for n in range(30, len(stack))]
    return packets


def any_order() -> bytes:
    """Headers in any order, most of them bound to the one before, tunnels in tunnels too."""
    layers: list[Callable[[], Packet]] = [
        lambda: Dot1Q(vlan=5),
        lambda: Dot1AD(vlan=6),
        lambda: ip4(dst=IPV4),
        lambda: ip6(dst=IPV6),
        lambda: random.choice((ip4, ip6))(),
        lambda: ip4(dst=IPV4) / vxlan() / Ether(**MACS),
        lambda: ip4(dst=IPV4, proto=47) / gre(key_present=random.getrandbits(1)) / Ether(**MACS),
        lambda: ip6(dst=IPV6) / geneve(random.randrange(8)) / Ether(**MACS),
        lambda: random.choice((vxlan, geneve, gre))(),
        lambda: IPv6ExtHdrHopByHop(),
        lambda: IPv6ExtHdrFragment(m=random.getrandbits(1), offset=random.choice((0, 0, 5))),
        lambda: IPv6ExtHdrDestOpt(),
        lambda: Ether(**MACS),
        lambda: TCP(sport=1, dport=2),
        lambda: UDP(sport=3, dport=random.choice((4, 4789, 6081))),
        lambda: ICMP(),
        lambda: ARP(),
        lambda: IP() / IPv6(),
        lambda: Raw(random.randbytes(random.randrange(30))),
    ]
    frame: Packet = Ether(**MACS)
    for _ in range(random.randint(1, 7)):
        frame = frame / random.choice(layers)()
    return bytes(frame)


def mutated(packet: bytes) -> bytes:
    """The packet with a few random bytes anywhere in its headers; sometimes shorter."""
    data = bytearray(packet)
    for _ in range(random.randint(1, 3)):
        data[random.randrange(min(len(data), 150))] ^= random.choice((1, 2, 4, 8, 16, 32, 64, 128, random.getrandbits(8)))
    return bytes(data[: random.randint(1, len(data))] if random.random() < 0.2 else data)
