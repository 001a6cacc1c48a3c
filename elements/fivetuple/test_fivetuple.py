# SPDX-License-Identifier: Apache-2.0
"""FiveTuple against scapy."""

import random
from ipaddress import ip_address

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.sctp import SCTP

from elements.harness import Bench
from models.traffic import MACS

FIELDS = (("ip_src", 32), ("ip_dst", 32), ("ip_protocol", 8), ("l4_src", 16), ("l4_dst", 16))  # first field most significant


def expected(data: bytes) -> dict[str, int]:
    packet = Ether(data)
    if IP not in packet:
        return {"valid": 0, "tuple": 0}
    ip = packet[IP]
    has_ports = ip.proto in (6, 17, 132) and ip.frag == 0
    ports = (ip.payload.sport, ip.payload.dport) if has_ports else (0, 0)
    key = 0
    for value, (_, bits) in zip((int(ip_address(ip.src)), int(ip_address(ip.dst)), ip.proto, *ports), FIELDS, strict=True):
        key = key << bits | value
    return {"valid": 1, "tuple": key}


def test_it_finds_what_scapy_finds():
    rng = random.Random(6)
    given = []
    for _ in range(120):
        packet = Ether(**MACS)
        for _ in range(rng.randrange(3)):
            packet /= Dot1Q(vlan=rng.randrange(4096))
        options = [IPOption(b"\x5e\x0c" + rng.randbytes(10))] if rng.random() < 0.3 else []
        ip = IP(src=str(ip_address(rng.randbytes(4))), dst="1.2.3.4", options=options, frag=rng.choice([0, 0, 0, 3]))
        ports = {"sport": rng.getrandbits(16), "dport": rng.getrandbits(16)}
        transport = rng.choice([TCP, UDP, SCTP])(**ports)
        packet /= rng.choice([ip / transport, ip / transport, ip / ICMP(), IPv6() / transport, ARP()])
        given.append(bytes(packet / rng.randbytes(rng.choice([0, 90]))))
    bed = Bench("FiveTuple", 'import "elements/fivetuple/fivetuple.sl"; from_tor -> FiveTuple -> Drop<flow_id_t>')
    outcome = bed.run({"in": bed.flits(given)})
    found = [bed.fields("out", token) for token in outcome.outputs["out"]]
    assert found == [expected(data) for data in given]
    assert {fields["valid"] for fields in found} == {0, 1}


def test_a_header_that_is_cut_off_gives_none():
    bed = Bench("FiveTuple", 'import "elements/fivetuple/fivetuple.sl"; from_tor -> FiveTuple -> Drop<flow_id_t>')
    whole = bytes(Ether(**MACS) / IP() / UDP(sport=7, dport=9))
    outcome = bed.run({"in": bed.flits([whole[:size] for size in range(1, len(whole))])})
    found = [bed.fields("out", token) for token in outcome.outputs["out"]]
    assert [fields["valid"] for fields in found] == [size >= 34 for size in range(1, len(whole))]
    assert [fields["tuple"] & 0xFFFFFFFF for fields in found[33:]] == [
        7 << 16 | 9 if size >= 38 else 0 for size in range(34, len(whole))
    ]
