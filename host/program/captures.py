# SPDX-License-Identifier: Apache-2.0
"""Captures as packets of the interpreter, and back."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compiler.interpreter.packets import Packet
from host.program import InputError


def read_capture(path: Path) -> list[Packet]:
    """The packets of a pcap or pcapng file of Ethernet. Raises InputError."""
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    try:
        with RawPcapReader(str(path)) as reader:
            return [Packet(data, _microseconds(meta)) for data, meta in reader]
    except (Scapy_Exception, OSError, EOFError) as error:
        raise InputError(f"{path}: {error}") from error


def _microseconds(meta: Any) -> int:
    if hasattr(meta, "sec"):
        return int(meta.sec) * 1_000_000 + int(meta.usec)
    ticks = int(meta.tshigh or 0) << 32 | int(meta.tslow or 0)
    return ticks * 1_000_000 // int(meta.tsresol or 1_000_000)


def write_capture(path: Path, packets: Sequence[Packet]) -> None:
    """A pcap of Ethernet, written whole or not at all; what is no regular file is written as it is."""
    from scapy.utils import RawPcapWriter

    is_file = path.is_file() or not path.exists()
    unfinished = path.with_name(f"{path.name}.unfinished") if is_file else path
    with RawPcapWriter(str(unfinished), linktype=1, sync=False) as writer:
        writer.write_header(None)
        for packet in packets:
            writer.write_packet(packet.data, sec=packet.time // 1_000_000, usec=packet.time % 1_000_000)
    if is_file:
        unfinished.replace(path.resolve())


def write_split(path: Path, parts: Sequence[Path]) -> None:
    """The packets of a capture by flow, as a port with several queues has them: all of a flow in one part. Raises InputError where
    a part would be empty."""
    split: list[list[Packet]] = [[] for _ in parts]
    for packet in read_capture(path):
        data = packet.data
        flow = data[26:38] if data[12:14] == b"\x08\x00" else data[:12]
        split[zlib.crc32(flow) % len(parts)].append(packet)
    if not all(split):
        raise InputError(f"{path}: its flows are too few for {len(parts)} threads")
    for part, packets in zip(parts, split, strict=True):
        write_capture(part, packets)
