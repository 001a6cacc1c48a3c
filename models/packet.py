# SPDX-License-Identifier: Apache-2.0
"""Reference models of the parser and the deparser, on bytes: plain and slow, the text of `elements/parse/README.md` and
`elements/deparse/README.md` in Python. Also packets as flits and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import sluice_layouts as layout
from sluice_layouts import DATA_BYTES, Fault, Flit, HeaderInfo, L3Kind, L4Kind, Meta, Phv, PhvRecord, TunnelKind, Verdict

from models.template import Template, front

FAULTS = frozenset(Fault) - {Fault.FAULT_PROGRAM}  # of the fixed parser
TAG_TYPES = (0x8100, 0x88A8, 0x9100)
EXTENSIONS = (0, 43, 44, 51, 60, 135)
MAX_OUTER = 126


class _Stop(Exception):
    """The parser stops, with a fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.name)
        self.fault = fault


@dataclass(frozen=True)
class Own:
    """The device's own addresses: tunnels to them are opened. `lane_mac`: lane n at n, 0: none; None: there is none."""

    lane_mac: tuple[int, ...] = ()
    ipv4: int | None = None
    ipv6: int | None = None

    def has(self, record: PhvRecord) -> bool:
        """A packet was sent to the device itself."""
        lane, phv = record.ingress_port, record.phv
        address = {L3Kind.L3_IPV4: self.ipv4, L3Kind.L3_IPV6: self.ipv6}.get(L3Kind(record.info.l3_kind))
        return lane < len(self.lane_mac) and phv.eth_dst == self.lane_mac[lane] != 0 and phv.ip_dst == address


@dataclass(frozen=True)
class _Tunnel:
    """A sound tunnel header: where its inner Ethernet header starts, and where what it carries ends."""

    kind: TunnelKind
    id: int
    start: int
    end: int


