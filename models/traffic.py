# SPDX-License-Identifier: Apache-2.0
"""Packets for tests of whatever parses: every kind of header, every kind of damage. Built with scapy, seeded by `random`."""

from __future__ import annotations

import random
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import ARP, GRE, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from sluice_layouts import Meta

MACS: dict[str, Any] = {"dst": "02:00:00:00:00:01", "src": "02:00:00:00:00:02"}


def meta_of(packet: bytes) -> Meta:
    """Metadata as a lane makes it, the rest random."""
    return Meta(
        ingress_port=random.randrange(4),
        queue=random.getrandbits(4),
        mark=random.getrandbits(32),
        timestamp=random.getrandbits(64),
        length=len(packet),
    )


def tags(count: int) -> Packet:
    """Ethernet with `count` VLAN tags, the outer of two a service tag."""
    frame = Ether(**MACS)
    if count == 2:
        frame = frame / Dot1AD(vlan=100, prio=3)
    for _ in range(count - (count == 2)):
        frame = frame / Dot1Q(vlan=random.randrange(4096), prio=random.randrange(8))
    return frame


def ip4(**fields: Any) -> Packet:
    """An IPv4 header with random addresses and fields."""
    kind: dict[str, Any] = {"src": ".".join(map(str, random.randbytes(4))), "dst": ".".join(map(str, random.randbytes(4)))}
    return IP(**{**kind, "ttl": random.randrange(256), "tos": random.randrange(256), **fields})


def ip6(**fields: Any) -> Packet:
    """An IPv6 header with random addresses and fields."""

    def address() -> str:
        return ":".join(f"{random.getrandbits(16):x}" for _ in range(8))

    some: dict[str, Any] = {"hlim": random.randrange(256), "tc": random.randrange(256), "fl": random.getrandbits(20)}
    return IPv6(**{"src": address(), "dst": address(), **some, **fields})


def transports(is_ipv6: bool) -> list[Packet]:
    """A header of every transport, and some that the parser does not know."""
    ports: dict[str, Any] = {"sport": random.getrandbits(16), "dport": random.getrandbits(16)}
    known = [
        TCP(**ports, flags="SA"),
        TCP(**ports, flags="PA", options=[("MSS", 1460), ("NOP", None), ("WScale", 7)]) / Raw(random.randbytes(100)),
        UDP(**ports) / Raw(random.randbytes(random.randrange(200))),
        UDP(sport=1, dport=4789) / VXLAN(vni=5) / Ether(**MACS) / IP() / UDP(),
        SCTP(**ports) / Raw(bytes(8)),
        ICMPv6EchoRequest(id=3) if is_ipv6 else ICMP(type=8, id=3),
    ]
    return [*known, GRE() / IP() / UDP(), Raw(random.randbytes(30))]


def chains() -> list[Packet]:
    """IPv6 extension header chains, up to the limit of four."""
    pad = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))])
    return [
        IPv6ExtHdrHopByHop(),
        IPv6ExtHdrRouting(addresses=["::1"]),
        IPv6ExtHdrHopByHop() / pad,
        IPv6ExtHdrHopByHop() / pad / IPv6ExtHdrRouting(),
        IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting() / IPv6ExtHdrFragment(m=0, offset=0),
        IPv6ExtHdrFragment(m=1, offset=0),
        IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(m=0, offset=9),
        IPv6ExtHdrFragment(m=1, offset=100) / pad,
    ]


def raw_chain(*headers: tuple[int, bytes], last: int = 17, body: bytes = bytes.fromhex("0001000200080000")) -> bytes:
    """An IPv6 packet with these extension headers (protocol, bytes from the second on)."""
    kinds = [kind for kind, _ in headers] + [last]
    parts = b"".join(bytes([kinds[i + 1]]) + rest for i, (_, rest) in enumerate(headers))
    return bytes(Ether(**MACS) / ip6(nh=kinds[0]) / Raw(parts + body))


def authentication(words: int) -> tuple[int, bytes]:
    """An authentication header of `words` 32-bit words."""
    return 51, bytes([words - 2]) + bytes(4 * words - 2)


