# SPDX-License-Identifier: Apache-2.0
"""The software switch for Python tests: packets in, decisions and packets out. Errors raise OSError or RulesError."""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import sluice_layouts as layouts

from host.packet.testing.binding import GROWTH, Own, Template, template
from host.python.structs import fields
from host.switch import build


class Action(ctypes.Structure):
    """`struct sluice_action`."""

    _fields_ = fields("sluice_action")


class ActionSet(ctypes.Structure):
    """`struct sluice_action_set`."""

    _fields_ = fields("sluice_action_set", {"sluice_action": Action})

    def listed(self) -> list[tuple[str, int]]:
        """The actions up to the last that is not NONE."""
        pairs = [(layouts.Opcode(slot.opcode).name.removeprefix("ACTION_"), int(slot.operand)) for slot in self.slots]
        while pairs and pairs[-1] == ("NONE", 0):
            pairs.pop()
        return pairs

    def packed(self) -> layouts.ActionSet:
        """As the layouts have it."""
        return layouts.ActionSet.from_int(sum((s.opcode << 24 | s.operand) << 32 * n for n, s in enumerate(self.slots)))


class Route(ctypes.Structure):
    """`struct sluice_route`."""

    _fields_ = fields("sluice_route", {"sluice_action_set": ActionSet})


class Policy(ctypes.Structure):
    """`struct sluice_policy`."""

    _fields_ = fields("sluice_policy")


class Decision(ctypes.Structure):
    """`struct sluice_decision`."""

    _fields_ = fields("sluice_decision", {"sluice_action_set": ActionSet, "edit_data": ctypes.POINTER(ctypes.c_uint8 * 16)})

    @property
    def cause_name(self) -> str:
        """ "none" or why it was dropped."""
        return cause_name(self.cause)


class Counters(ctypes.Structure):
    """`struct sluice_switch_counters`."""

    _fields_ = fields("sluice_switch_counters")


@functools.cache
def library() -> ctypes.CDLL:
    """The library, with the types of what it returns."""
    loaded = ctypes.CDLL(str(build.library()))
    loaded.sluice_cause_name.restype = ctypes.c_char_p
    loaded.sluice_rules_lane_mac.restype = ctypes.c_uint64
    loaded.sluice_rules_lanes.restype = ctypes.c_uint8
    loaded.sluice_rules_route.restype = ctypes.POINTER(Route)
    loaded.sluice_rules_templates.restype = ctypes.POINTER(Template)
    loaded.sluice_rules_policy.restype = ctypes.POINTER(Policy)
    loaded.sluice_rules_edit_data.restype = ctypes.POINTER(ctypes.c_uint8 * 16)
    loaded.sluice_switch_counters.restype = ctypes.POINTER(Counters)
    return loaded


@functools.cache
def c_library() -> ctypes.CDLL:
    """The C library, for its streams."""
    loaded = ctypes.CDLL(None, use_errno=True)
    loaded.fopen.restype = ctypes.c_void_p
    return loaded


def cause_name(cause: int) -> str:
    """Name of a drop cause."""
    return bytes(library().sluice_cause_name(ctypes.c_uint32(cause))).decode()


class RulesError(ValueError):
    """A rules file with errors; the text is what the reader says."""


class Rules:
    """Rules of a file."""

    def __init__(self, path: Path | str) -> None:
        self.handle = ctypes.c_void_p()
        with tempfile.NamedTemporaryFile() as said:
            stream = ctypes.c_void_p(c_library().fopen(said.name.encode(), b"w"))
            status = library().sluice_rules_read(str(path).encode(), ctypes.byref(self.handle), stream)
            c_library().fclose(stream)
            text = Path(said.name).read_text(errors="replace")
        if status:
            assert not self.handle, "no rules beside an error"
            raise RulesError(text) if status == -22 else OSError(-status, text)
        assert text == "", "no message without an error"

    def __del__(self) -> None:
        if self.handle:
            library().sluice_rules_free(self.handle)

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            library().sluice_rules_route(self.handle, n).contents for n in range(library().sluice_rules_route_count(self.handle))
        ]

    @property
    def policy(self) -> Policy:
        """The policy."""
        policy: Policy = library().sluice_rules_policy(self.handle).contents
        return policy

    @property
    def edit_data(self) -> list[int]:
        """The edit data of the routes."""
        count = ctypes.c_uint32()
        table = library().sluice_rules_edit_data(self.handle, ctypes.byref(count))
        return [int.from_bytes(bytes(table[n]), "little") for n in range(count.value)]

    @property
    def templates(self) -> list[tuple[layouts.TemplateInfo, bytes]]:
        """The header templates of the routes."""
        count = ctypes.c_uint32()
        table = library().sluice_rules_templates(self.handle, ctypes.byref(count))
        return [template(bytes(table[n].bytes[: table[n].info.size])) for n in range(count.value)]

    def lane_mac(self, lane: int) -> int:
        """The router's address on a lane."""
        return int(library().sluice_rules_lane_mac(self.handle, ctypes.c_uint8(lane)))

    def own(self, lane: int) -> Own:
        """The router's own addresses on a lane."""
        own = Own(0, None, None)
        library().sluice_rules_own(self.handle, ctypes.c_uint8(lane), ctypes.byref(own))
        return own

    @property
    def lanes(self) -> int:
        """Lanes that the file needs."""
        return int(library().sluice_rules_lanes(self.handle))

    @property
    def acl_count(self) -> int:
        """Number of access rules."""
        return int(library().sluice_rules_acl_count(self.handle))


@dataclass(frozen=True)
class Sent:
    """What the switch did with a packet: `data` None where it was dropped."""

    data: bytes | None
    lanes: frozenset[int]
    decision: Decision


class Switch:
    """A software switch over rules."""

    def __init__(self, rules: Rules, lanes: int = 4) -> None:
        self.rules = rules
        self.handle = ctypes.c_void_p()
        status = library().sluice_switch_new(rules.handle, ctypes.c_uint8(lanes), ctypes.byref(self.handle))
        if status:
            raise OSError(-status, os.strerror(-status))

    def __del__(self) -> None:
        if self.handle:
            library().sluice_switch_free(self.handle)

    def decide(self, packet: bytes, lane: int = 0, now: int = 0) -> Decision:
        """sluice_switch_decide."""
        decision = Decision()
        arguments = (packet, len(packet), ctypes.c_uint8(lane), ctypes.c_uint64(now), ctypes.byref(decision))
        status = library().sluice_switch_decide(self.handle, *arguments)
        if status:
            raise OSError(-status, os.strerror(-status))
        return decision

    def send(self, packet: bytes, lane: int = 0, now: int = 0) -> Sent:
        """sluice_switch_process."""
        decision, out = Decision(), ctypes.create_string_buffer(len(packet) + GROWTH)
        arguments = (
            packet,
            len(packet),
            ctypes.c_uint8(lane),
            ctypes.c_uint64(now),
            out,
            len(packet) + GROWTH,
            ctypes.byref(decision),
        )
        size = library().sluice_switch_process(self.handle, *arguments)
        if size < 0:
            raise OSError(-size, os.strerror(-size))
        lanes = frozenset(n for n in range(8) if decision.egress_mask >> n & 1)
        return Sent(out.raw[:size] if size else None, lanes, decision)

    @property
    def counters(self) -> Counters:
        """The counters, as they are now."""
        counters: Counters = library().sluice_switch_counters(self.handle).contents
        return counters
