# SPDX-License-Identifier: Apache-2.0
"""Packets as flits and back, by the flit layout of a `packet` channel. Metadata as a lane makes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compiler.frontend.typed import Struct, Type
from compiler.interpreter.guard import fields_of


@dataclass(frozen=True)
class Packet:
    """Bytes without FCS, and the time of arrival in microseconds."""

    data: bytes
    time: int = 0


def _meta(flit: Type, lane: int, packet: Packet) -> int:
    assert isinstance(flit, Struct)
    kind = next(field for field in flit.fields if field.name == "meta")
    found = {"ingress_port": lane, "timestamp": packet.time, "length": len(packet.data)}
    value = 0
    for name, (low, bits) in fields_of(kind.type).items():
        value |= (found.get(name, 0) & (1 << bits) - 1) << low
    return value


def to_flits(flit: Type, packet: Packet, lane: int) -> list[int]:
    """The flits of one packet; `meta.timestamp` is its time of arrival."""
    fields = fields_of(flit)
    size = fields["data"][1] // 8
    starts = range(0, len(packet.data), size)
    flits = []
    for start in starts:
        piece = packet.data[start : start + size]
        values = {
            "meta": _meta(flit, lane, packet) if start == 0 else 0,
            "sop": int(start == 0),
            "eop": int(start == starts[-1]),
            "empty": size - len(piece),
            "data": int.from_bytes(piece, "little"),
        }
        flits.append(sum(value << fields[name][0] for name, value in values.items()))
    return flits


def from_flits(flit: Type, flits: Iterable[int]) -> Sequence[tuple[Packet, bool]]:
    """The packets of well-formed flits, each with its `error` bit; one that has no eop yet is left out."""
    fields = fields_of(flit)
    assert isinstance(flit, Struct)
    meta = next(field for field in flit.fields if field.name == "meta")
    time_low, time_bits = fields_of(meta.type)["timestamp"]
    size = fields["data"][1] // 8
    packets, data, time = [], b"", 0
    for value in flits:
        get = {name: value >> low & (1 << bits) - 1 for name, (low, bits) in fields.items()}
        if get["sop"]:
            data, time = b"", get["meta"] >> time_low & (1 << time_bits) - 1
        data += get["data"].to_bytes(size, "little")[: size - get["empty"]]
        if get["eop"]:
            packets.append((Packet(data, time), bool(get["error"])))
    return packets
