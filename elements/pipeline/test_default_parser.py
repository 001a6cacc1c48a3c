# SPDX-License-Identifier: Apache-2.0
"""The default program reads from packets what scapy put into them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sluice_layouts as L
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw, bind_layers

from compiler.pipeline.parser_program import read
from models.parser_program import parse, stages_of

DEFAULT = Path(__file__).parent / "default_parser.toml"
PLACES = read(DEFAULT).containers
for extension in (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment):
    bind_layers(extension, SCTP, nh=132)  # scapy knows it behind IPv6 alone
HOST, ROUTER = "02:00:00:00:00:0a", "02:00:00:00:00:0b"


def headers(draw: random.Random) -> Iterator[tuple[bytes, Packet]]:
    """Packets with every stack of headers that the program reads, and the scapy packet of each."""
    tags: list[list[Any]] = [[], [Dot1Q(vlan=5, prio=3)], [Dot1AD(vlan=9), Dot1Q(vlan=17)], [Dot1Q(), Dot1Q(), Dot1Q(vlan=3)]]
    extensions: list[list[Any]] = [[], [IPv6ExtHdrHopByHop()], [IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt()]]
    extensions += [[IPv6ExtHdrFragment(offset=offset, m=1, id=7)] for offset in (0, 3)]
    extensions += [[IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(), IPv6ExtHdrDestOpt()]]
    networks: list[list[Any]] = [[IP(src="10.0.0.1", dst="10.1.2.3", ttl=draw.randrange(256), tos=draw.randrange(256))]]
    networks += [[IP(src="10.0.0.1", dst="10.1.2.3", options=[IPOption_NOP()] * size)] for size in (4, 40)]
    networks += [[IP(src="10.0.0.1", dst="10.1.2.3", frag=9, flags="MF")]]
    networks += [[IPv6(src="2001:db8::1", dst="2001:db8::2", tc=5, hlim=draw.randrange(256)), *chain] for chain in extensions]
    transports: list[Any] = [TCP(sport=1000, dport=80, seq=draw.getrandbits(32), ack=draw.getrandbits(32), flags="SA")]
    transports += [
        TCP(sport=7, options=[("MSS", 1460)]),
        UDP(sport=53, dport=5353),
        SCTP(sport=9, dport=2905),
        ICMP(type=8, code=0),
        ICMPv6EchoRequest(),
        Raw(b"?"),
    ]
    for stack in tags:
        yield _made([*stack, ARP(pdst="10.0.0.1")], draw)
        for network in networks:
            for transport in transports:
                yield _made([*stack, *network, transport], draw)


def _made(layers: list[Any], draw: random.Random) -> tuple[bytes, Packet]:
    packet: Packet = Ether(src=HOST, dst=ROUTER)
    for layer in layers:
        packet = packet / layer
    data = bytes(packet / Raw(draw.randbytes(draw.randrange(64))))
    return data, packet.__class__(data)


def number_of(text: bytes | str) -> int:
    return int.from_bytes(text if isinstance(text, bytes) else bytes.fromhex(text.replace(":", "")), "big")


def value_of(containers: Sequence[int], name: str) -> int:
    """What the containers of this name hold."""
    return sum(containers[at] << 16 * n for n, at in enumerate(reversed(PLACES[name])))


def expected_of(packet: Packet) -> dict[str, int]:
    """Fields by the names of the program's containers, as scapy dissects them."""
    wanted = {"eth_dst": number_of(packet.dst), "eth_src": number_of(packet.src)}
    tags = [layer for layer in (packet.getlayer(n) for n in range(1, 3)) if isinstance(layer, Dot1Q | Dot1AD)]
    for tag, name in zip(tags, ("vlan0_tci", "vlan1_tci"), strict=False):
        wanted[name] = tag.prio << 13 | tag.vlan
    wanted["eth_type"] = (tags[-1] if tags else packet).type
    if IP in packet:
        ip = packet[IP]
        wanted |= {"ip4_ttl": ip.ttl << 8 | ip.proto, "ip_length": ip.len, "ip_fragment": int(ip.flags) << 13 | ip.frag}
        wanted |= {"ip4_src": number_of(ip.original[12:16]), "ip4_dst": number_of(ip.original[16:20])}
        wanted["ip_tos"] = 4 << 12 | ip.ihl << 8 | ip.tos
    elif IPv6 in packet:
        ip = packet[IPv6]
        wanted |= {"ip6_next": ip.nh << 8 | ip.hlim, "ip_length": ip.plen, "ip_tos": 6 << 12 | ip.tc << 4 | ip.fl >> 16}
        wanted |= {"ip6_src": number_of(ip.original[8:24]), "ip6_dst": number_of(ip.original[24:40])}
        wanted["ip6_label"] = ip.fl & 0xFFFF
    elif ARP in packet:
        arp = packet[ARP]
        wanted |= {"arp_op": arp.op, "arp_sha": number_of(arp.original[8:14]), "arp_spa": number_of(arp.original[14:18])}
        wanted |= {"arp_tha": number_of(arp.original[18:24]), "arp_tpa": number_of(arp.original[24:28])}
    if TCP in packet:
        tcp = packet[TCP]
        wanted |= {"l4_src": tcp.sport, "l4_dst": tcp.dport, "tcp_seq": tcp.seq, "tcp_ack": tcp.ack}
        wanted["tcp_flags"] = tcp.dataofs << 12 | int(tcp.flags)
    elif UDP in packet:
        wanted |= {"l4_src": packet[UDP].sport, "l4_dst": packet[UDP].dport, "udp_length": packet[UDP].len}
    elif SCTP in packet and not (IP in packet and packet[IP].frag):  # scapy sees it in later fragments too
        wanted |= {"l4_src": packet[SCTP].sport, "l4_dst": packet[SCTP].dport}
    elif ICMP in packet:
        wanted["l4_src"] = packet[ICMP].type << 8 | packet[ICMP].code
    elif ICMPv6EchoRequest in packet:
        wanted["l4_src"] = packet[ICMPv6EchoRequest].type << 8 | packet[ICMPv6EchoRequest].code
    return wanted


def fault_of(packet: Packet) -> L.Fault:
    if len([layer for layer in packet.layers() if layer in (Dot1Q, Dot1AD)]) > 2:
        return L.FAULT_TAGS
    chain = [layer for layer in packet.layers() if layer in (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt)]
    return L.FAULT_CHAIN if len(chain) > 2 else L.FAULT_NONE


def test_what_scapy_wrote_is_what_the_program_reads() -> None:
    program = read(DEFAULT).parser
    stages = stages_of(program)
    count = 0
    for data, packet in headers(random.Random(1)):
        parsed = parse(program.start, stages, data, port=3)
        assert (parsed.fault, parsed.ingress_port, parsed.length) == (fault_of(packet), 3, len(data)), packet
        if parsed.fault:
            continue
        assert {name: value_of(parsed.containers, name) for name in expected_of(packet)} == expected_of(packet), packet
        assert value_of(parsed.containers, "metadata") == 0, "it is of no header"
        count += 1
    assert count > 100
