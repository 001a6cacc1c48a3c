# SPDX-License-Identifier: Apache-2.0
"""The match fields of OpenFlow, and where the parser program puts them.

A match becomes requirements: what the words that a unit can select must hold, under a mask. Headers that a match needs (its
prerequisites) are bits of SOURCE_HEADERS; they are left out where another word implies them, so that the key stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import sluice_layouts as L
from c65of import ofproto as of

from compiler.pipeline.parser_program import read
from host.agent.refusal import bad_match
from toolchain import ROOT

HEADERS = read(ROOT / "elements" / "pipeline" / "default_parser.toml")
PLACES = HEADERS.containers
IP4, IP6, ARP = 0x0800, 0x86DD, 0x0806
TCP, UDP, ICMP, ICMP6, SCTP = 6, 17, 1, 58, 132
EXTENSIONS = (0, 43, 44, 60)  # what the parser follows is never the last header
# Bits of SOURCE_HEADERS: the bases of the parser program.
TAG, NETWORK, ADDRESSES, TRANSPORT = 1 << 1, 1 << 3, 1 << 4, 1 << 7
NETWORKS = {IP4: NETWORK, IP6: NETWORK | ADDRESSES, ARP: ADDRESSES}  # of these two bits
# A container of these that holds anything but 0 implies header bits.
IMPLIED = (
    (TAG, frozenset(PLACES["vlan0_tci"])),
    (
        NETWORK | ADDRESSES,  # ARP and IPv4 have their addresses in the first words of IPv6's
        frozenset([*PLACES["ip4_ttl"], *PLACES["ip6_next"], *PLACES["extension"], *PLACES["ip6_src"][2:], *PLACES["ip6_dst"][2:]]),
    ),
    (TRANSPORT, frozenset([*PLACES["l4_src"], *PLACES["l4_dst"]])),
)

Requirement = Mapping[int, tuple[int, int]]  # what a source holds: value, mask


@dataclass(frozen=True)
class Part:
    """Bits of a container: `width` of them from bit `shift` on hold those of the field from bit `at` on."""

    container: int
    shift: int
    width: int
    at: int


@dataclass(frozen=True)
class Field:
    """A field of OpenFlow: its bits, whether it can have a mask, be set, the values of other fields that it needs (of each one of
    several), and its place for each EtherType (0: any)."""

    bits: int
    masked: bool
    settable: bool
    needs: Mapping[str, tuple[int, ...]]
    places: Mapping[int, tuple[Part, ...]]


def _whole(name: str) -> tuple[Part, ...]:
    return tuple(Part(container, 0, 16, 16 * at) for at, container in enumerate(reversed(PLACES[name])))


def _part(name: str, shift: int, width: int, at: int = 0) -> tuple[Part, ...]:
    return (Part(PLACES[name][0], shift, width, at),)


_IP = {"eth_type": (IP4, IP6)}


def _transport(protocol: int, *ethertypes: int) -> Mapping[str, tuple[int, ...]]:
    return {"eth_type": ethertypes or (IP4, IP6), "ip_proto": (protocol,)}


FIELDS: Mapping[str, Field] = {
    "metadata": Field(64, True, False, {}, {0: _whole("metadata")}),
    "in_port": Field(32, False, False, {}, {0: (Part(L.SOURCE_PORT, 0, 16, 0),)}),
    "eth_dst": Field(48, True, True, {}, {0: _whole("eth_dst")}),
    "eth_src": Field(48, True, True, {}, {0: _whole("eth_src")}),
    "eth_type": Field(16, False, False, {}, {0: _whole("eth_type")}),
    "vlan_vid": Field(13, True, True, {}, {0: _part("vlan0_tci", 0, 12)}),
    "vlan_pcp": Field(3, False, True, {"vlan_vid": ()}, {0: _part("vlan0_tci", 13, 3)}),
    "ip_dscp": Field(6, False, True, _IP, {IP4: _part("ip_tos", 2, 6), IP6: _part("ip_tos", 6, 6)}),
    "ip_ecn": Field(2, False, True, _IP, {IP4: _part("ip_tos", 0, 2), IP6: _part("ip_tos", 4, 2)}),
    "ip_proto": Field(8, False, False, _IP, {IP4: _part("ip4_ttl", 0, 8), IP6: _part("ip6_next", 8, 8)}),
    "ipv4_src": Field(32, True, True, {"eth_type": (IP4,)}, {0: _whole("ip4_src")}),
    "ipv4_dst": Field(32, True, True, {"eth_type": (IP4,)}, {0: _whole("ip4_dst")}),
    "ipv6_src": Field(128, True, True, {"eth_type": (IP6,)}, {0: _whole("ip6_src")}),
    "ipv6_dst": Field(128, True, True, {"eth_type": (IP6,)}, {0: _whole("ip6_dst")}),
    "ipv6_flabel": Field(20, True, True, {"eth_type": (IP6,)}, {0: (*_part("ip6_label", 0, 16), *_part("ip_tos", 0, 4, 16))}),
    "tcp_src": Field(16, True, True, _transport(TCP), {0: _whole("l4_src")}),
    "tcp_dst": Field(16, True, True, _transport(TCP), {0: _whole("l4_dst")}),
    "udp_src": Field(16, True, True, _transport(UDP), {0: _whole("l4_src")}),
    "udp_dst": Field(16, True, True, _transport(UDP), {0: _whole("l4_dst")}),
    "sctp_src": Field(16, True, False, _transport(SCTP), {0: _whole("l4_src")}),
    "sctp_dst": Field(16, True, False, _transport(SCTP), {0: _whole("l4_dst")}),
    "icmpv4_type": Field(8, False, True, _transport(ICMP, IP4), {0: _part("l4_src", 8, 8)}),
    "icmpv4_code": Field(8, False, True, _transport(ICMP, IP4), {0: _part("l4_src", 0, 8)}),
    "icmpv6_type": Field(8, False, True, _transport(ICMP6, IP6), {0: _part("l4_src", 8, 8)}),
    "icmpv6_code": Field(8, False, True, _transport(ICMP6, IP6), {0: _part("l4_src", 0, 8)}),
    "arp_op": Field(16, False, True, {"eth_type": (ARP,)}, {0: _whole("arp_op")}),
    "arp_spa": Field(32, True, True, {"eth_type": (ARP,)}, {0: _whole("arp_spa")}),
    "arp_tpa": Field(32, True, True, {"eth_type": (ARP,)}, {0: _whole("arp_tpa")}),
    "arp_sha": Field(48, True, True, {"eth_type": (ARP,)}, {0: _whole("arp_sha")}),
    "arp_tha": Field(48, True, True, {"eth_type": (ARP,)}, {0: _whole("arp_tha")}),
}
PRESENT = of.OFPVID_PRESENT
METADATA_BITS = 16 * len(PLACES["metadata"])  # the low ones of 64; the others are always 0


@dataclass(frozen=True)
class Match:
    """What a flow matches: value and mask by the name of the field. A field without bits in its mask is not there."""

    fields: Mapping[str, tuple[int, int]]

    @staticmethod
    def of(fields: Iterable[tuple[str, int, int | None]]) -> Match:
        """Checks (name, value, mask) one by one. Raises Refusal."""
        found: dict[str, tuple[int, int]] = {}
        for name, value, mask in fields:
            _check(name, value, mask, found)
            found[name] = value, (1 << FIELDS[name].bits) - 1 if mask is None else mask
        return Match({name: pair for name, pair in found.items() if pair[1]})

    def covers(self, other: Match) -> bool:
        """Whether every packet that the other matches is matched by this one, field by field (OpenFlow's non-strict match)."""
        for name, (value, mask) in self.fields.items():
            other_value, other_mask = other.fields.get(name, (0, 0))
            if mask & ~other_mask or (value ^ other_value) & mask:
                return False
        return True

    def overlaps(self, other: Match) -> bool:
        """Whether a packet can match both."""
        both = self.fields.keys() & other.fields.keys()
        pairs = ((self.fields[name], other.fields[name]) for name in both)
        return not any((a[0] ^ b[0]) & a[1] & b[1] for a, b in pairs)

    def value(self, name: str) -> int | None:
        """The value of a field that is matched whole."""
        value, mask = self.fields.get(name, (0, 0))
        return value if mask == (1 << FIELDS[name].bits) - 1 else None

    def allows(self, field: Field) -> bool:
        """Whether the headers that a field needs are matched."""
        for name, values in field.needs.items():
            if name == "vlan_vid":
                value, mask = self.fields.get(name, (0, 0))
                if not value & mask & PRESENT:
                    return False
            elif self.value(name) not in values:
                return False
        return True

    def place(self, field: Field) -> tuple[Part, ...]:
        """Where a field is in packets of this match."""
        return field.places.get(0) or field.places[self.value("eth_type") or 0]


def _check(name: str, value: int, mask: int | None, found: Mapping[str, tuple[int, int]]) -> None:
    if name not in FIELDS:
        raise bad_match(of.OFPBMC_BAD_FIELD, f"field {name} is not supported")
    field = FIELDS[name]
    if name in found:
        raise bad_match(of.OFPBMC_DUP_FIELD, f"field {name} is given twice")
    if mask is not None and not field.masked:
        raise bad_match(of.OFPBMC_BAD_MASK, f"field {name} cannot have a mask")
    if mask is not None and value & ~mask:
        raise bad_match(of.OFPBMC_BAD_WILDCARDS, f"field {name} has bits outside of its mask")
    if value >> field.bits or (name == "vlan_vid" and mask is None and 0 < value < PRESENT):
        raise bad_match(of.OFPBMC_BAD_VALUE, f"field {name} cannot be {value:#x}")
    if name == "metadata" and value >> METADATA_BITS:
        raise bad_match(of.OFPBMC_BAD_VALUE, f"metadata has {METADATA_BITS} bits")
    if name == "ip_proto" and value in EXTENSIONS and found.get("eth_type", (0, 0))[0] == IP6:
        raise bad_match(of.OFPBMC_BAD_VALUE, f"protocol {value} of IPv6 is an extension header, which the parser passes")
    if not Match(found).allows(field):
        raise bad_match(of.OFPBMC_BAD_PREREQ, f"field {name} needs {_needed(field)} before it")


def _needed(field: Field) -> str:
    return ", ".join(f"{name} {' or '.join(f'{value:#x}' for value in values)}".strip() for name, values in field.needs.items())


def requirements(match: Match, by_type: bool) -> Iterator[Requirement]:
    """What packets of a match hold: they hold one of these. More than one where a field has several places. IP and ARP are told
    by the EtherType, or by bits of SOURCE_HEADERS: which one makes the smaller key depends on the other flows of the table."""
    wanted: dict[int, tuple[int, int]] = {}
    protocol6 = match.value("ip_proto") if match.value("eth_type") == IP6 else None
    for name, (value, mask) in match.fields.items():
        arp = [pair[0] for other, pair in match.fields.items() if name == "eth_type" and other.startswith("arp_")]
        if arp and not (by_type and any(arp)):  # there is ARP that is not of IPv4, and has other fields
            _require(wanted, L.SOURCE_HEADERS, NETWORKS[ARP], NETWORK | ADDRESSES)
        elif name == "eth_type" and value in (IP4, IP6) and not by_type:
            _require(wanted, L.SOURCE_HEADERS, NETWORKS[value], NETWORK | ADDRESSES)
        elif name == "in_port":
            _require(wanted, L.SOURCE_PORT, min(value - 1, 0xFFFF) if value else 0xFFFF, 0xFFFF)
        elif name != "ip_proto" or protocol6 is None:
            _require_field(wanted, match, name, value, mask)
        if FIELDS[name].needs.get("ip_proto"):
            _require(wanted, L.SOURCE_HEADERS, TRANSPORT, TRANSPORT)
    if protocol6 is None:
        yield _without_implied(wanted)
        return
    for container in ("ip6_next", "extension"):
        one = dict(wanted)
        _require(one, PLACES[container][0], protocol6 << 8, 0xFF00)
        yield _without_implied(one)


def _require_field(wanted: dict[int, tuple[int, int]], match: Match, name: str, value: int, mask: int) -> None:
    if name == "vlan_vid" and mask & PRESENT:
        _require(wanted, L.SOURCE_HEADERS, TAG if value & PRESENT else 0, TAG)
        if not value:
            return  # without a tag its container holds 0
    for part in match.place(FIELDS[name]):
        ones = (1 << part.width) - 1
        if bits := mask >> part.at & ones:
            _require(wanted, part.container, (value >> part.at & bits) << part.shift, bits << part.shift)


def _require(wanted: dict[int, tuple[int, int]], source: int, value: int, mask: int) -> None:
    old_value, old_mask = wanted.get(source, (0, 0))
    wanted[source] = old_value | value, old_mask | mask


def _without_implied(wanted: Mapping[int, tuple[int, int]]) -> Requirement:
    value, mask = wanted.get(L.SOURCE_HEADERS, (0, 0))
    implied = 0
    for bits, containers in IMPLIED:
        if any(wanted[container][0] for container in containers & wanted.keys()):
            mask &= ~bits
            implied |= bits
    dropped = {L.SOURCE_HEADERS, *(PLACES["eth_type"] if implied & NETWORK else ())}
    kept = {source: pair for source, pair in wanted.items() if source not in dropped}
    return {**kept, L.SOURCE_HEADERS: (value & mask, mask)} if mask else kept
