# SPDX-License-Identifier: Apache-2.0
"""Reference model of the header templates: how one is made from the bytes of its headers, and what goes in front of a packet.
The text of `elements/deparse/README.md`, "Header templates", in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice_layouts import Phv, PhvRecord, TemplateInfo


def _fold(total: int) -> int:
    """A one's complement sum in 16 bits."""
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@dataclass(frozen=True)
class Template:
    """Headers that go in front of a packet, and where they are repaired."""

    data: bytes
    info: TemplateInfo


def template(data: bytes) -> Template:
    """The template of these headers, from Ethernet on: what is repaired is found by parsing them."""
    out, info = bytearray(data), TemplateInfo(size=len(data))
    ip = 14
    while data[ip - 2 : ip] in (b"\x81\x00", b"\x88\xa8", b"\x91\x00"):
        ip += 4
    kind, version, protocol, l4 = data[ip - 2 : ip], data[ip] >> 4 if len(data) > ip else 0, None, 0
    if kind == b"\x08\x00" and version == 4 and data[ip] % 16 >= 5 and len(data) >= ip + data[ip] % 16 * 4:
        l4, protocol = ip + data[ip] % 16 * 4, data[ip + 9]
        out[ip + 2 : ip + 4] = out[ip + 10 : ip + 12] = bytes(2)
        total = sum(int.from_bytes(out[n : n + 2], "big") for n in range(ip, l4, 2))
        info.is_ipv4, info.ip_place, info.ip_sum = 1, ip // 2, _fold(total)
    elif kind == b"\x86\xdd" and version == 6 and len(data) >= ip + 40:
        l4, protocol = ip + 40, data[ip + 6]
        out[ip + 4 : ip + 6] = bytes(2)
        info.is_ipv6, info.ip_place = 1, ip // 2
    if protocol == 17 and len(data) >= l4 + 8:
        out[l4 : l4 + 2] = out[l4 + 4 : l4 + 6] = out[l4 + 6 : l4 + 8] = bytes(2)
        info.has_udp, info.udp_place = 1, l4 // 2
        if data[l4 + 2 : l4 + 4] in ((4789).to_bytes(2, "big"), (6081).to_bytes(2, "big")) and len(data) >= l4 + 16:
            info.has_id, info.id_place = 1, l4 // 2 + 6
    if protocol == 47 and len(data) >= l4 + 8 and data[l4] & 0xB0 == 0x20 and data[l4 + 2 : l4 + 4] == b"\x65\x58":
        info.has_id, info.id_place = 1, l4 // 2 + 2
    return Template(bytes(out), info)


def crc16(data: bytes) -> int:
    """CRC-16, polynomial 0x1021, from 0."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 & 0xFFFF ^ (0x1021 if crc & 0x8000 else 0)
    return crc


def entropy(phv: Phv) -> int:
    """The UDP source port of a tunnel: the same for all packets of a flow."""
    key = phv.ip_src.to_bytes(16, "big") + phv.ip_dst.to_bytes(16, "big") + phv.ip_protocol.to_bytes(1, "big")
    return 0xC000 | crc16(key + phv.l4_src.to_bytes(2, "big") + phv.l4_dst.to_bytes(2, "big")) & 0x3FFF


def front(of: Template, record: PhvRecord, length: int) -> bytes:
    """A template, repaired for a packet of `length` bytes. The reader of a hostile template: nothing behind its end."""
    info, out = of.info, bytearray(of.data)

    def put(place: int, value: bytes) -> None:
        for n, byte in enumerate(value):
            if 2 * place + n < len(out):
                out[2 * place + n] = byte

    def rest(place: int) -> int:
        return length + len(out) - 2 * place

    if info.has_udp:
        put(info.udp_place, entropy(record.phv).to_bytes(2, "big"))
        put(info.udp_place + 2, (rest(info.udp_place) & 0xFFFF).to_bytes(2, "big"))
    total = rest(info.ip_place) - (40 if info.is_ipv6 else 0) & 0xFFFF
    if info.is_ipv4 or info.is_ipv6:
        put(info.ip_place + (1 if info.is_ipv4 else 2), total.to_bytes(2, "big"))
    if info.is_ipv4:
        put(info.ip_place + 5, (_fold(info.ip_sum + total) ^ 0xFFFF).to_bytes(2, "big"))
    if info.has_id and record.edits.write_tunnel_id:
        put(info.id_place, record.phv.tunnel_id.to_bytes(3, "big"))
    return bytes(out)
