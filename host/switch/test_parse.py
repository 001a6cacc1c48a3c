# SPDX-License-Identifier: Apache-2.0
"""The parser in software says of every packet what the model of the RTL's parser says."""

import random

from sluice_layouts import Fault, Meta

from host.switch.testing import binding
from models import packet as model
from models import traffic, tunnels

SEED = 1


def check(packet: bytes, own: model.Own = tunnels.OWN) -> Fault:
    expected = model.parse(packet, Meta(length=len(packet)), own)
    assert binding.parse(packet, binding.Own(own.lane_mac[0], own.ipv4, own.ipv6)) == expected, packet.hex()
    return Fault(expected.fault)


def test_reads_every_kind_of_header() -> None:
    random.seed(SEED)
    assert {check(packet) for packet in traffic.well_formed()} == {Fault.FAULT_NONE}


def test_finds_every_fault() -> None:
    random.seed(SEED)
    assert {check(packet) for packet in traffic.malformed()} == set(Fault), "each fault, and near misses"


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