def long_option(size: int) -> tuple[int, bytes]:
    """A destination header of `size` bytes."""
    return 60, bytes([size // 8 - 1]) + bytes(size - 2)


def well_formed() -> list[bytes]:
    """Packets that the parser reads to the end without a fault."""
    option = [IPOption_Router_Alert()]
    frames: list[Packet] = []
    for count in range(3):
        frames += [tags(count) / ip4() / t for t in transports(False)]
        frames += [tags(count) / ip6() / t for t in transports(True)]
        frames += [tags(count) / ip4(options=option) / UDP() / Raw(bytes(10)), tags(count) / ARP()]
        frames += [tags(count) / ip4(options=option * 10) / TCP()]
        frames += [tags(count) / ip6() / chain / UDP(sport=7, dport=9) for chain in chains()]
    frames += [
        tags(0) / ip4(flags="MF", frag=0) / UDP(sport=5, dport=6, len=3000) / Raw(bytes(64)),
        tags(0) / ip4(flags="MF", frag=7) / Raw(bytes(64)),
        tags(1) / ip4(frag=8191) / Raw(bytes(64)),
        tags(0) / ip4(proto=58) / Raw(bytes(8)),
        tags(0) / ip6(nh=1) / Raw(bytes(8)),
        tags(0) / ip6(nh=59),
        tags(0) / ip6(nh=50) / Raw(bytes(40)),
        tags(0) / ip4() / UDP() / Raw(bytes(1400)),
        Ether(**MACS, type=0x88CC) / Raw(bytes(46)),
        Dot3(dst=MACS["dst"], src=MACS["src"]) / LLC() / SNAP() / Raw(bytes(40)),
        tags(0) / ip6() / Raw(b""),
    ]
    packets = [bytes(frame) for frame in frames]
    packets += [p.ljust(60, b"\0") for p in packets if len(p) < 60]
    packets += [
        raw_chain(authentication(6)),
        raw_chain(authentication(3), long_option(24)),
        raw_chain(authentication(2), (44, bytes([0, 0, 1, 1, 2, 3, 4]))),
        raw_chain(long_option(128)),
    ]
    return packets


def link_layers() -> list[bytes]:
    """What the others lack: 802.3, SNAP, tags of every kind."""
    inner = IP(src="192.0.2.1", dst="198.51.100.7", ttl=9, tos=0x2E) / TCP(sport=80, dport=5, flags="SF") / bytes(9)
    headers = [Ether(**MACS), Ether(**MACS) / Dot1Q(vlan=5, prio=6), Ether(**MACS, type=0x88A8) / Dot1AD(vlan=5, dei=1)]
    frames: list[Packet] = [header / inner for header in headers]
    frames += [
        Ether(**MACS) / Dot1Q(vlan=5) / Dot1Q(vlan=7) / inner,
        Ether(**MACS, type=0x88A8) / Dot1AD(vlan=5) / Dot1Q(vlan=7) / inner,
    ]
    frames += [Ether(**MACS) / ARP(), Ether(**MACS) / Dot1Q(vlan=9) / ARP(), Ether(**MACS) / inner.__class__(bytes(inner))]
    frames += [
        Dot3(**MACS) / LLC(dsap=0x42, ssap=0x42, ctrl=3) / bytes(40),
        Dot3(**MACS) / LLC() / SNAP(code=0x0800) / bytes(inner),
    ]
    frames += [
        Dot3(**MACS) / LLC() / SNAP(OUI=0x00000C, code=0x2000) / bytes(40),
        Dot3(**MACS) / LLC() / SNAP(code=0x20) / bytes(40),
    ]
    for fragment in (0x2000, 0x2001, 0x2007, 7, 8, 0x1FFF):
        header = IP(src="192.0.2.1", dst="198.51.100.7", frag=fragment & 0x1FFF, flags=fragment >> 13)
        frames.append(Ether(**MACS) / header / UDP(sport=1, dport=2) / bytes(16))
        chain = (
            IPv6(src="2001:db8::1", dst="2001:db8::2")
            / IPv6ExtHdrHopByHop()
            / IPv6ExtHdrFragment(offset=fragment & 0x1FFF, m=fragment >> 13)
        )
        frames.append(Ether(**MACS) / chain / UDP(sport=1, dport=2) / bytes(16))
    frames.append(Ether(**MACS) / IPv6(dst="2001:db8::2") / IPv6ExtHdrFragment() / UDP(sport=1, dport=2))  # atomic
    frames.append(Ether(**MACS) / IP(dst="192.0.2.9") / ICMP(type=3, code=4))
    tagged = [bytes(Dot1Q(vlan=4, type=34)) + bytes(LLC() / SNAP(code=0x86DD)) + bytes(26)]
    return [bytes(frame) for frame in frames] + [bytes(Ether(**MACS, type=0x8100)) + rest for rest in tagged]


def malformed() -> list[bytes]:
    """Packets with each of the faults."""
    udp = bytes(tags(0) / ip4(src="1.2.3.4", dst="5.6.7.8") / UDP(sport=1, dport=2) / Raw(bytes(20)))
    tcp = bytes(tags(0) / ip4() / TCP(options=[("MSS", 1)]) / Raw(bytes(20)))
    six = bytes(tags(0) / ip6() / UDP() / Raw(bytes(20)))

    def changed(packet: bytes, **places: int) -> bytes:
        data = bytearray(packet)
        for place, value in places.items():
            data[int(place[1:])] = value
        return bytes(data)

    option = long_option(8)
    return [
        *(udp[:n] for n in (1, 13, 14, 20, 33, 34, 40)),
        changed(udp, _14=0x65),
        changed(six, _14=0x45),
        *(changed(udp, _14=0x40 | ihl) for ihl in (0, 4, 15)),
        *(changed(udp, _16=hi, _17=lo) for hi, lo in ((0, 0), (0, 19), (0, 20), (0, 27), (0, 49), (255, 255))),
        *(changed(udp, _38=hi, _39=lo) for hi, lo in ((0, 0), (0, 7), (0, 29), (255, 255))),
        *(changed(tcp, _46=value) for value in (0x00, 0x40, 0xF0)),
        *(changed(six, _18=hi, _19=lo) for hi, lo in ((0, 0), (0, 7), (0, 29), (255, 255))),
        bytes(Ether(**MACS) / Dot1Q(vlan=1) / Dot1Q(vlan=2) / Dot1Q(vlan=3) / IP() / UDP()),
        bytes(Ether(**MACS) / Dot1Q(vlan=1) / Dot1Q(vlan=2))[:20],
        *(bytes(Ether(**MACS, type=kind) / Raw(bytes(46))) for kind in (0x8847, 0x8848)),
        bytes(tags(2) / ARP())[:40],
        raw_chain(option, option, option, option, option),
        raw_chain(option, option, option, option, (44, bytes(7))),
        raw_chain(long_option(136)),
        raw_chain(long_option(128), last=6, body=bytes(12) + b"\x50" + bytes(7)),
        raw_chain(long_option(112), last=6, body=bytes(12) + b"\x60" + bytes(11)),
        raw_chain(long_option(144)),
        raw_chain(long_option(2048)),
        raw_chain(authentication(200), option),
        raw_chain((0, bytes([200]) + bytes(40))),
    ]


def truncated() -> list[bytes]:
    """A few packets, cut at every byte of their headers."""
    whole = [
        bytes(tags(2) / ip4(options=[IPOption_Router_Alert()]) / TCP(options=[("MSS", 1)])),
        bytes(tags(0) / ip4() / UDP() / Raw(bytes(4))),
        bytes(tags(1) / ip6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(m=1) / UDP() / Raw(bytes(4))),
    ]
    cut = [packet[:n] for packet in whole for n in range(1, len(packet))]
    return cut + [packet[:n].ljust(len(packet), b"\0") for packet in whole for n in range(14, len(packet), 3)]


def mutated(packet: bytes) -> bytes:
    """The packet with a few random bytes, most of them in the headers; sometimes shorter."""
    data = bytearray(packet)
    for _ in range(random.randint(0, 3)):
        data[random.randrange(min(len(data), 70))] = random.choice((0, 1, 4, 6, 44, 51, 60, 255, random.getrandbits(8)))
    return bytes(data[: random.randint(1, len(data))] if random.random() < 0.2 else data)
