# SPDX-License-Identifier: Apache-2.0
"""The default program writes fields back as scapy would: the same headers, and checksums as if computed from nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from ipaddress import ip_address

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet

from compiler.pipeline.parser_program import read
from elements.pipeline.test_default_parser import DEFAULT, PLACES, fault_of, headers, value_of
from models.deparser_program import deparse
from models.parser_program import parse, stages_of

PROGRAM = read(DEFAULT)
TRANSPORTS = {TCP: {"l4_src": 16, "l4_dst": 16, "tcp_seq": 32, "tcp_ack": 32}, UDP: {"l4_src": 16, "l4_dst": 16}}
TRANSPORTS |= {ICMP: {"code": 8}, ICMPv6EchoRequest: {"code": 8}}


def transport_of(packet: Packet) -> Packet | None:
    """The transport header that the program reads: none in ICMPv6 over IPv4."""
    layers = [packet[layer] for layer in TRANSPORTS if layer in packet]
    return layers[0] if layers and (layers[0].__class__ is not ICMPv6EchoRequest or IPv6 in packet) else None


def changes_of(packet: Packet, draw: random.Random) -> Mapping[str, int]:
    """New values of some of the fields that the program can write in this packet."""
    fields = {"eth_dst": 48, "eth_src": 48}
    tags = [layer for layer in packet.layers() if layer in (Dot1Q, Dot1AD)]
    fields |= dict(zip(("vlan0_tci", "vlan1_tci"), (12 for _ in tags), strict=False))
    if IP in packet:
        fields |= {"ttl": 8, "tos": 8, "ip4_src": 32, "ip4_dst": 32}
    elif IPv6 in packet:
        fields |= {"ttl": 8, "ip6_src": 128, "ip6_dst": 128, "ip6_label": 16}
    if (transport := transport_of(packet)) is not None:
        fields |= TRANSPORTS[transport.__class__]
    return {name: draw.choice([0, draw.getrandbits(bits)]) for name, bits in fields.items() if draw.random() < 0.5}


def change(containers: list[int], changes: Mapping[str, int]) -> None:
    """Writes the changes into containers, as an action would."""
    for name, value in changes.items():
        place, low, bits = name, 0, 16 * len(PLACES.get(name, ()))
        if name == "ttl":
            place, low, bits = ("ip6_next", 0, 8) if value_of(containers, "ip_tos") >> 12 == 6 else ("ip4_ttl", 8, 8)
        elif name == "tos":
            place, bits = "ip_tos", 8
        elif name == "code":
            place, bits = "l4_src", 8
        mask = (1 << bits) - 1 << low
        whole = value_of(containers, place) & ~mask | value << low
        for n, at in enumerate(reversed(PLACES[place])):
            containers[at] = whole >> 16 * n & 0xFFFF


def rewritten(data: bytes, changes: Mapping[str, int]) -> bytes:
    """The packet with the changes, by scapy."""
    packet: Packet = Ether(data)
    tags = [layer for layer in (packet.getlayer(n) for n in range(1, 3)) if isinstance(layer, Dot1Q | Dot1AD)]
    network = packet.getlayer(IP) or packet.getlayer(IPv6)
    transport = transport_of(packet)
    for name, value in changes.items():
        match name:
            case "eth_dst" | "eth_src":
                setattr(packet, name[4:], value.to_bytes(6, "big").hex(":"))
            case "vlan0_tci" | "vlan1_tci":
                tags[int(name[4])].prio, tags[int(name[4])].vlan = 0, value
            case "ip4_src" | "ip4_dst":
                setattr(network, name[4:], str(ip_address(value.to_bytes(4, "big"))))
            case "ip6_src" | "ip6_dst":
                setattr(network, name[4:], str(ip_address(value.to_bytes(16, "big"))))
            case "ttl":
                setattr(network, "ttl" if IP in packet else "hlim", value)
            case "ip6_label":
                network.fl = network.fl & 0xF0000 | value
            case "tos":
                network.tos = value
            case "code":
                transport.code = value
            case _:
                setattr(transport, {"l4_src": "sport", "l4_dst": "dport", "tcp_seq": "seq", "tcp_ack": "ack"}[name], value)
    for layer in (packet.getlayer(IP), transport):
        if layer is not None and (layer.__class__ is not UDP or layer.chksum):
            delattr(layer, "cksum" if "cksum" in layer.fields else "chksum")
    return bytes(packet)


def cases(draw: random.Random) -> Iterator[tuple[bytes, Packet, Mapping[str, int]]]:
    """Packets, and changes that the program can make to them; of the UDP packets some have no checksum."""
    for data, packet in headers(draw):
        if UDP in packet and draw.random() < 0.3:
            packet[UDP].chksum = 0
            data = bytes(packet)
        yield data, packet, changes_of(packet, draw)


def test_scapy_makes_the_same_changes() -> None:
    stages = stages_of(PROGRAM.parser)
    seen = set()
    for data, packet, changes in cases(random.Random(2)):
        record = parse(PROGRAM.parser.start, stages, data)
        original = [*record.containers]
        change(record.containers, changes)
        out = deparse(PROGRAM.deparser.writers, PROGRAM.deparser.checksums, record, original, data)
        if record.fault:
            assert (record.fault, out) == (fault_of(packet), data)
            continue
        assert out == rewritten(data, changes), (packet, changes)
        seen |= {(name, packet.lastlayer().__class__) for name in changes}
    others = {"code", "ttl", "tos", "ip6_dst", "ip6_label", "ip4_src", "vlan1_tci", "eth_src"}
    assert {name for name, _ in seen} >= {*TRANSPORTS[TCP], *others}
