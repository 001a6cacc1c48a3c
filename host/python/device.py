# SPDX-License-Identifier: Apache-2.0
"""A device from Python: the calls of `sluice/sluice.h`, errors as exceptions."""

from __future__ import annotations

import ctypes as c
import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sluice_layouts as layouts

from host.build import build as build_library
from host.python.structs import fields, mirror
from shell.sim.build import build as build_device

KEY_BYTES = layouts.KEY_BITS // 8
EDIT_BYTES = layouts.EDIT_DATA_BITS // 8
MAX_PACKET = 65535


class SluiceError(OSError):
    """A call of the library failed: `errno`, and the library's sentence."""


class CAction(c.Structure):
    """struct sluice_action."""

    _fields_ = fields("sluice_action")


class CActionSet(c.Structure):
    """struct sluice_action_set."""

    _fields_ = fields("sluice_action_set", {"sluice_action": CAction})


class CEdit(c.Structure):
    """struct sluice_edit."""

    _fields_ = fields("sluice_edit")


class CRule(c.Structure):
    """struct sluice_rule."""

    _fields_ = fields("sluice_rule", {"sluice_action_set": CActionSet, "sluice_edit": CEdit})


class CInstruction(c.Structure):
    """struct sluice_rule_op."""

    _fields_ = fields("sluice_rule_op", {"sluice_rule": CRule})


class CPacket(c.Structure):
    """struct sluice_packet."""

    _fields_ = fields("sluice_packet")


class CAbi(c.Structure):
    """struct sluice_abi."""

    _fields_ = fields("sluice_abi")


class LaneInfo(c.Structure):
    """struct sluice_lane_info: cycles of a packet that left through a lane."""

    _fields_ = fields("sluice_lane_info")


ABI = CAbi(
    size=c.sizeof(CAbi),
    version=3,
    layouts=layouts.LAYOUT_HASH,
    instruction_size=c.sizeof(CInstruction),
    packet_size=c.sizeof(CPacket),
    outgoing_size=c.sizeof(mirror("sluice_outgoing")),
    lane_info_size=c.sizeof(LaneInfo),
)


@dataclass(frozen=True)
class Received:
    """A packet that the device gave to the host; of a compiled configuration `queue` is the channel."""

    data: bytes
    ingress_port: int
    verdict: int
    fault: int
    mark: int
    timestamp: int
    egress_mask: int = 0
    queue: int = 0
    info: layouts.HostInfo | None = None  # of a device with receive queues
    key: bytes | None = None  # what the flow table matches (FlowKey, zeros behind it); with info.has_key


@dataclass(frozen=True)
class Action:
    """One action of a rule: an opcode, and a short operand; or a field and the long value it is set to."""

    opcode: int
    operand: int = 0
    long_value: int | None = None


def set_field(field: int, value: int) -> Action:
    """SFD of any field, by its long form."""
    return Action(layouts.ACTION_SET_LONG, field << 20, value)


def instruction(
    kind: int,
    table: int,
    rule_id: int = 0xFFFFFFFF,
    *,
    value: int = 0,
    mask: int = 0,
    priority: int = 0,
    actions: Sequence[Action] = (),
) -> CInstruction:
    """An instruction; at most ACTION_SLOTS actions. The rule id is chosen by the library where it is not given."""
    out = CInstruction(kind=kind, table_id=table)
    out.rule.id, out.rule.rule_priority = rule_id, priority
    out.rule.value[:] = value.to_bytes(KEY_BYTES, "little")
    out.rule.mask[:] = mask.to_bytes(KEY_BYTES, "little")
    for slot, action in enumerate(actions):
        out.rule.actions.slots[slot] = CAction(action.opcode, action.operand)
        if action.long_value is not None:
            edit = CEdit(slot=slot)
            edit.value[:] = action.long_value.to_bytes(EDIT_BYTES, "little")
            out.rule.edits[out.rule.edit_count] = edit
            out.rule.edit_count += 1
    return out


def prefix(address: int, length: int, bits: int) -> dict[str, int]:
    """Value, mask and priority of an LPM rule over `bits` bits."""
    mask = ((1 << length) - 1) << (bits - length)
    return {"value": address & mask, "mask": mask, "priority": length}


def load(path: Path | None = None) -> c.CDLL:
    """The compiled library, its error text declared."""
    library = c.CDLL(str(path or build_library()))
    library.sluice_error_text.restype = c.c_char_p
    library.sluice_device_cycles.restype = c.c_uint64
    library.sluice_device_idle.restype = library.sluice_queue_waits.restype = c.c_bool
    return library