class _Parser:
    """One packet on its way through the parser."""

    def __init__(self, packet: bytes, meta: Meta, window: int = layout.WINDOW_BYTES) -> None:
        self.packet = packet
        self.length = meta.length
        self.limit = meta.length
        self.window = window
        self.at = 0  # the header behind the network headers
        self.phv = Phv()
        self.info = HeaderInfo()
        self.record = PhvRecord(
            phv=self.phv,
            info=self.info,
            ingress_port=meta.ingress_port,
            length=meta.length,
            mark=meta.mark,
            queue=meta.queue,
        )

    def byte(self, at: int) -> int:
        return self.packet[at]

    def be(self, at: int, size: int) -> int:
        return int.from_bytes(self.packet[at : at + size], "big")

    def need(self, end: int) -> None:
        if end > self.limit:
            raise _Stop(Fault.FAULT_TRUNCATED)
        if end > self.window:
            raise _Stop(Fault.FAULT_WINDOW)

    def ethernet(self) -> None:
        self.need(14)
        self.phv.eth_dst, self.phv.eth_src = self.be(0, 6), self.be(6, 6)
        kind, offset = self.be(12, 2), 14
        try:
            while kind in TAG_TYPES:
                if self.info.tags == layout.MAX_TAGS:
                    raise _Stop(Fault.FAULT_TAGS)
                self.need(offset + 4)
                tag = self.be(offset, 2)
                if self.info.tags == 0:
                    self.phv.vlan0_tci = tag
                else:
                    self.phv.vlan1_tci = tag
                kind, offset = self.be(offset + 2, 2), offset + 4
                self.info.tags += 1
        finally:
            self.phv.eth_type = kind if kind >= 0x0600 else 0
            self.info.l3_offset = self.info.header_length = offset
            self.record.edits.tags = self.info.tags
        self.network(kind, offset)

    def network(self, kind: int, offset: int) -> None:
        match kind:
            case 0x0800:
                self.ipv4(offset)
            case 0x86DD:
                self.ipv6(offset)
            case 0x0806:
                self.need(offset + 28)
                self.info.l3_kind = L3Kind.L3_ARP
                self.info.header_length = offset + 28
            case 0x8847 | 0x8848:
                raise _Stop(Fault.FAULT_MPLS)

    def ipv4(self, at: int) -> None:
        self.need(at + 20)
        if self.byte(at) >> 4 != 4:
            raise _Stop(Fault.FAULT_VERSION)
        size, total = self.byte(at) % 16 * 4, self.be(at + 2, 2)
        if size < 20:
            raise _Stop(Fault.FAULT_HEADER_SIZE)
        self.need(at + size)
        if total < size or total > self.length - at:
            raise _Stop(Fault.FAULT_LENGTH)
        phv, info = self.phv, self.info
        info.l3_kind, info.ip_options, info.ip_checksum = L3Kind.L3_IPV4, int(size > 20), self.be(at + 10, 2)
        phv.ip_tos, phv.ip_ttl, phv.ip_protocol = self.byte(at + 1), self.byte(at + 8), self.byte(at + 9)
        phv.ip_src, phv.ip_dst = self.be(at + 12, 4), self.be(at + 16, 4)
        phv.ip_fragment = self.be(at + 6, 2) & 0x3FFF
        info.is_fragment = int(phv.ip_fragment != 0)
        info.header_length = at + size
        self.limit = at + total
        self.transport(at + size)

    def ipv6(self, at: int) -> None:
        self.need(at + 40)
        if self.byte(at) >> 4 != 6:
            raise _Stop(Fault.FAULT_VERSION)
        if 40 + self.be(at + 4, 2) > self.length - at:
            raise _Stop(Fault.FAULT_LENGTH)
        phv, info = self.phv, self.info
        info.l3_kind = L3Kind.L3_IPV6
        phv.ip_tos, phv.ip_protocol, phv.ip_ttl = self.be(at, 2) >> 4 & 0xFF, self.byte(at + 6), self.byte(at + 7)
        phv.ip_src, phv.ip_dst = self.be(at + 8, 16), self.be(at + 24, 16)
        info.header_length = at + 40
        self.limit = at + 40 + self.be(at + 4, 2)
        self.transport(self.chain(at + 40))

    def chain(self, cursor: int) -> int:
        phv, info, count = self.phv, self.info, 0
        while phv.ip_protocol in EXTENSIONS and phv.ip_fragment & 0x1FFF == 0:
            if count == layout.MAX_EXTENSIONS:
                raise _Stop(Fault.FAULT_CHAIN)
            self.need(cursor + 8)
            is_fragment_header = phv.ip_protocol == 44
            match phv.ip_protocol:
                case 44:
                    size = 8
                case 51:
                    size = (self.byte(cursor + 1) + 2) * 4
                case _:
                    size = (self.byte(cursor + 1) + 1) * 8
            self.need(cursor + size)
            if is_fragment_header:
                word = self.be(cursor + 2, 2)
                phv.ip_fragment = (word & 1) << 13 | word >> 3
                info.is_fragment |= int(phv.ip_fragment != 0)
            phv.ip_protocol, info.ip_options = self.byte(cursor), 1
            cursor += size
            count += 1
            info.header_length = cursor
        return cursor

    def transport(self, at: int) -> None:
        phv, info = self.phv, self.info
        self.at = at
        if phv.ip_fragment & 0x1FFF:
            return
        over_ipv4 = info.l3_kind == L3Kind.L3_IPV4
        available = self.limit - at
        match phv.ip_protocol:
            case 6:
                self.need(at + 20)
                size = self.byte(at + 12) // 16 * 4
                if size < 20:
                    raise _Stop(Fault.FAULT_HEADER_SIZE)
                self.need(at + size)
                info.l4_kind, info.l4_checksum = L4Kind.L4_TCP, self.be(at + 16, 2)
                phv.tcp_flags = self.byte(at + 13)
            case 17:
                self.need(at + 8)
                size, length = 8, self.be(at + 4, 2)
                if length < 8 or (not info.is_fragment and length > available):
                    raise _Stop(Fault.FAULT_LENGTH)
                info.l4_kind, info.l4_checksum = L4Kind.L4_UDP, self.be(at + 6, 2)
            case 132:
                self.need(at + 12)
                size = 12
                info.l4_kind = L4Kind.L4_SCTP
            case 1 | 58 if over_ipv4 == (phv.ip_protocol == 1):
                self.need(at + 4)
                size = 4
                info.l4_kind = L4Kind.L4_ICMP if over_ipv4 else L4Kind.L4_ICMPV6
                info.l4_checksum = self.be(at + 2, 2)
            case _:
                return
        if info.l4_kind in (L4Kind.L4_ICMP, L4Kind.L4_ICMPV6):
            phv.l4_src, phv.l4_dst = self.byte(at), self.byte(at + 1)
        else:
            phv.l4_src, phv.l4_dst = self.be(at, 2), self.be(at + 2, 2)
        phv.l4_length, info.l4_offset, info.header_length = available, at, at + size

    def run(self) -> None:
        """Read one stack of headers."""
        try:
            self.ethernet()
        except _Stop as stop:
            self.record.fault = stop.fault

    def tunnel(self) -> _Tunnel | None:
        """The tunnel header behind this stack, if there is a sound one."""
        at, limit, is_udp = self.at, self.limit, self.info.l4_kind == L4Kind.L4_UDP
        if self.record.fault or self.info.is_fragment:
            return None
        if is_udp:
            limit = at + self.be(at + 4, 2)
            at += 8
        if at + (8 if is_udp else 4) > limit:
            return None
        first, key = self.be(at, 4), at + 4
        if is_udp and self.phv.l4_dst == layout.VXLAN_PORT:
            found, start, sound = TunnelKind.TUNNEL_VXLAN, at + 8, first & 0x0800_0000 != 0
        elif is_udp and self.phv.l4_dst == layout.GENEVE_PORT:
            found, start, sound = TunnelKind.TUNNEL_GENEVE, at + 8 + 4 * (first >> 24 & 0x3F), first & 0xC0C0_FFFF == 0x6558
        elif not is_udp and self.phv.ip_protocol == 47:
            has_sum, has_key, has_sequence = (first >> n & 1 for n in (31, 29, 28))
            found = TunnelKind.TUNNEL_NVGRE if has_key else TunnelKind.TUNNEL_GRE
            start, key = at + 4 * (1 + has_sum + has_key + has_sequence), at + 4 + 4 * has_sum if has_key else 0
            sound = first & 0x4C07_FFFF == 0x6558
        else:
            return None
        if not sound or start > limit or start > MAX_OUTER:
            return None
        return _Tunnel(found, self.be(key, 3) if key else 0, start, limit)


