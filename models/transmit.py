# SPDX-License-Identifier: Apache-2.0
"""Packets of the host that ask the device for checksums: as a program makes them, with scapy's opinion, and any others."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet
from sluice_layouts import TRANSMIT_L4_TCP, TRANSMIT_L4_UDP, TransmitChecksum, Verdict

from models.host import fill, ones_sum


@dataclass
class Case:
    """A packet, what is asked for, and what leaves."""

    packet: bytes
    asked: TransmitChecksum
    expected: bytes
    verdict: Verdict = Verdict.VERDICT_FORWARD


def _build(draw: random.Random, size: int, zero: bool) -> Packet:
    ipv4 = IP(src="192.0.2.1", dst="198.51.100.7", options=[b"\1" * 4] * draw.randrange(3))
    l3 = ipv4 if draw.random() < 0.6 else IPv6(src="2001:db8::1", dst="2001:db8::2")
    l4 = UDP(sport=draw.randrange(65536), dport=9) if zero or draw.random() < 0.5 else TCP(sport=5, seq=draw.randrange(2**32))
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    headers = (link / Dot1Q(vlan=7) if draw.random() < 0.3 else link) / l3 / l4
    if not zero:
        return Ether(bytes(headers / draw.randbytes(size)))
    without = Ether(bytes(headers / bytes(2)))[UDP].chksum
    return Ether(bytes(headers / without.to_bytes(2, "big")))


def asked_packet(draw: random.Random, size: int, zero: bool = False) -> Case:
    """A packet as a program hands it over: no IPv4 checksum, the pseudo header's sum in the transport's; and as scapy has it.
    `zero`: of UDP, with a checksum that comes out as 0."""
    whole = _build(draw, size, zero)
    expected = bytes(whole)
    is_udp, ipv4 = UDP in whole, IP in whole
    l3, l4 = whole[IP if ipv4 else IPv6], whole[UDP if is_udp else TCP]
    l3_offset = len(whole) - len(l3)
    l4_offset = len(whole) - len(l4)
    packet = bytearray(expected)
    if ipv4:
        packet[l3_offset + 10 : l3_offset + 12] = bytes(2)
    addresses = expected[l3_offset + 12 : l3_offset + 20] if ipv4 else expected[l3_offset + 8 : l3_offset + 40]
    pseudo = addresses + len(l4).to_bytes(4, "big") + bytes([0, 0, 0, 17 if is_udp else 6])
    at = l4_offset + (6 if is_udp else 16)
    packet[at : at + 2] = ones_sum(pseudo).to_bytes(2, "big")
    if zero:
        assert expected[at : at + 2] == b"\xff\xff"
    kind = TRANSMIT_L4_UDP if is_udp else TRANSMIT_L4_TCP
    return Case(bytes(packet), TransmitChecksum(l3_offset=l3_offset, l4_offset=l4_offset, ipv4=int(ipv4), l4=kind), expected)


def hostile(draw: random.Random) -> Case:
    """Any offsets in any packet; what leaves is the model's."""
    packet = draw.randbytes(draw.choice([14, 33, 34, 35, 60, 64, 65, 128, draw.randrange(14, 700)]))
    near = [draw.randrange(256), 14, len(packet) & 255, 13]
    asked = TransmitChecksum(
        l3_offset=draw.choice(near),
        l4_offset=draw.choice([draw.randrange(1024), 34, max(len(packet) - draw.randrange(24), 0) & 1023, 0]),
        ipv4=draw.randrange(2),
        l4=draw.randrange(4),
    )
    verdict = draw.choice([Verdict.VERDICT_FORWARD] * 4 + [Verdict.VERDICT_PASS])
    if verdict == Verdict.VERDICT_PASS:
        return Case(packet, asked, packet, verdict)
    return Case(packet, asked, fill(packet, asked)[0], verdict)