def _functional(sizes: Mapping[str, int] | None, more: str) -> str:
    """The options of a functional device for the sizes of shell.sim.build (others are of what it does not have), and more."""
    names = {"lanes": "lanes", "flow_groups": "groups", "flow_group_entries": "entries", "flow_ternary": "ternary"}
    names |= {"host_queues": "queues", "pipeline_units": "pipeline_units", "stateful_units": "stateful_units"}
    return ",".join(
        [*(f"{names[name]}={value}" for name, value in (sizes or {}).items() if name in names), *([more] if more else [])]
    )


def _received(packet: CPacket) -> Received:
    """A copy of a packet that the library shows."""
    metadata = (packet.ingress_port, packet.verdict, packet.fault, packet.mark, packet.timestamp)
    info = layouts.HostInfo(
        **{name: getattr(packet, name) for name in ("receive_queue", "tags", "l3_offset", "l4_offset", "hash", "l4_sum")},
        l3_kind=layouts.L3Kind(packet.l3_kind),
        l4_kind=layouts.L4Kind(packet.l4_kind),
        hash_kind=layouts.HashKind(packet.hash_kind),
        checksum_verified=packet.checksum_verified,
        has_key=int(bool(packet.flow_key)),
    )
    key = c.string_at(packet.flow_key, layouts.BUFFER_KEY_SIZE) if packet.flow_key else None
    return Received(c.string_at(packet.bytes, packet.size), *metadata, packet.egress_mask, packet.queue, info, key)


