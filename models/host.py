# SPDX-License-Identifier: Apache-2.0
"""Reference model of what the shell reads of a packet on its way to the host: hash, receive queue, offsets, checksums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sluice_layouts as layout
from sluice_layouts import Checksum, HashKind, HostInfo, L3Kind, L4Kind, Meta, PhvRecord, TransmitChecksum

from models.flow import flow_key, link_info
from models.packet import parse

# Microsoft's, "Verifying the RSS Hash Calculation".
MICROSOFT_KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
ALL_KINDS = sum(kind for kind in HashKind)


@dataclass
class Lane:
    """How the packets of a lane are spread."""

    kinds: int = 0
    key: bytes = MICROSOFT_KEY
    tables: Mapping[int, Sequence[int]] = field(default_factory=dict)  # the lane's own is 0; queue 0 where there is none

    def queue(self, table: int, entry: int) -> int:
        return self.tables[table][entry] if table in self.tables else 0


def toeplitz(data: bytes, key: bytes) -> int:
    """The hash of the bytes, bit by bit."""
    bits, result = int.from_bytes(key, "big"), 0
    for n in range(8 * len(data)):
        if data[n // 8] >> 7 - n % 8 & 1:
            result ^= bits >> 8 * len(key) - 32 - n & 0xFFFFFFFF
    return result


def ones_sum(data: bytes) -> int:
    """One's complement sum of 16-bit words."""
    total = sum(int.from_bytes(data[n : n + 2].ljust(2, b"\0"), "big") for n in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def fill(packet: bytes, asked: TransmitChecksum) -> tuple[bytes, bool]:
    """A packet of the host as it leaves with its checksums, and whether it asked for one that cannot be (it leaves as it came)."""
    ipv4, kind, l3, l4 = asked.ipv4, asked.l4, asked.l3_offset, asked.l4_offset
    field = l4 + (6 if kind == layout.TRANSMIT_L4_UDP else 16)
    bad = ipv4 and (l3 % 2 or l4 % 2 or l4 < l3 + 20 or l4 > len(packet))
    bad |= kind and (kind > layout.TRANSMIT_L4_UDP or l4 % 2 or field + 2 > len(packet))
    made = bytearray(packet)
    if ipv4 and not bad:
        made[l3 + 10 : l3 + 12] = (0xFFFF - ones_sum(packet[l3:l4])).to_bytes(2, "big")
    if kind and not bad:
        checksum = 0xFFFF - ones_sum(packet[l4:])
        made[field : field + 2] = (checksum or (0xFFFF if kind == layout.TRANSMIT_L4_UDP else 0)).to_bytes(2, "big")
    return bytes(made), bool(bad)


def _hash(record: PhvRecord, lane: Lane) -> tuple[int, int]:
    """The kind of hash that a packet has, and the hash."""
    bits = {L3Kind.L3_IPV4: 32, L3Kind.L3_IPV6: 128}.get(L3Kind(record.info.l3_kind))
    if bits is None:
        return 0, 0
    addresses = b"".join(address.to_bytes(bits // 8, "big") for address in (record.phv.ip_src, record.phv.ip_dst))
    ports = record.phv.l4_src.to_bytes(2, "big") + record.phv.l4_dst.to_bytes(2, "big")
    plain = HashKind.HASH_IPV4 if bits == 32 else HashKind.HASH_IPV6
    shift = {L4Kind.L4_TCP: 1, L4Kind.L4_UDP: 2, L4Kind.L4_SCTP: 3}.get(L4Kind(record.info.l4_kind), 0)
    if shift and not record.info.is_fragment and plain << shift & lane.kinds:
        return plain << shift, toeplitz(addresses + ports, lane.key)
    return (int(plain), toeplitz(addresses, lane.key)) if plain & lane.kinds else (0, 0)


def _checksums(packet: bytes, record: PhvRecord) -> int:
    """Bits of checksum_t."""
    info, found = record.info, 0
    if info.l3_kind == L3Kind.L3_IPV4:
        size = 4 * (packet[info.l3_offset] & 15)
        good = ones_sum(packet[info.l3_offset : info.l3_offset + size]) == 0xFFFF
        found |= Checksum.CHECKSUM_IP_GOOD if good else Checksum.CHECKSUM_IP_BAD
    if info.is_fragment or (info.l3_kind == L3Kind.L3_IPV6 and info.ip_options):
        return found
    l4 = packet[info.l4_offset :][: record.phv.l4_length]
    if info.l4_kind == L4Kind.L4_UDP and (not info.l4_checksum or int.from_bytes(l4[4:6], "big") != len(l4)):
        return found
    if info.l4_kind not in (L4Kind.L4_TCP, L4Kind.L4_UDP):
        return found
    pseudo = record.phv.ip_src.to_bytes(16, "big") + record.phv.ip_dst.to_bytes(16, "big")
    pseudo += len(l4).to_bytes(2, "big") + record.phv.ip_protocol.to_bytes(2, "big")
    good = ones_sum(l4.ljust(len(l4) + len(l4) % 2, b"\0") + pseudo) == 0xFFFF
    return found | (Checksum.CHECKSUM_L4_GOOD if good else Checksum.CHECKSUM_L4_BAD)


def describe(packet: bytes, lane: Lane | None = None, queue: int = 0, queues: int = layout.HOST_QUEUES) -> HostInfo:
    """What the host is told of a packet that came by a lane; None: by no lane. `queue` of its metadata; the device has `queues`."""
    record = parse(packet, Meta(length=len(packet)))
    kind, value = _hash(record, lane or Lane())
    table = queue if lane and queue < layout.RSS_TABLES else 0
    info, spread = record.info, (lane or Lane()).queue(table, value % layout.RSS_ENTRIES) if kind or table else 0
    return HostInfo(
        receive_queue=queue - layout.CHOSEN_QUEUE if 0 <= queue - layout.CHOSEN_QUEUE < queues else spread,
        tags=info.tags,
        l3_kind=info.l3_kind,
        l4_kind=info.l4_kind,
        l3_offset=info.l3_offset,
        l4_offset=info.l4_offset,
        hash_kind=HashKind(kind),
        hash=value,
        checksum_verified=_checksums(packet, record),
        has_key=int(flow_key(record, link_info(packet)) is not None),
        l4_sum=ones_sum(packet[info.l4_offset :][: record.phv.l4_length]) if info.l4_kind else 0,
    )
