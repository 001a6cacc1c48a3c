# SPDX-License-Identifier: Apache-2.0
"""Tunnels through the whole device: packets of one lane leave another encapsulated as scapy does it, come in again by a third and
leave by a fourth as they were."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import sluice_layouts as L
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from host.python.device import Action, Device, prefix, set_field
from host.python.device import instruction as make
from models.packet import parse
from models.template import entropy
from shell.sim.build import SMALL
from testing.device import ANY_MAC, LPM, enable, noise, run

OUTER, NEAR = "02:00:00:00:00:11", "02:00:00:00:00:12"
FOUR, SIX = ("192.0.2.1", "192.0.2.7"), ("2001:db8::1", "2001:db8::7")
NETWORK_ID = 0x123456
OPTIONS = [GeneveOptions(classid=0x102, type=1, data=b"\1\2\3\4"), GeneveOptions(classid=0x103, type=2, data=bytes(range(8)))]
HEADS = {
    "vxlan": UDP(dport=4789, chksum=0) / VXLAN(flags=8, vni=NETWORK_ID),
    "geneve": UDP(dport=6081, chksum=0) / GENEVE(proto=0x6558, vni=NETWORK_ID, options=OPTIONS),
    "nvgre": GRE(proto=0x6558, key_present=1, key=NETWORK_ID << 8),
    "gre": GRE(proto=0x6558),
}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device(SMALL) as opened:
        opened.call("sluice_device_set_lossless", 1)
        yield opened


def outer(kind: str, version: int, source_port: int = 0) -> Packet:
    """The headers of a tunnel; the library writes lengths, checksum, source port and id itself."""
    head = HEADS[kind].copy()
    if UDP in head:
        head[UDP].sport = source_port
    number = 17 if UDP in head else 47
    four = IP(src=FOUR[0], dst=FOUR[1], id=0, flags="DF", proto=number)
    return Ether(src=NEAR, dst=OUTER) / (four if version == 4 else IPv6(src=SIX[0], dst=SIX[1], nh=number)) / head


def inside(size: int, draw: random.Random) -> bytes:
    """A UDP packet of a random flow and this size."""
    ip = IP(src=f"10.0.0.{draw.randrange(256)}", dst=f"10.1.0.{draw.randrange(256)}")
    head = (
        Ether(src="02:00:00:00:00:21", dst="02:00:00:00:00:22") / ip / UDP(sport=draw.getrandbits(16), dport=draw.getrandbits(16))
    )
    return bytes(head / Raw(draw.randbytes(size - len(head))))


def own_address(device: Device) -> None:
    """Lane 2 is the other end of the tunnels."""
    admit = next(
        n
        for n in range(1, device.read(L.SHELL_REGISTERS_WINDOWS))
        if device.read(L.SHELL_REGISTERS_CAPABILITY + 4 * n) & 0xFFFF == L.ELEMENT_ADMIT
    )
    device.call("sluice_admit_set_mac", 2, bytes.fromhex(OUTER.replace(":", "")))
    base = admit * L.WINDOW_SIZE
    device.write(base + L.ADMIT_REGISTERS_TUNNEL_IPV4, 0xC0000207)
    for n, word in enumerate((7, 0, 0, 0x20010DB8)):
        device.write(base + L.ADMIT_REGISTERS_TUNNEL_IPV6 + 4 * n, word)
    device.write(base + L.ADMIT_REGISTERS_TUNNEL_CONTROL, 3)


def rule(device: Device, *actions: Action) -> None:
    """The only rule: what becomes of 10.1.0.0/16."""
    enable(device, 1 << L.TABLE_LPM, ANY_MAC)
    device.rule(LPM, make(L.INSTRUCTION_POPULATE, 0, actions=actions, **prefix(0x0A010000, 16, 32)))


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("kind", HEADS)
def test_a_packet_goes_through_a_tunnel_as_scapy_makes_it(device: Device, kind: str, version: int) -> None:
    draw = random.Random(kind + str(version))
    packets = [inside(size, draw) for size in (*range(60, 201), 255, 511, 512, 1000, 1023, 1024, 1400, 1500, 1514, 1518)]
    index = draw.randrange(L.TEMPLATES)
    blank = outer(kind, version)
    for layer, name in ((VXLAN, "vni"), (GENEVE, "vni")):
        if layer in blank:
            setattr(blank[layer], name, 0)
    device.template(index, bytes(blank))
    insert = L.ACTION_INSERT_RAW if kind == "gre" else L.ACTION_INSERT_TUNNEL
    rule(device, set_field(L.FIELD_TUNNEL_ID, NETWORK_ID), Action(insert, index), Action(L.ACTION_OUTPUT, 1))
    host, out = run(device, {0: packets})
    ports = [entropy(parse(packet, L.Meta(length=len(packet))).phv) for packet in packets]
    assert out[1] == [bytes(outer(kind, version, port) / Raw(packet)) for packet, port in zip(packets, ports, strict=True)]
    assert host == [] and len(set(ports)) > 100, "flows differ in the source port"
    own_address(device)
    rule(device, Action(L.ACTION_DELETE_TUNNEL), Action(L.ACTION_OUTPUT, 3))
    host, back = run(device, {2: out[1]})
    assert (host, back[3]) == ([], packets)


def test_an_opened_packet_that_is_not_stripped_goes_to_the_host_and_is_counted(device: Device) -> None:
    packet = bytes(outer("vxlan", 4) / Raw(inside(100, random.Random(1))))
    own_address(device)
    rule(device, Action(L.ACTION_OUTPUT, 3))
    before = device.counters("graph").not_stripped
    host, out = run(device, {2: [packet] * 3})
    assert [one.data for one in host] == [packet] * 3 and not out[3]
    assert device.counters("graph").not_stripped == before + 3


def test_a_template_that_is_not_there_drops_the_packet_at_its_lane(device: Device) -> None:
    device.template(9, b"")
    rule(device, Action(L.ACTION_INSERT_RAW, 9), Action(L.ACTION_OUTPUT, 1))
    before = device.counters("lane", 1).tx_error
    host, out = run(device, {0: [inside(100, random.Random(1))]})
    assert (host, out[1]) == ([], [])
    assert device.counters("lane", 1).tx_error == before + 1


def test_the_largest_packet_leaves_with_its_headers(device: Device) -> None:
    packets = [inside(size, random.Random(1)) for size in (L.MTU_BYTES, 60, L.MTU_BYTES)]
    head = bytes(outer("geneve", 6))
    device.template(0, head)
    rule(device, Action(L.ACTION_INSERT_TUNNEL, 0), Action(L.ACTION_OUTPUT, 1))
    _, out = run(device, {0: packets})
    assert [data[len(head) :] for data in out[1]] == packets


@pytest.mark.parametrize("size", [L.TEMPLATE_BYTES - 2, L.TEMPLATE_BYTES])
@pytest.mark.parametrize("tags", [0, 1, 2])
@pytest.mark.parametrize("to_host", [False, True])
def test_the_largest_packet_leaves_with_every_tag_and_the_largest_template(
    device: Device, size: int, tags: int, to_host: bool
) -> None:
    draw = random.Random(f"{size} {tags} {to_host}")
    packets = [inside(length, draw) for length in (L.MTU_BYTES, 60, L.MTU_BYTES - 1)]
    head = noise(draw, size)
    device.template(0, head)
    pushes = [Action(L.ACTION_INSERT_VLAN, 100 + n) for n in range(tags)]
    rule(device, *pushes, Action(L.ACTION_INSERT_RAW, 0), Action(L.ACTION_TO_CONTROLLER) if to_host else Action(L.ACTION_OUTPUT, 1))
    before = device.counters("lane", 1).tx_error + device.counters("host").to_host_error
    host, out = run(device, {0: packets})
    pushed = b"".join((0x81000064 + n).to_bytes(4, "big") for n in reversed(range(tags)))
    assert ([one.data for one in host] if to_host else out[1]) == [head + data[:12] + pushed + data[12:] for data in packets]
    assert device.counters("lane", 1).tx_error + device.counters("host").to_host_error == before