class Device:
    """A simulated device, closed at the end of a `with`."""

    def __init__(
        self,
        sizes: dict[str, int] | None = None,
        library: c.CDLL | None = None,
        transport: str = "sim",
        graph: Mapping[str, str] | None = None,
        options: str = "",
    ) -> None:
        """`transport`: `sim`, in this process, `sim-process`, in one of its own, or `functional`, which has more `options`; `graph`
        as of shell.sim.build."""
        self.library = library or load()
        self.handle = c.c_void_p()
        self.simulated = None if transport == "functional" else build_device(sizes, graph=graph)  # its library
        which = f"lib={self.simulated}" if self.simulated else _functional(sizes, options)
        self.call("sluice_device_open_abi", f"{transport}:{which}".encode(), c.byref(self.handle), c.byref(ABI), device=False)
        self._buffer = (c.c_uint8 * MAX_PACKET)()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close; the object is not to be used any more."""
        if self.handle:
            self.library.sluice_device_close(self.handle)
            self.handle = c.c_void_p()

    def call(self, name: str, *arguments: Any, device: bool = True, allow: Sequence[int] = ()) -> int:
        """Call a function of the library; a negative errno that is not in `allow` raises SluiceError."""
        function = getattr(self.library, name)
        result = int(function(self.handle, *arguments) if device else function(*arguments))
        if result < 0 and -result not in allow:
            text = self.library.sluice_error_text().decode()
            raise SluiceError(-result, f"{os.strerror(-result)}: {text}")
        return result

    @property
    def lanes(self) -> int:
        return int(self.library.sluice_device_lanes(self.handle))

    @property
    def host_lanes(self) -> int:
        """Lanes to a NIC, behind the others; 0 where the host's side is the rings."""
        return int(self.library.sluice_device_host_lanes(self.handle))

    @property
    def cycles(self) -> int:
        return int(self.library.sluice_device_cycles(self.handle))

    def advance(self, cycles: int) -> None:
        """Let cycles pass."""
        self.library.sluice_device_advance(self.handle, c.c_uint32(cycles))

    def settle(self, limit: int = 100_000) -> None:
        """Let time pass until the device is empty; TimeoutError after `limit` cycles."""
        for _ in range(limit // 16):
            if self.library.sluice_device_idle(self.handle):
                return
            self.advance(16)
        raise TimeoutError(f"the device is not idle after {limit} cycles")

    def read(self, address: int) -> int:
        """A register."""
        value = c.c_uint32()
        self.call("sluice_register_read", c.c_uint32(address), c.byref(value))
        return value.value

    def write(self, address: int, value: int) -> None:
        """A register."""
        self.call("sluice_register_write", c.c_uint32(address), c.c_uint32(value))

    def write_all(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Writes words to addresses, in order."""
        for address, value in pairs:
            self.write(address, value)

    def lane_send(self, lane: int, data: bytes, bad: bool = False) -> bool:
        """Put a packet before a lane; False: enough are waiting."""
        return self.call("sluice_lane_send", lane, data, len(data), int(bad), allow=[errno.EAGAIN]) == 0

    def lane_receive(self, lane: int) -> tuple[bytes, LaneInfo] | None:
        """A packet that left through a lane, or None."""
        info = LaneInfo()
        size = self.call("sluice_lane_receive", lane, self._buffer, MAX_PACKET, c.byref(info), allow=[errno.EAGAIN])
        return (bytes(self._buffer[:size]), info) if size >= 0 else None

    @property
    def queues(self) -> int:
        """Receive queues of each lane; 0: none."""
        return int(self.library.sluice_device_queues(self.handle))

    def receive(self) -> Received | None:
        """The oldest packet for the host, or None."""
        packet = CPacket()
        if not self.library.sluice_packet_receive(self.handle, c.byref(packet)):
            return None
        got = _received(packet)
        self.library.sluice_packet_release(self.handle)
        return got

    def queue(self, lane: int, queue: int, buffers: int = 0) -> c.c_void_p:
        """Open a receive queue with a ring of so many buffers, or more; from then on nothing comes by `receive`."""
        handle = c.c_void_p()
        self.call("sluice_queue_open", lane, queue, buffers, c.byref(handle))
        return handle

    def poll(self, queue: c.c_void_p, count: int = 32) -> list[Received]:
        """What waits in a queue, `count` at most."""
        packets = (CPacket * count)()
        found = self.library.sluice_queue_receive(queue, packets, count)
        got = [_received(packets[n]) for n in range(found)]
        self.library.sluice_queue_release(queue)
        return got

    def spread(self, lane: int, kinds: int, key: bytes, tables: Mapping[int, Sequence[int]]) -> None:
        """How the packets of a lane are spread over its queues: by table 0, or by another that a rule chose."""
        self.call("sluice_spread_set_key", lane, key)
        for number, table in tables.items():
            for entry, queue in enumerate(table):
                self.call("sluice_spread_set_entry", lane, number, entry, queue)
        self.call("sluice_spread_set_kinds", lane, c.c_uint8(kinds))

    def send(self, data: bytes, mask: int, queue: int = 0) -> None:
        """Send a packet of the host's out of the lanes of a mask."""
        self.call("sluice_packet_send", data, len(data), c.c_uint8(mask), c.c_uint8(queue))

    def channel_send(self, channel: int, packet: Received) -> bool:
        """Send into a channel of a compiled configuration: bytes and metadata but verdict and queue. False: the ring is full."""
        given = CPacket(
            size=len(packet.data),
            ingress_port=packet.ingress_port,
            egress_mask=packet.egress_mask,
            fault=packet.fault,
            mark=packet.mark,
            timestamp=packet.timestamp,
        )
        given.bytes = c.cast(c.c_char_p(packet.data), c.POINTER(c.c_uint8))
        return self.call("sluice_channel_send", channel, c.byref(given), allow=[errno.EAGAIN]) == 0

    def template(self, index: int, data: bytes) -> None:
        """Store a header template; b"" removes it."""
        self.call("sluice_template_set", c.c_uint32(index), data, len(data))

    def rule(self, ofu: int, what: CInstruction) -> int:
        """One instruction; the rule id."""
        self.call("sluice_rule_ops", c.c_uint16(ofu), c.byref(what))
        return int(what.rule.id)

    def rule_counters(self, ofu: int, table: int, rule_id: int) -> tuple[int, int, int]:
        """Packets, bytes and last hit (microseconds) of a rule."""
        memory = (c.c_uint64 * 4)()
        self.call("sluice_rule_counters_read", c.c_uint16(ofu), c.c_uint8(table), c.c_uint32(rule_id), memory)
        # struct sluice_rule_counters: uint32_t last_hit; uint64_t bytes; uint64_t packets
        return int(memory[2]), int(memory[1]), int(memory[0] & 0xFFFFFFFF)

    def counters(self, kind: str, lane: int = 0) -> layouts.Layout:
        """The counters of a lane, of the host path or of the graph (`kind`: lane, host, graph)."""
        records: dict[str, type[layouts.Layout]] = {
            "lane": layouts.LaneCounters,
            "host": layouts.HostCounters,
            "graph": layouts.GraphCounters,
        }
        layout = records[kind]
        memory = c.create_string_buffer(layout.BITS // 8)  # the struct in C has no gaps
        self.call(f"sluice_{kind}_counters_read", *([c.c_uint(lane)] if kind == "lane" else []), memory)
        return layout.unpack(memory.raw)
