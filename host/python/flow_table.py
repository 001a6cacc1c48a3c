# SPDX-License-Identifier: Apache-2.0
"""Binding of `host/flow_table`: the rule manager of the flow table, on a software model, behind register accesses, or of an open
device."""

from __future__ import annotations

import ctypes as c
import errno
from collections.abc import Callable, Sequence
from functools import cache

from sluice_layouts import FlowKey

from host.python.device import Action, CActionSet, Device, instruction, load
from host.python.structs import fields

KEY_BYTES = len(FlowKey().pack())
KEY_WORDS = (KEY_BYTES + 7) // 8


class Counters(c.Structure):
    _fields_ = fields("sluice_rule_counters")


class Operation(c.Structure):
    _fields_ = fields("sluice_flow_operation", {"sluice_action_set": CActionSet})


class Found(c.Structure):
    _fields_ = fields("sluice_flow_found", {"sluice_action_set": CActionSet})


EXECUTE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Operation))
COUNTERS = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint8, c.c_uint32, c.POINTER(Counters))
READ = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint32))
WRITE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32, c.c_uint32)


class Table(c.Structure):
    """What executes operations."""

    _fields_ = fields("sluice_flow_table", {"execute": EXECUTE, "counters": COUNTERS})


class _Bus(c.Structure):
    _fields_ = fields("sluice_flow_bus", {"read": READ, "write": WRITE})


@cache
def library() -> c.CDLL:
    """The compiled library, with the results of these functions declared."""
    loaded = load()
    for name in ("sluice_flow_model_new", "sluice_flow_rules_new", "sluice_flows_rules"):
        getattr(loaded, name).restype = c.c_void_p
    loaded.sluice_flow_model_find.restype = c.c_bool
    return loaded


def key_bytes(key: int) -> c.Array[c.c_uint8]:
    """A key or mask as C has it."""
    return (c.c_uint8 * KEY_BYTES)(*key.to_bytes(KEY_BYTES, "little"))


def key_words(key: int) -> c.Array[c.c_uint64]:
    """A key or mask as it stands in an operation."""
    return (c.c_uint64 * KEY_WORDS)(*(key >> 64 * n & (1 << 64) - 1 for n in range(KEY_WORDS)))


class Model:
    """The table as software."""

    def __init__(self, groups: int, group_entries: int, fill: int, ternary_entries: int) -> None:
        self.handle = c.c_void_p(library().sluice_flow_model_new(groups, group_entries, fill, ternary_entries))

    def table(self) -> Table:
        table = Table()
        library().sluice_flow_model_table(self.handle, c.byref(table))
        return table

    def find(self, key: int, length: int, tick: int) -> Found | None:
        """Look up and count a packet."""
        found = Found()
        hit = library().sluice_flow_model_find(self.handle, key_bytes(key), length, tick, c.byref(found))
        return found if hit else None

    def close(self) -> None:
        library().sluice_flow_model_free(self.handle)


class DeviceTable:
    """The table behind a window; `read` and `write` raise OSError where an access fails. Raises OSError where there is no table."""

    def __init__(self, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        def on_read(context: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
            try:
                value[0] = read(address)
            except OSError as error:
                return -(error.errno or errno.EIO)
            return 0

        def on_write(context: int, address: int, value: int) -> int:
            try:
                write(address, value)
            except OSError as error:
                return -(error.errno or errno.EIO)
            return 0

        self._bus = _Bus(None, READ(on_read), WRITE(on_write))
        self.handle = c.c_void_p()
        result = library().sluice_flow_device_new(c.byref(self._bus), c.byref(self.handle))
        if result:
            raise OSError(-result, error_text())

    def table(self) -> Table:
        table = Table()
        library().sluice_flow_device_table(self.handle, c.byref(table))
        return table

    def close(self) -> None:
        library().sluice_flow_device_free(self.handle)


def error_text() -> str:
    """The sentence about the last call that failed."""
    text: bytes = library().sluice_error_text()
    return text.decode()


class Rules:
    """The rule manager; methods return what the C functions return: a handle, 0, or a negative errno."""

    def __init__(self, table: Table) -> None:
        self._table = table  # its functions must live as long
        self.handle = c.c_void_p(library().sluice_flow_rules_new(c.byref(table)))

    @classmethod
    def of(cls, handle: int) -> Rules:
        """The manager that something else owns; not to be closed."""
        self = cls.__new__(cls)
        self.handle = c.c_void_p(handle)
        return self

    def add(self, value: int, mask: int, rule_priority: int, actions: CActionSet) -> int:
        function = library().sluice_flow_rule_add
        return int(function(self.handle, key_bytes(value), key_bytes(mask), c.c_uint16(rule_priority), c.byref(actions)))

    def update(self, handle: int, actions: CActionSet) -> int:
        return int(library().sluice_flow_rule_update(self.handle, handle, c.byref(actions)))

    def delete(self, handle: int) -> int:
        return int(library().sluice_flow_rule_delete(self.handle, handle))

    def flush(self) -> int:
        return int(library().sluice_flow_rules_flush(self.handle))

    def counters(self, handle: int) -> Counters:
        """Raises OSError where there is no such rule."""
        counters = Counters()
        result = library().sluice_flow_rule_counters(self.handle, handle, c.byref(counters))
        if result:
            raise OSError(-result, error_text())
        return counters

    def place(self, handle: int) -> Operation:
        """Where a rule is now. Raises OSError where there is no such rule."""
        place = Operation()
        result = library().sluice_flow_rule_place(self.handle, handle, c.byref(place))
        if result:
            raise OSError(-result, error_text())
        return place

    def close(self) -> None:
        library().sluice_flow_rules_free(self.handle)


class Flows:
    """The flow table of an open device. Raises OSError where it has none."""

    def __init__(self, device: Device) -> None:
        self.handle = c.c_void_p()
        result = library().sluice_flows_open(device.handle, c.byref(self.handle))
        if result:
            raise OSError(-result, error_text())
        self.rules = Rules.of(library().sluice_flows_rules(self.handle))

    def add(self, value: int, mask: int, rule_priority: int, actions: Sequence[Action]) -> int:
        """A handle, or a negative errno."""
        rule = instruction(0, 0, actions=actions).rule
        key = (key_bytes(value), key_bytes(mask), c.c_uint16(rule_priority))
        return int(library().sluice_flows_add(self.handle, *key, c.byref(rule.actions), rule.edits, int(rule.edit_count)))

    def delete(self, handle: int) -> int:
        return int(library().sluice_flows_delete(self.handle, handle))

    def mirrored(self, handle: int) -> Counters:
        """What the device last wrote into host memory. Raises OSError where it does not, or there is no such rule."""
        counters = Counters()
        result = library().sluice_flows_mirrored(self.handle, handle, c.byref(counters))
        if result:
            raise OSError(-result, f"rule {handle}")
        return counters

    def close(self) -> None:
        library().sluice_flows_close(self.handle)
