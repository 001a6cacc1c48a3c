# SPDX-License-Identifier: Apache-2.0
"""The flow key of a sound packet by Open vSwitch's rules, written from those and not from the parser's; and frames of every link
layer to try it on."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.packet import Packet
from sluice_layouts import FlowFragment, FlowKey, L4Kind

from testing.models.traffic import MACS

TAGS = (0x8100, 0x88A8)
EXTENSIONS = (0, 43, 44, 51, 60)


def be(packet: bytes, at: int, size: int = 2) -> int:
    """A number in network order."""
    return int.from_bytes(packet[at : at + size], "big")


def as_open_vswitch(packet: bytes, port: int) -> FlowKey:
    """flow.c, miniflow_extract with its limit of one VLAN, of a sound packet; written from its rules, not from the parser's."""
    key = FlowKey(ingress_port=port, eth_dst=be(packet, 0, 6), eth_src=be(packet, 6, 6))
    at = 14
    if be(packet, 12) in TAGS:
        key.has_vlan, key.vlan_tpid, key.vlan_tci, at = 1, be(packet, 12), be(packet, 14), 18
    key.eth_type = be(packet, at - 2)
    if key.eth_type < 0x600:
        key.eth_type = 0
    if key.eth_type == 0x0800:
        key.ip_src, key.ip_dst, key.ip_tos = be(packet, at + 12, 4), be(packet, at + 16, 4), packet[at + 1]
        key.ip_ttl, key.ip_protocol, fragment = packet[at + 8], packet[at + 9], be(packet, at + 6) & 0x3FFF
        at += 4 * (packet[at] & 15)
    elif key.eth_type == 0x86DD:
        key.ip_src, key.ip_dst, key.ip_tos = be(packet, at + 8, 16), be(packet, at + 24, 16), be(packet, at) >> 4 & 0xFF
        key.ip_ttl, key.ip_protocol, fragment, at = packet[at + 7], packet[at + 6], 0, at + 40
        while key.ip_protocol in EXTENSIONS and not fragment & 0x1FFF:
            kind, key.ip_protocol, size = key.ip_protocol, packet[at], packet[at + 1]
            if kind == 44:
                fragment = (be(packet, at + 2) & 1) << 13 | be(packet, at + 2) >> 3
            at += 8 if kind == 44 else 4 * (size + 2) if kind == 51 else 8 * (size + 1)
    else:
        return key
    offset = fragment & 0x1FFF
    key.fragment = FlowFragment(3 if offset >= 8 else 2 if offset else fragment >> 13)
    kinds = {6: L4Kind.L4_TCP, 17: L4Kind.L4_UDP, 132: L4Kind.L4_SCTP}
    kinds |= {1: L4Kind.L4_ICMP} if key.eth_type == 0x0800 else {58: L4Kind.L4_ICMPV6}
    if offset or key.ip_protocol not in kinds:
        return key
    key.l4_kind = kinds[key.ip_protocol]
    if key.l4_kind in (L4Kind.L4_ICMP, L4Kind.L4_ICMPV6):
        key.l4_src, key.l4_dst = packet[at], packet[at + 1]
    else:
        key.l4_src, key.l4_dst = be(packet, at), be(packet, at + 2)
    if key.l4_kind == L4Kind.L4_TCP:
        key.tcp_flags = packet[at + 13]
    return key


def link_layers() -> list[bytes]:
    """What the parser's own traffic lacks: 802.3, SNAP, tags of every kind."""
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
