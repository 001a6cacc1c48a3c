# SPDX-License-Identifier: Apache-2.0
"""L4Parser against scapy."""

import random
from ipaddress import ip_address

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet

from elements.harness import Bench
from models.traffic import MACS

TEXT = 'import "elements/l4parser/l4parser.sl"; from_tor -> L4Parser :: p p.out -> to_tor p.headers -> Drop<headers_t>'


def made(rng: random.Random) -> Packet:
    packet = Ether(**MACS)
    for _ in range(rng.randrange(3)):
        packet /= Dot1Q(vlan=rng.randrange(1, 4096))
    if rng.random() < 0.3:
        packet /= IPv6(src=str(ip_address(rng.randbytes(16))), dst="fe80::7")
    else:
        options = [IPOption(b"\x5e\x04" + rng.randbytes(2))] if rng.random() < 0.3 else []
        packet /= IP(src=str(ip_address(rng.randbytes(4))), dst="192.168.77.1", options=options, frag=rng.choice([0, 0, 0, 9]))
    ports = {"sport": rng.getrandbits(16), "dport": rng.getrandbits(16)}
    packet /= rng.choice([TCP(**ports, seq=rng.getrandbits(32), flags="SA"), UDP(**ports), ICMP()])
    return packet / rng.randbytes(rng.choice([0, 100]))


def expected(data: bytes, window: int = 64) -> dict[str, int]:
    """Fields as scapy sees them in the first bytes; the ones that are left out are 0."""
    packet = Ether(data)
    tags = [layer for layer in packet.layers() if layer is Dot1Q]
    ip = packet[IP] if IP in packet else packet[IPv6]
    is_ipv4 = IP in packet
    l3 = 14 + 4 * len(tags)
    found = {
        "is_ipv4": is_ipv4,
        "is_ipv6": not is_ipv4,
        "vlan_id": packet[Dot1Q].vlan if tags else 0,
        "ethertype": 0x0800 if is_ipv4 else 0x86DD,
        "l3_offset": l3,
        "protocol": ip.proto if is_ipv4 else ip.nh,
        "source": int(ip_address(ip.src)),
        "destination": int(ip_address(ip.dst)),
    }
    if is_ipv4 and ip.frag:
        return found
    l4 = l3 + (4 * ip.ihl if is_ipv4 else 40)
    found["l4_offset"] = l4
    if found["protocol"] not in (6, 17):
        return found
    if l4 + (20 if found["protocol"] == 6 else 8) > min(len(data), window):
        return found | {"truncated": 1}
    transport = ip.payload
    found |= {"has_ports": 1, "source_port": transport.sport, "destination_port": transport.dport}
    if found["protocol"] == 6:
        found |= {"sequence_number": transport.seq, "tcp_flags": int(transport.flags)}
    return found


def test_it_finds_what_scapy_finds():
    rng = random.Random(4)
    bed = Bench("L4Parser", TEXT)
    given = [bytes(made(rng)) for _ in range(150)]
    outcome = bed.run({"in": bed.flits(given)})
    assert bed.packets(outcome.outputs["out"]) == given
    wanted = [expected(data) for data in given]
    found = [bed.fields("headers", token) for token in outcome.outputs["headers"]]
    assert [{k: v for k, v in fields.items() if v} for fields in found] == [{k: v for k, v in w.items() if v} for w in wanted]
    assert any(w.get("truncated") for w in wanted) and any(w.get("tcp_flags") for w in wanted)


def test_what_is_cut_off_is_truncated():
    bed = Bench("L4Parser", TEXT)
    whole = bytes(Ether(**MACS) / IP() / TCP())
    outcome = bed.run({"in": bed.flits([whole[:size] for size in range(1, len(whole) + 1)])})
    found = [bed.fields("headers", token) for token in outcome.outputs["headers"]]
    assert [(f["is_ipv4"], f["has_ports"], f["truncated"]) for f in found[14:]] == [
        (size >= 34, size >= 54, size < 54) for size in range(15, 55)
    ]
    assert not any(f["is_ipv4"] or f["has_ports"] for f in found[:14])