def parse(packet: bytes, meta: Meta, own: Own = Own()) -> PhvRecord:
    """The record that the parser sends for a packet; `meta.length` is believed."""
    outer = _Parser(packet, meta)
    outer.run()
    tunnel = outer.tunnel() if own.has(outer.record) else None
    if not tunnel:
        return outer.record
    inside = replace(meta, length=tunnel.end - tunnel.start)
    inner = _Parser(packet[tunnel.start :], inside, layout.WINDOW_BYTES - tunnel.start)
    inner.run()
    inner.phv.tunnel_kind, inner.phv.tunnel_id = tunnel.kind, tunnel.id
    inner.phv.outer_src, inner.phv.outer_dst = (a & (1 << 64) - 1 for a in (outer.phv.ip_src, outer.phv.ip_dst))
    inner.info.outer_length, inner.record.length = tunnel.start, meta.length
    return inner.record


def to_flits(packet: bytes, meta: Meta, error: bool = False) -> list[Flit]:
    """A packet as flits."""
    flits = []
    for at in range(0, len(packet), DATA_BYTES):
        part = packet[at : at + DATA_BYTES]
        last = at + DATA_BYTES >= len(packet)
        flits.append(
            Flit(
                meta=meta if at == 0 else Meta(),
                error=int(error and last),
                eop=int(last),
                sop=int(at == 0),
                empty=DATA_BYTES - len(part),
                data=int.from_bytes(part, "little"),
            )
        )
    return flits


