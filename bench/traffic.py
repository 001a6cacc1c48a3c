# SPDX-License-Identifier: Apache-2.0
"""Packets for benchmarks: UDP of a given size over many flows, made by scapy, as bytes and as captures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

SIZES = (64, 65, 66, 128, 256, 512, 1024, 1518)  # on the wire, FCS counted (AccelSDP Fig. 23, from 64 on)
FCS = 4
ROUTER = "02:00:00:00:00:01"
HOST = "02:00:00:00:00:aa"


@dataclass(frozen=True)
class Flow:
    """One UDP flow: addresses as text, ports."""

    source: str
    destination: str
    source_port: int
    destination_port: int


def flows(version: int, count: int) -> Iterator[Flow]:
    """`count` flows, each to a destination of its own: 10.1.x.y or 2001:db8:1::x."""
    for i in range(count):
        if version == 4:
            yield Flow(f"10.0.{i >> 8}.{i & 255}", f"10.1.{i >> 8}.{i & 255}", 1024 + i, 80)
        else:
            yield Flow(f"2001:db8::{i:x}", f"2001:db8:1::{i:x}", 1024 + i, 80)


def packet(flow: Flow, wire_size: int) -> bytes:
    """An Ethernet frame of the flow without FCS, `wire_size` bytes with it, or the smallest there is."""
    version = IPv6 if ":" in flow.source else IP
    head = Ether(src=HOST, dst=ROUTER) / version(src=flow.source, dst=flow.destination)
    head = head / UDP(sport=flow.source_port, dport=flow.destination_port)
    payload = bytes(max(0, wire_size - FCS - len(head)))
    return bytes(head / payload)


def capture(path: Path, packets: Sequence[bytes]) -> Path:
    """Write packets as a classic pcap; the path, absolute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    wrpcap(str(path), [Ether(data) for data in packets])
    return path.resolve()
