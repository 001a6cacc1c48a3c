# SPDX-License-Identifier: Apache-2.0
"""What becomes of a packet, by docs/guide/rules.md, "What happens to a packet": a router that writes each header by itself, and a
learning bridge. Headers are read by the model of the parser (`models/packet.py`)."""

from __future__ import annotations

from dataclasses import dataclass

import sluice_layouts as layouts
from sluice_layouts import Fault, L3Kind, L4Kind, Meta, PhvRecord

from host.judge.rules import Access, Route, Rules, Tunnel
from models.packet import Own, parse
from models.template import entropy

MIN_BYTES, MAX_BYTES = 14, layouts.MTU_BYTES  # shorter and longer ones stay at the lane
VERSIONS = {L3Kind.L3_IPV4: 4, L3Kind.L3_IPV6: 6}
WITH_PORTS = (L4Kind.L4_TCP, L4Kind.L4_UDP, L4Kind.L4_SCTP)
LINK_LOCAL = 0x0180C2000000  # to ...0f
SETS, WAYS = 1024, 4  # of the table of learned addresses


@dataclass(frozen=True)
class Routed:
    """A packet as it leaves a lane."""

    flow: int
    lane: int
    data: bytes


@dataclass(frozen=True)
class Bridged:
    """A packet for the bridge, from a lane; where it goes depends on what others taught it."""

    flow: int
    lane: int
    vlan: int
    destination: int
    source: int