@dataclass(frozen=True)
class Received:
    """A packet put together from flits."""

    data: bytes
    meta: Meta
    error: bool


def from_flits(flits: Iterable[Flit]) -> list[Received]:
    """Packets from flits; raises ValueError where the rules of `flit_t` are broken."""
    packets: list[Received] = []
    parts: list[bytes] = []
    meta = Meta()
    for flit in flits:
        if bool(flit.sop) != (not parts):
            raise ValueError("sop at the wrong place")
        if parts and flit.meta != Meta():
            raise ValueError("metadata behind the first flit")
        if not flit.eop and (flit.empty or flit.error):
            raise ValueError("empty or error before the end")
        meta = flit.meta if flit.sop else meta
        data = flit.data.to_bytes(DATA_BYTES, "little")
        if any(data[DATA_BYTES - flit.empty :]):
            raise ValueError("bytes behind the end are not 0")
        parts.append(data[: DATA_BYTES - flit.empty])
        if flit.eop:
            packets.append(Received(b"".join(parts), meta, bool(flit.error)))
            parts = []
    if parts:
        raise ValueError("a packet without an end")
    return packets


@dataclass(frozen=True)
class Outcome:
    """What the deparser makes of a packet; `data` is None where it is dropped, `error`: marked bad at its end. `events`: names
    in `deparse_event_t`."""

    data: bytes | None
    meta: Meta
    events: frozenset[str]
    error: bool = False


def _ones_complement(old: int, delta: int) -> int:
    """RFC 1624: the checksum after a change of `delta` under it."""
    total = (old ^ 0xFFFF) + delta
    return ((total & 0xFFFF) + (total >> 16)) ^ 0xFFFF


def _edited(packet: bytes, record: PhvRecord) -> bytes:
    phv, info, edits = record.phv, record.info, record.edits
    if edits.strip_outer:
        packet = packet[info.outer_length :]
    tcis = (phv.vlan0_tci, phv.vlan1_tci)
    inserted = b"".join(
        (0x88A8 if edits.service_tag >> n & 1 else 0x8100).to_bytes(2, "big") + tcis[n].to_bytes(2, "big")
        for n in range(edits.pushed)
    )
    data = bytearray(packet[:12] + inserted + packet[12 + 4 * edits.popped :])

    def put(at: int, size: int, value: int) -> None:
        data[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "big")

    def dirty(field: layout.Field) -> bool:
        return bool(edits.dirty >> field & 1)

    ip = 14 + 4 * edits.tags
    l4 = info.l4_offset + 4 * (edits.pushed - edits.popped)
    is_ipv4, is_ipv6 = info.l3_kind == L3Kind.L3_IPV4, info.l3_kind == L3Kind.L3_IPV6
    has_ports = info.l4_kind in (L4Kind.L4_TCP, L4Kind.L4_UDP)
    moved = bool(edits.pushed or edits.popped)
    places = [
        (layout.Field.FIELD_ETH_TYPE, True, ip - 2, 2, phv.eth_type),
        (layout.Field.FIELD_IP_SRC, is_ipv4, ip + 12, 4, phv.ip_src),
        (layout.Field.FIELD_IP_DST, is_ipv4, ip + 16, 4, phv.ip_dst),
        (layout.Field.FIELD_IP_TOS, is_ipv4, ip + 1, 1, phv.ip_tos),
        (layout.Field.FIELD_IP_TTL, is_ipv4, ip + 8, 1, phv.ip_ttl),
        (layout.Field.FIELD_IP_SRC, is_ipv6, ip + 8, 16, phv.ip_src),
        (layout.Field.FIELD_IP_DST, is_ipv6, ip + 24, 16, phv.ip_dst),
        (layout.Field.FIELD_IP_TTL, is_ipv6, ip + 7, 1, phv.ip_ttl),
        (layout.Field.FIELD_L4_SRC, has_ports, l4, 2, phv.l4_src),
        (layout.Field.FIELD_L4_DST, has_ports, l4 + 2, 2, phv.l4_dst),
    ]
    if moved or dirty(layout.Field.FIELD_ETH_DST):
        put(0, 6, phv.eth_dst)
    if moved or dirty(layout.Field.FIELD_ETH_SRC):
        put(6, 6, phv.eth_src)
    for n, field in enumerate((layout.Field.FIELD_VLAN0_TCI, layout.Field.FIELD_VLAN1_TCI)):
        if n < edits.tags and dirty(field):
            put(14 + 4 * n, 2, tcis[n])
    for field, present, at, size, value in places:
        if present and dirty(field):
            put(at, size, value)
    if is_ipv6 and dirty(layout.Field.FIELD_IP_TOS):
        put(ip, 2, int.from_bytes(data[ip : ip + 2], "big") & 0xF00F | phv.ip_tos << 4)
    if edits.checksums:
        if is_ipv4 and edits.ip_delta:
            put(ip + 10, 2, _ones_complement(info.ip_checksum, edits.ip_delta))
        place = {L4Kind.L4_TCP: 16, L4Kind.L4_UDP: 6, L4Kind.L4_ICMPV6: 2}.get(L4Kind(info.l4_kind))
        is_udp = info.l4_kind == L4Kind.L4_UDP
        if place is not None and edits.l4_delta and not (is_udp and info.l4_checksum == 0):
            new = _ones_complement(info.l4_checksum, edits.l4_delta)
            put(l4 + place, 2, 0xFFFF if is_udp and new == 0 else new)
    return bytes(data)


