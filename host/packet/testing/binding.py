# SPDX-License-Identifier: Apache-2.0
"""The packet code for Python tests: records and packets as bytes and as the generated layouts. Errors raise OSError."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence

import sluice_layouts as layouts

from host.build import HOST, c_files, compile_c
from host.python.structs import fields
from toolchain import ROOT

GROWTH = 4 * layouts.MAX_TAGS + layouts.TEMPLATE_BYTES


class TemplateInfo(ctypes.Structure):
    """`struct sluice_template_info`, of which the tests read the size."""

    _fields_ = fields("sluice_template_info")


class Template(ctypes.Structure):
    """`struct sluice_template`."""

    _fields_ = fields("sluice_template", {"sluice_template_info": TemplateInfo})


class Own(ctypes.Structure):
    """`struct sluice_own`."""

    _fields_ = fields("sluice_own")

    def __init__(self, mac: int, ipv4: int | None, ipv6: int | None) -> None:
        four, six = ((ctypes.c_uint8 * n)(*(address or 0).to_bytes(n, "little")) for n, address in ((4, ipv4), (16, ipv6)))
        super().__init__(mac, ipv4 is not None, ipv6 is not None, four, six)


@functools.cache
def library() -> ctypes.CDLL:
    """The library: the packet code, and its functions on bytes."""
    sources = [*c_files(["packet"]), HOST / "packet" / "testing" / "bytes.c"]
    return ctypes.CDLL(str(compile_c("packet-{}.so", ["-O2", "-fPIC", "-shared"], sources)))


def parse(packet: bytes, own: Own | None = None) -> layouts.PhvRecord:
    """sluice_parse."""
    out = ctypes.create_string_buffer((layouts.PhvRecord.BITS + 7) // 8)
    library().sluice_bytes_parse(packet, len(packet), ctypes.byref(own) if own else None, out)
    return layouts.PhvRecord.unpack(out.raw)


def execute(record: layouts.PhvRecord, actions: layouts.ActionSet, edit_data: Sequence[int]) -> layouts.PhvRecord:
    """sluice_actions_execute on a copy."""
    packed = record.pack()
    buffer = ctypes.create_string_buffer(packed, len(packed))
    data = b"".join(value.to_bytes(16, "little") for value in edit_data)
    library().sluice_bytes_execute(buffer, actions.pack(), data, len(edit_data))
    return layouts.PhvRecord.unpack(buffer.raw)


def template(data: bytes) -> tuple[layouts.TemplateInfo, bytes]:
    """sluice_template_make; OSError where it answers an error."""
    info, out = ctypes.create_string_buffer((layouts.TemplateInfo.BITS + 7) // 8), ctypes.create_string_buffer(max(len(data), 1))
    status = library().sluice_bytes_template(data, len(data), info, out)
    if status:
        raise OSError(-status, os.strerror(-status))
    return layouts.TemplateInfo.unpack(info.raw), out.raw[: len(data)]


def deparse(
    record: layouts.PhvRecord,
    packet: bytes,
    capacity: int | None = None,
    templates: Sequence[tuple[layouts.TemplateInfo, bytes]] = (),
) -> bytes:
    """sluice_deparse; OSError where it answers an error."""
    room = len(packet) + GROWTH if capacity is None else capacity
    out = ctypes.create_string_buffer(max(room, 1))
    stored = b"".join(info.pack() + data.ljust(layouts.TEMPLATE_BYTES, b"\0") for info, data in templates)
    size = library().sluice_bytes_deparse(record.pack(), stored, len(templates), packet, len(packet), out, room)
    if size < 0:
        raise OSError(-size, os.strerror(-size))
    return out.raw[:size]


def captured(limit: int | None = None) -> list[tuple[int, bytes]]:
    """Packets of the captures in testing/captures, (lane, packet), lane after lane; `limit` of each."""
    import lzma

    from scapy.utils import RawPcapReader

    packets = []
    for path in sorted((ROOT / "testing" / "captures").glob("lane*.pcap.xz")):
        with lzma.open(path) as file:
            found = [bytes(packet) for packet, _ in RawPcapReader(file)]  # type: ignore[arg-type]
        packets += [(int(path.name[4]), packet) for packet in found[:limit]]
    return packets
