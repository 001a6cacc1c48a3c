# SPDX-License-Identifier: Apache-2.0
"""The parser in software says of every packet what the model of the RTL's parser says."""

import random

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Raw
from sluice_layouts import Fault, Meta

from host.packet.testing import binding
from models import packet as model
from models import traffic, tunnels

SEED = 1
OWN = binding.Own(tunnels.OWN.lane_mac[0], tunnels.OWN.ipv4, tunnels.OWN.ipv6)


def check(packet: bytes, own: model.Own = tunnels.OWN) -> Fault:
    expected = model.parse(packet, Meta(length=len(packet)), own)
    assert binding.parse(packet, binding.Own(own.lane_mac[0], own.ipv4, own.ipv6)) == expected, packet.hex()
    return Fault(expected.fault)


def test_reads_every_kind_of_header() -> None:
    random.seed(SEED)
    assert {check(packet) for packet in traffic.well_formed()} == {Fault.FAULT_NONE}


def test_finds_every_fault() -> None:
    random.seed(SEED)
    assert {check(packet) for packet in traffic.malformed()} == model.FAULTS, "each fault, and near misses"


def test_reads_packets_cut_at_every_byte() -> None:
    random.seed(SEED)
    for packet in [b"", *traffic.truncated()]:
        check(packet)


def test_reads_damaged_packets() -> None:
    random.seed(SEED)
    whole = traffic.well_formed()
    for _ in range(4000):
        check(traffic.mutated(random.choice(whole)))


def test_reads_random_bytes_behind_every_ethertype() -> None:
    random.seed(SEED)
    starts = [b"\x08\x00\x45", b"\x08\x00\x4f", b"\x86\xdd\x60", b"\x08\x06", b"\x81\x00\0\1\x08\x00\x45", b"\x88\xa8\0\1\x81\0"]
    for _ in range(2000):
        check(random.randbytes(12) + random.choice(starts) + random.randbytes(random.randrange(200)))


def test_opens_tunnels_to_its_own_addresses_only() -> None:
    random.seed(SEED)
    mac, four, six = tunnels.OWN.lane_mac, tunnels.OWN.ipv4, tunnels.OWN.ipv6
    for packet in tunnels.opened() + tunnels.closed() + tunnels.malformed_inside():
        for own in (tunnels.OWN, model.Own(mac, four), model.Own(mac, None, six), model.Own((1,), four, six)):
            check(packet, own)
        assert binding.parse(packet).info.outer_length == 0, "without addresses none"


def test_reads_tunnels_cut_at_every_byte() -> None:
    random.seed(SEED)
    for packet in tunnels.truncated():
        check(packet)


def test_reads_headers_in_any_order() -> None:
    random.seed(SEED)
    sound = tunnels.opened()
    for _ in range(1000):
        packet = tunnels.any_order()
        check(packet)
        check(tunnels.mutated(packet))
        check(tunnels.mutated(random.choice(sound)))


def test_reads_the_captures() -> None:
    packets = binding.captured(limit=800)
    assert len(packets) > 2000
    assert {check(packet) for _, packet in packets} == {Fault.FAULT_NONE}


def test_reads_what_follows_every_protocol_number() -> None:
    random.seed(SEED)
    for number in range(256):
        body = bytes((6, 0, 0, 0, 0, 0, 0, 0)) + random.randbytes(40)
        for network in (IP(proto=number, dst=tunnels.IPV4), IPv6(nh=number, dst=tunnels.IPV6)):
            check(bytes(Ether(**traffic.MACS) / network / Raw(body)))


def test_zero_is_no_address_of_its_own() -> None:
    random.seed(SEED)
    inner, mac = bytes(traffic.tags(0) / traffic.ip4()), tunnels.OWN.lane_mac[0]
    for header in (tunnels.vxlan(), tunnels.gre()):
        number = 17 if isinstance(header, UDP) else 47
        for dst in (0, mac):
            for ip in (*(IP(dst=f"0.0.0.{n}", proto=number) for n in (0, 1)), *(IPv6(dst=f"::{n}", nh=number) for n in (0, 1))):
                packet = dst.to_bytes(6, "big") + bytes(Ether(**traffic.MACS) / ip / header / inner)[6:]
                for four, six in ((None, None), (0, None), (None, 0), (0, 0), (1, 1)):
                    for own in (0, mac):
                        check(packet, model.Own((own,), four, six))


def test_opens_by_every_bit_of_a_tunnel_header() -> None:
    random.seed(SEED)
    inner = bytes(traffic.tags(0) / traffic.ip4(proto=99) / bytes(8))
    for header in tunnels.sound():
        stack = bytes(random.choice(tunnels.outer(header)[:3]) / inner)
        start = len(stack) - len(inner) - len(header)
        for bit in range(8 * min(len(header), 24)):
            packet = bytearray(stack)
            packet[start + bit // 8] ^= 1 << bit % 8
            check(bytes(packet))


def test_a_tunnel_header_ends_with_what_carries_it() -> None:
    random.seed(SEED)
    inner = bytes(traffic.tags(0) / traffic.ip4(proto=99) / bytes(8))
    for header in tunnels.sound():
        head = bytes(UDP(sport=1, dport=header.dport)) if isinstance(header, UDP) else b""
        rest = bytes(IP() / header)[20 + len(head) :] + inner
        for size in range(len(rest) - len(inner) + 16):
            carried = UDP(sport=1, dport=header.dport) / Raw(rest[:size]) if head else Raw(rest[:size])
            for ip in (IP(dst=tunnels.IPV4, proto=17 if head else 47), IPv6(dst=tunnels.IPV6, nh=17 if head else 47)):
                check(bytes(Ether(**traffic.MACS) / ip / carried) + rest[size:])


def test_no_tunnel_is_in_another_transport_to_its_port() -> None:
    for port in (4789, 6081):
        for source in (0x0800, 0x0865, 0, 0x6558):
            for transport in (TCP(sport=source, dport=port, seq=0x65580000), SCTP(sport=source, dport=port, tag=0x6558)):
                for ip in (IP(dst=tunnels.IPV4), IPv6(dst=tunnels.IPV6)):
                    packet = bytes(Ether(**traffic.MACS) / ip / transport / bytes(80))
                    check(packet)
                    assert binding.parse(packet, OWN).info.outer_length == 0


def test_names_the_first_reason_why_a_header_cannot_be_read() -> None:
    faults = set()
    for options in range(130, 145):
        for size in (0, 1, 200, 255):
            body = bytes([60, options // 8 - 1, *bytes(options // 8 * 8 - 2), 60, size, *bytes(6)])
            for spare in range(0, 24, 4):
                packet = bytes(Ether(**traffic.MACS) / IPv6(nh=0, plen=len(body) + spare, dst="::1")) + body + bytes(spare)
                faults.add(check(packet))
    assert {Fault.FAULT_WINDOW, Fault.FAULT_TRUNCATED} <= faults


def test_a_length_has_sixteen_bits() -> None:
    head = bytes(Ether(**traffic.MACS) / IPv6(plen=65535 - 54, nh=59))
    for size in (65534, 65535, 65536, 65537, 131072):
        packet = head.ljust(size, b"\0")
        length = min(size, 65535)
        expected = model.parse(packet[:length], Meta(length=length), tunnels.OWN)
        assert binding.parse(packet, OWN) == expected
        assert (expected.length, expected.fault) == (length, Fault.FAULT_LENGTH if size < 65535 else Fault.FAULT_NONE)