def deparse(packet: bytes, meta: Meta, record: PhvRecord, templates: Mapping[int, Template] | None = None) -> Outcome:
    """What the deparser makes of a packet and its record."""
    host = replace(meta, verdict=Verdict.VERDICT_TO_HOST, fault=record.fault, egress_mask=1 << layout.HOST_PORT)
    is_wrapped = record.info.outer_length != 0 and not record.edits.strip_outer
    if record.fault:
        return Outcome(packet, host, frozenset({"to_host", "fault"}))
    if not record.eligible:
        return Outcome(packet, host, frozenset({"to_host", "not_eligible"}))
    if record.hits == 0 or record.required & ~record.hits:
        return Outcome(packet, host, frozenset({"to_host", "miss"}))
    if record.verdict == Verdict.VERDICT_DROP:
        causes = {layout.DropCause.DROP_TTL: "drop_ttl", layout.DropCause.DROP_NO_PORT: "drop_no_port"}
        return Outcome(None, meta, frozenset({causes.get(layout.DropCause(record.drop_cause), "drop_rule")}))
    if record.verdict == Verdict.VERDICT_FORWARD and record.egress_mask == 0:
        return Outcome(None, meta, frozenset({"drop_no_port"}))
    if record.verdict == Verdict.VERDICT_FORWARD and is_wrapped:
        return Outcome(packet, host, frozenset({"to_host", "not_stripped"}))
    data = packet if is_wrapped else _edited(packet, record)
    encapsulate = record.edits.encapsulate and not is_wrapped
    found = (templates or {}).get(record.edits.template_index)
    if encapsulate and found:
        data = front(found, record, len(data)) + data
    done = replace(host, mark=record.mark, queue=record.queue, length=len(data) & 0xFFFF)
    events = frozenset({"to_host"})
    if record.verdict == Verdict.VERDICT_FORWARD:
        done, events = replace(done, verdict=Verdict.VERDICT_FORWARD, egress_mask=record.egress_mask), frozenset({"forwarded"})
    if record.verdict == Verdict.VERDICT_TO_CONTROLLER:
        done = replace(done, verdict=Verdict.VERDICT_TO_CONTROLLER)
    return Outcome(data, done, events, bool(encapsulate and not found))
