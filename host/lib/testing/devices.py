# SPDX-License-Identifier: Apache-2.0
"""Devices for tests below the library's calls: the transport as a table of functions, an open device of which a test refuses
register accesses one by one, and the device that fails by its environment."""

from __future__ import annotations

import ctypes as c
import errno
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from host.build import compile_c

PATIENCE = 60  # seconds for another thread to get the device's lock, which is free


class Access(c.Structure):
    """struct sluice_access."""

    _fields_ = (("address", c.c_uint32), ("value", c.c_uint32), ("is_read", c.c_bool))


READ = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint32))
WRITE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32, c.c_uint32)
BATCH = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Access), c.c_uint, c.POINTER(c.c_uint))
SENT = c.CFUNCTYPE(c.c_uint64, c.c_void_p)
IDLE = c.CFUNCTYPE(c.c_bool, c.c_void_p)


class Transport(c.Structure):
    """struct sluice_transport: below the library, where a host can write what it likes."""

    _fields_ = (
        ("reg_read", READ),
        ("reg_write", WRITE),
        ("ring_attach", c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_uint, c.c_uint32)),
        ("mirror_attach", c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_uint32)),
        ("ring_release", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_uint32)),
        ("ring_submit", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32)),
        ("ring_sent", SENT),
        ("close", c.CFUNCTYPE(None, c.c_void_p)),
        ("cycles", c.CFUNCTYPE(c.c_uint64, c.c_void_p)),
        ("advance", c.CFUNCTYPE(None, c.c_void_p, c.c_uint32)),
        ("idle", IDLE),
        ("lane_send", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_char_p, c.c_uint32, c.c_uint)),
        ("lane_receive", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_char_p, c.c_uint32, c.c_void_p)),
        ("reg_batch", BATCH),
    )


def transport_of(handle: c.c_void_p) -> Transport:
    """The transport of an open device, whose functions can be replaced: the first field of struct sluice_device."""
    transport: Transport = c.cast(handle, c.POINTER(c.POINTER(Transport)))[0][0]
    return transport


def _copied(function: Any) -> Any:
    """A function pointer that stays as it is when the field that it was read from is written."""
    return type(function)(c.cast(function, c.c_void_p).value or 0)


class Stuck:
    """An open device of which some registers read what a function of how often they were read says. `reads`: how often;
    `written`: addresses and values."""

    def __init__(self, handle: c.c_void_p, values: Mapping[int, Callable[[int], int]]) -> None:
        self.values, self.reads = values, Counter[int]()
        self.written: list[tuple[int, int]] = []
        it = transport_of(handle)
        self._read, self._write = _copied(it.reg_read), _copied(it.reg_write)
        self._kept = (READ(self._on_read), WRITE(self._on_write))
        it.reg_read, it.reg_write, it.reg_batch = *self._kept, BATCH()

    def _on_read(self, transport: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
        if address not in self.values:
            return int(self._read(transport, address, value))
        value[0] = self.values[address](self.reads[address])
        self.reads[address] += 1
        return 0

    def _on_write(self, transport: int, address: int, value: int) -> int:
        self.written.append((address, value))
        return int(self._write(transport, address, value))


class Refusing:
    """An open device that refuses a register access: the one with the number `refuse`, counted from `arm` on."""

    def __init__(self, library: c.CDLL, handle: c.c_void_p, has_batches: bool = True) -> None:
        self.library, self.handle = library, handle
        self.left, self.happened = -1, False
        it = transport_of(handle)
        self._read, self._write, self._batch = _copied(it.reg_read), _copied(it.reg_write), _copied(it.reg_batch)
        self._kept = (READ(self._on_read), WRITE(self._on_write), BATCH(self._on_batch))  # C holds no reference
        it.reg_read, it.reg_write = self._kept[:2]
        if self._batch:
            it.reg_batch = self._kept[2] if has_batches else BATCH()

    def arm(self, refuse: int) -> None:
        self.left, self.happened = refuse, False

    def _refuses(self) -> bool:
        self.left -= 1
        self.happened |= self.left == -1
        return self.left == -1

    def _on_read(self, transport: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
        return -errno.EFAULT if self._refuses() else int(self._read(transport, address, value))

    def _on_write(self, transport: int, address: int, value: int) -> int:
        return -errno.EFAULT if self._refuses() else int(self._write(transport, address, value))

    def _on_batch(self, transport: int, accesses: c._Pointer[Access], count: int, done: c._Pointer[c.c_uint]) -> int:
        whole = next((at for at in range(count) if self._refuses()), count)
        result = self._batch(transport, accesses, whole, done)
        return result if result or whole == count else -errno.EFAULT

    def once(self, name: str, call: Callable[[], int], number: int) -> bool:
        """Call with an access refused: it must say so and leave the lock. Whether it made that access."""
        self.arm(number)
        self.library.sluice_fail(0, b"untouched")
        result = call()
        assert self.is_free(), f"{name} keeps the lock: {result} with access {number} refused"
        if self.happened:
            assert result == -errno.EFAULT, f"{name} returns {result} with access {number} refused"
            assert self.library.sluice_error_text() != b"untouched"
        else:
            assert result >= 0, f"{name} fails with {result} where nothing is refused"
        return self.happened

    def each(self, name: str, call: Callable[[], int]) -> int:
        """`once` with each access of a call; how many there are."""
        return next(number for number in range(1000) if not self.once(name, call, number))

    def is_free(self) -> bool:
        """Whether another thread can call."""
        other = threading.Thread(target=self.library.sluice_device_cycles, args=(self.handle,), daemon=True)
        other.start()
        other.join(PATIENCE)
        return not other.is_alive()


def build_failing() -> Path:
    """The library of the device that fails (failing_device.c)."""
    return compile_c("libfailing-device-{}.so", ["-fPIC", "-shared"], [Path(__file__).parent / "failing_device.c"])
