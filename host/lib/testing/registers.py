# SPDX-License-Identifier: Apache-2.0
"""A device whose registers are written in Python, behind the library's calls: which windows it has, what each register answers and
what is refused is the test's; every access is kept. And the window of a rule table (ofu_registers) as such registers."""

from __future__ import annotations

import ctypes as c
import errno
from collections.abc import Mapping
from unittest import mock

import sluice_layouts as L

from host.lib.testing.devices import BATCH, READ, WRITE, build_failing, transport_of
from host.python.device import load

WORDS = {L.OFU_REGISTERS_INSTRUCTION + 4 * n: n for n in range(L.Instruction.BITS // 32)}


def opened(settings: Mapping[str, object], uri: str = "sim:lib={}") -> tuple[c.CDLL, c.c_void_p, int, str]:
    """The device of failing_device.c with these settings (without FAILING_): library, handle, result and text of the open."""
    library, handle = load(), c.c_void_p()
    with mock.patch.dict("os.environ", {f"FAILING_{name}": str(value) for name, value in settings.items()}):
        result = library.sluice_device_open(uri.format(build_failing()).encode(), c.byref(handle))
    return library, handle, result, library.sluice_error_text().decode()


class Registers:
    """An open device with these kinds of windows from window 1 on. Registers are the words of `values`, 0 where nothing was
    written; `log` has (address, value written, or None for a read). The access `refuse` from now on answers -EFAULT."""

    def __init__(self, *kinds: int, lanes: int = 2) -> None:
        settings = {"WINDOWS": 5, "LANES": lanes, **{f"KIND_{n}": 0 for n in range(5)}}
        self.library, self.handle, result, text = opened(settings | {f"KIND_{n}": kind for n, kind in enumerate(kinds, 1)})
        assert result == 0, text
        self.values: dict[int, int] = {L.SHELL_REGISTERS_MAGIC: L.DEVICE_MAGIC}
        self.log: list[tuple[int, int | None]] = []
        self.refuse = -1
        self.failures: list[BaseException] = []  # C cannot carry them on
        self.transport = transport_of(self.handle)
        self._kept = (READ(self._on_read), WRITE(self._on_write))
        self.transport.reg_read, self.transport.reg_write, self.transport.reg_batch = *self._kept, BATCH()

    def read(self, address: int) -> int:
        return self.values.get(address, 0)

    def write(self, address: int, value: int) -> None:
        self.values[address] = value

    def refused(self, address: int) -> None:
        """A write of this register has failed."""

    def _is_refused(self) -> bool:
        self.refuse -= 1
        return self.refuse == -1

    def _on_read(self, transport: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
        self.log.append((address, None))
        if self._is_refused():
            return -errno.EFAULT
        try:
            value[0] = self.read(address)
        except BaseException as failure:
            self.failures.append(failure)
        return 0

    def _on_write(self, transport: int, address: int, value: int) -> int:
        self.log.append((address, value))
        if self._is_refused():
            self.refused(address)
            return -errno.EFAULT
        try:
            self.write(address, value)
        except BaseException as failure:
            self.failures.append(failure)
        return 0

    def taken(self) -> list[tuple[int, int | None]]:
        """The accesses since the last call."""
        log, self.log = self.log, []
        return log

    def written(self) -> list[tuple[int, int]]:
        """The writes since the last call."""
        return [(address, value) for address, value in self.taken() if value is not None]

    def text(self) -> str:
        found: bytes = self.library.sluice_error_text()
        return found.decode()

    def close(self) -> None:
        self.library.sluice_device_close(self.handle)
        assert not self.failures, self.failures


class RuleTables(Registers):
    """A device with one OFU, in window 1. It answers each instruction with the next of `statuses`, or 0, after `late` reads of its
    status; time goes by `step` with each read of its low word."""

    BASE = L.WINDOW_SIZE

    def __init__(self, kind: int, entries: tuple[int, int], key_bits: tuple[int, int]) -> None:
        super().__init__(kind)
        self.values |= {self.BASE + L.OFU_REGISTERS_ENTRIES + 4 * n: value for n, value in enumerate(entries)}
        self.values |= {self.BASE + L.OFU_REGISTERS_KEY_BITS + 4 * n: value for n, value in enumerate(key_bits)}
        self.time, self.step, self.late, self.waits = 0, 1, 0, 0
        self.words: dict[int, int] = {}
        self.redundant, self.counts_redundant = 0, True  # writes of what the registers of the instruction held
        self.instructions: list[L.Instruction] = []
        self.edits: dict[int, int] = {}
        self.statuses: list[int] = []
        self.answers: list[L.Response] = []

    def refused(self, address: int) -> None:
        self.words.pop(address - self.BASE, None)  # may have come there in part

    def write(self, address: int, value: int) -> None:
        at = address - self.BASE
        if at in WORDS:
            self.redundant += self.counts_redundant and self.words.get(at) == value
            self.words[at] = value
        elif at == L.OFU_REGISTERS_PUSH:
            one = L.Instruction.from_int(sum(self.words[place] << 32 * n for place, n in WORDS.items()))
            self.instructions.append(one)
            status = self.statuses.pop(0) if self.statuses else 0
            self.answers.append(L.Response(rule_id=one.rule_id, cycles=7, status=status, kind=one.kind))
            self.waits = self.late
        else:
            super().write(address, value)
            if at == L.OFU_REGISTERS_EDIT_DATA + 12:
                data = [self.values[self.BASE + L.OFU_REGISTERS_EDIT_DATA + 4 * n] for n in range(4)]
                self.edits[self.values[self.BASE + L.OFU_REGISTERS_EDIT_INDEX]] = sum(word << 32 * n for n, word in enumerate(data))

    def read(self, address: int) -> int:
        at = address - self.BASE
        if address == L.SHELL_REGISTERS_TIME_LOW:
            self.time += self.step
            self.values[L.SHELL_REGISTERS_TIME_HIGH] = self.time >> 32
            return self.time & 0xFFFFFFFF
        if at == L.OFU_REGISTERS_STATUS:
            self.waits -= 1
            return 1 | (len(self.answers) << 16 if self.waits < 0 else 0)
        if at == L.OFU_REGISTERS_RESPONSE:
            return self.answers[0].to_int() & 0xFFFFFFFF
        if at == L.OFU_REGISTERS_RESPONSE + 4:
            return self.answers.pop(0).to_int() >> 32
        return super().read(address)
