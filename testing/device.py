# SPDX-License-Identifier: Apache-2.0
"""What tests of a whole device share: packets, the rules for them, a loop that sends them, and scapy's opinion of a router."""

from __future__ import annotations

import ctypes as c
import errno
import ipaddress
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import sluice_layouts as L
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from host.python.device import Action, Device, Received, SluiceError, instruction, prefix, set_field

ROUTER, HOST, NEXT_HOP, SELF = "02:00:00:00:00:01", "02:00:00:00:00:aa", 0x020000000005, 0x020000000006
ANY_MAC = 0x800
LPM, EXACT = L.ELEMENT_LPM, L.ELEMENT_EXACT
POPULATE = L.INSTRUCTION_POPULATE


def host_packets(device: Device) -> list[Received]:
    """Every packet that waits for the host."""
    return list(iter(device.receive, None))


def lane_packets(device: Device, lane: int) -> list[bytes]:
    """Every packet that has left a lane."""
    return [data for data, _ in iter(lambda: device.lane_receive(lane), None)]


def access_alike(pair: Sequence[Device], at: int, value: int | None = None) -> int | None:
    """A register of two devices, read or written with `value`: the answer, which is the same; -1: both answered an error."""
    answers: list[int | None] = []
    for device in pair:
        try:
            if value is not None:
                device.write(at, value)
            answers.append(device.read(at) if value is None else None)
        except SluiceError as error:
            assert error.errno == errno.EFAULT
            answers.append(-1)
    assert answers[0] == answers[1], f"{at:#x} {value}"
    return answers[0]


def run(device: Device, sent: Mapping[int, Sequence[bytes]]) -> tuple[list[Received], dict[int, list[bytes]]]:
    """Send packets into lanes as fast as they take them; what came to the host, and out of each lane."""
    waiting = {lane: list(packets) for lane, packets in sent.items()}
    host: list[Received] = []
    out: dict[int, list[bytes]] = defaultdict(list)
    while True:
        for lane, packets in waiting.items():
            while packets and device.lane_send(lane, packets[0]):
                packets.pop(0)
        idle = not any(waiting.values()) and device.library.sluice_device_idle(device.handle)
        host += host_packets(device)
        for lane in range(device.lanes + device.host_lanes):
            out[lane] += lane_packets(device, lane)
        if idle:
            return host, out
        device.advance(16)


def noise(random_: random.Random, size: int) -> bytes:
    """Bytes that no table looks at: an EtherType of nothing."""
    data = random_.randbytes(size)
    return (data[:12] + b"\x88\xb5" + data[14:])[:size]


def udp(source: str, destination: str, sport: int = 1000, dport: int = 2000, tags: Sequence[int] = (), payload: int = 18) -> bytes:
    """UDP to the router, over IPv4 or IPv6 as the addresses say."""
    packet = Ether(src=HOST, dst=ROUTER)
    for tag in tags:
        packet /= Dot1Q(vlan=tag)
    six = ":" in source
    packet /= IPv6(src=source, dst=destination, hlim=64) if six else IP(src=source, dst=destination, ttl=64)
    return bytes(packet / UDP(sport=sport, dport=dport) / bytes(i % 251 for i in range(payload)))


def forward(lane: int) -> list[Action]:
    """A router's actions: new MAC addresses, the TTL, the checksum, out of a lane."""
    return [
        set_field(L.FIELD_ETH_DST, NEXT_HOP),
        set_field(L.FIELD_ETH_SRC, SELF),
        Action(L.ACTION_SUB),
        Action(L.ACTION_CHECKSUM),
        Action(L.ACTION_OUTPUT, lane),
    ]


def routed(data: bytes) -> bytes:
    """What a router makes of a packet, by scapy: checksums are computed from nothing."""
    packet = Ether(data)
    packet.dst, packet.src = "02:00:00:00:00:05", "02:00:00:00:00:06"
    if IP in packet:
        packet[IP].ttl -= 1
        del packet[IP].chksum
    else:
        packet[IPv6].hlim -= 1
    if UDP in packet:
        del packet[UDP].chksum
    return bytes(packet)


def route(device: Device, text: str, actions: Sequence[Action]) -> int:
    """An LPM rule for a prefix; its id."""
    network = ipaddress.ip_network(text)
    where = prefix(int(network.network_address), network.prefixlen, network.max_prefixlen)
    return device.rule(LPM, instruction(POPULATE, int(network.version == 6), actions=actions, **where))


def flow(device: Device, data: bytes, actions: Sequence[Action]) -> int:
    """An exact rule for the 5-tuple of a packet."""
    packet = Ether(data)
    six = IPv6 in packet
    ip, l4 = (packet[IPv6], packet[UDP]) if six else (packet[IP], packet[UDP])
    source, destination = int(ipaddress.ip_address(ip.src)), int(ipaddress.ip_address(ip.dst))
    kind = L.FiveTuple6 if six else L.FiveTuple4
    key = kind(ip_src=source, ip_dst=destination, ip_protocol=17, l4_src=l4.sport, l4_dst=l4.dport).to_int()
    mask = (1 << kind.BITS) - 1
    return device.rule(EXACT, instruction(POPULATE, int(six), value=key, mask=mask, actions=actions))


def enable(device: Device, required: int, flags: int = ANY_MAC) -> None:
    """Empty and enable the tables; `required` of them decide a hit."""
    for ofu in (LPM, EXACT):
        device.call("sluice_ofu_init", c.c_uint16(ofu))
    device.call("sluice_admit_set", required, flags)
