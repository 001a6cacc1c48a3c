# SPDX-License-Identifier: Apache-2.0
"""Where the register windows of a device are, and the lock of those that several masters of its registers share
(docs/design/messages.md, several cores)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sluice_layouts as L

LOCKED, TAKEN_MEANWHILE = 1, 4  # bits of the lock: the reader has it; another had it since the reader gave it back
PAUSE, EMPTY = 2, 4  # bits of control and status
# A register of the pipeline's that holds a number of the loader's between two loads: a reset of the graph loses it.
MARK = L.PIPELINE_REGISTERS_DATA + 4 * (L.PIPELINE_REGISTERS_DATA_COUNT - 1)


def windows_of(read: Callable[[int], int], kind: int) -> list[int]:
    """The addresses of the register windows of a kind (`element_kind_t`); `read` reads a register."""
    return [
        window * L.WINDOW_SIZE
        for window in range(read(L.SHELL_REGISTERS_WINDOWS))
        if read(L.SHELL_REGISTERS_CAPABILITY + 4 * window) & 0xFFFF == kind
    ]


def window_of(read: Callable[[int], int], kind: int) -> int | None:
    """The first of `windows_of`, or None."""
    return next(iter(windows_of(read, kind)), None)


def own_core(read: Callable[[int], int]) -> int | None:
    """The window of the controller core that these reads come through, or None where they are the host's."""
    master = read(L.SHELL_REGISTERS_MASTER)
    return windows_of(read, L.ELEMENT_CONTROLLER)[master - 1] if master else None


class GraphLock:
    """The lock of the graph's windows. A device with one controller core or none has no such lock, and needs none."""

    def __init__(
        self,
        read: Callable[[int], int],
        write: Callable[[int, int], None],
        wait: Callable[[Callable[[], bool], str], None],
        forget: Callable[[], None],
    ) -> None:
        """`wait` returns when something is so, or raises an error with the text given. `forget`: another master had the lock, so
        what the windows hold is not known any more."""
        self.read, self.write, self.wait, self.forget = read, write, wait, forget
        self.is_shared = len(windows_of(read, L.ELEMENT_CONTROLLER)) > 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """With the lock. The write that takes it raises an error where another master has it."""
        if not self.is_shared:
            yield
            return
        self.write(L.SHELL_REGISTERS_LOCK, LOCKED)
        try:
            if self.read(L.SHELL_REGISTERS_LOCK) & TAKEN_MEANWHILE:
                self.forget()
            yield
        finally:
            self.write(L.SHELL_REGISTERS_LOCK, 0)

    @contextmanager
    def loading(self, is_known: bool) -> Iterator[None]:
        """With the lock held: while all that the windows hold is written, no packet may be in the graph. It goes on in any case,
        also where an agent was killed that had it pause."""
        if is_known or not self.is_shared:
            yield
            return
        control = self.read(L.SHELL_REGISTERS_CONTROL)
        self.write(L.SHELL_REGISTERS_CONTROL, control | PAUSE)
        try:
            self.wait(lambda: bool(self.read(L.SHELL_REGISTERS_STATUS) & EMPTY), "packets are in the graph")
            yield
        finally:
            self.write(L.SHELL_REGISTERS_CONTROL, control & ~PAUSE)