class Router:
    """Routes and access rules of a file."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        macs = {lane: int.from_bytes(mac, "big") for lane, mac in rules.lane_mac.items()}
        lanes = tuple(macs.get(lane, 0) for lane in range(layouts.HOST_PORT))
        self.own = Own(lanes, rules.tunnel_address.get(4), rules.tunnel_address.get(6))
        self.found: dict[tuple[int, int], Route | None] = {}
        self.permitted: dict[tuple[int | None, ...], bool] = {}
        self.flows: dict[tuple[int, ...], int] = {}

    def decide(self, packet: bytes, lane: int) -> Routed | Bridged | None:
        """What becomes of a packet that came by a lane; None: it is dropped."""
        if not MIN_BYTES <= len(packet) <= MAX_BYTES:
            return None
        record = parse(packet, Meta(length=len(packet), ingress_port=lane), self.own)
        phv, version = record.phv, VERSIONS.get(L3Kind(record.info.l3_kind))
        if record.fault not in (Fault.FAULT_NONE, Fault.FAULT_MPLS):
            return None
        if version and not record.info.tags and phv.eth_dst == self.own.lane_mac[lane] != 0:
            return self._route(packet, record, version)
        if record.info.outer_length:  # opened, and what is inside is for somebody else
            return None
        vlan = phv.vlan0_tci & 0xFFF if record.info.tags else 0
        return Bridged(self._flow(record), lane, vlan, phv.eth_dst, phv.eth_src)

    def _flow(self, record: PhvRecord) -> int:
        """The number of what a packet must keep its order within: its lane, and what the tables read of it as it entered. Fragments
        and packets with options always go to the host, so they are flows of their own."""
        phv, info = record.phv, record.info
        link = (phv.eth_dst, phv.eth_src, info.tags, phv.vlan0_tci, phv.eth_type)
        ports = (0, 0) if info.is_fragment else (phv.l4_src, phv.l4_dst)  # of fragments, only the first has them
        network = (phv.ip_src, phv.ip_dst, phv.ip_protocol, info.is_fragment, info.ip_options)
        return self.flows.setdefault((record.ingress_port, *link, *network, *ports), len(self.flows))

    def _route(self, packet: bytes, record: PhvRecord, version: int) -> Routed | None:
        route = self._find(version, record.phv.ip_dst)
        if not self._permits(record, version) or route is None or record.phv.ip_ttl <= 1:
            return None
        own = self.rules.lane_mac[route.lane]
        inside = _one_hop_later(packet[record.info.outer_length + 12 :], version)
        tag = b"\x81\x00" + route.vlan.to_bytes(2, "big") if route.vlan else b""
        if route.tunnel is None:
            return Routed(self._flow(record), route.lane, route.next_hop + own + tag + inside)
        inside = route.tunnel.inner_mac + own + inside
        outer = _outer(route.tunnel, entropy(record.phv), len(inside))
        return Routed(self._flow(record), route.lane, route.next_hop + own + tag + outer + inside)

    def _find(self, version: int, address: int) -> Route | None:
        if (version, address) not in self.found:
            bits, lengths = {4: 32, 6: 128}[version], self.rules.routes[version]
            matches = (lengths[length].get(address >> bits - length << bits - length) for length in sorted(lengths, reverse=True))
            self.found[version, address] = next((route for route in matches if route), None)
        return self.found[version, address]

    def _permits(self, record: PhvRecord, version: int) -> bool:
        phv, has_ports = record.phv, record.info.l4_kind in WITH_PORTS
        source, destination = (phv.l4_src, phv.l4_dst) if has_ports else (None, None)
        key = (version, phv.ip_src, phv.ip_dst, phv.ip_protocol, source, destination, record.ingress_port)

        def matches(rule: Access) -> bool:
            return (
                rule.protocol in (None, phv.ip_protocol)
                and rule.lane in (None, record.ingress_port)
                and rule.source.has(version, phv.ip_src, source)
                and rule.destination.has(version, phv.ip_dst, destination)
            )

        if key not in self.permitted:
            first = next((rule for rule in self.rules.access if matches(rule)), None)
            self.permitted[key] = first.permits if first else not self.rules.access
        return self.permitted[key]


def _one_hop_later(packet: bytes, version: int) -> bytes:
    """A packet from its EtherType on, with TTL or hop limit one less; the checksum by RFC 1624, so that a wrong one stays wrong."""
    out = bytearray(packet)
    if version == 6:
        out[9] -= 1
        return bytes(out)
    out[10] -= 1
    total = (~int.from_bytes(packet[12:14], "big") & 0xFFFF) + 0xFEFF  # in one's complement, 0xfeff is 0x0100 less
    out[12:14] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
    return bytes(out)


def _checksum(header: bytes) -> int:
    total = sum(int.from_bytes(header[n : n + 2], "big") for n in range(0, len(header), 2))
    return 0xFFFF - (total % 0xFFFF or (0xFFFF if total else 0))


def _ip(tunnel: Tunnel, protocol: int, size: int) -> bytes:
    """EtherType and IP header in front of `size` bytes: TTL 64, "do not fragment"."""
    ends = tunnel.local.packed + tunnel.remote.packed
    if tunnel.local.version == 6:
        return b"\x86\xdd\x60\0\0\0" + size.to_bytes(2, "big") + bytes((protocol, 64)) + ends
    start = b"\x45\0" + (20 + size).to_bytes(2, "big") + b"\0\0\x40\0" + bytes((64, protocol))
    return b"\x08\0" + start + _checksum(start + b"\0\0" + ends).to_bytes(2, "big") + ends


def _outer(tunnel: Tunnel, source_port: int, size: int) -> bytes:
    """What stands behind the MAC addresses and the tag of a tunnelled packet, in front of `size` bytes."""
    number = tunnel.id.to_bytes(3, "big") + b"\0"
    match tunnel.kind:
        case "vxlan":
            head, port = b"\x08\0\0\0" + number, layouts.VXLAN_PORT
        case "geneve":
            head = bytes((len(tunnel.options) // 4, 0)) + b"\x65\x58" + number + tunnel.options
            port = layouts.GENEVE_PORT
        case "nvgre":
            return _ip(tunnel, 47, 8 + size) + b"\x20\0\x65\x58" + number
        case _:
            return _ip(tunnel, 47, 4 + size) + b"\0\0\x65\x58"
    length = 8 + len(head) + size
    udp = b"".join(word.to_bytes(2, "big") for word in (source_port, port, length, 0))
    return _ip(tunnel, 17, length) + udp + head


@dataclass
class _Station:
    """A learned address."""

    key: int
    lane: int
    seen: int


class Bridge:
    """A learning bridge: 4,096 addresses in sets of four, each VLAN by itself; a full set forgets the one not seen for longest."""

    def __init__(self, lanes: int, idle: int) -> None:
        self.lanes, self.idle = lanes, idle * 1_000_000
        self.sets: list[list[_Station]] = [[] for _ in range(SETS)]

    def send(self, packet: Bridged, now: int) -> list[int]:
        """The lanes that a packet leaves by; `now` in microseconds."""
        others = [lane for lane in range(self.lanes) if lane != packet.lane]
        if not packet.source >> 40 & 1:
            self._learn(_Station(packet.vlan << 48 | packet.source, packet.lane, now))
        if packet.destination & ~0xF == LINK_LOCAL:
            return []
        key = packet.vlan << 48 | packet.destination
        known = next((it.lane for it in self._set(key) if it.key == key and now - it.seen < self.idle), None)
        if known is None or packet.destination >> 40 & 1:
            return others
        return [known] if known in others else []

    def _set(self, key: int) -> list[_Station]:
        return self.sets[((1 << 63 | key) * 0x9E3779B97F4A7C15 >> 32) % SETS]

    def _learn(self, station: _Station) -> None:
        stations = self._set(station.key)
        place = next((n for n, it in enumerate(stations) if it.key == station.key), len(stations))
        if place == WAYS:
            place = min(range(WAYS), key=lambda n: stations[n].seen)
        stations[place : place + 1] = [station]
