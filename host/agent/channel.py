# SPDX-License-Identifier: Apache-2.0
"""What the agent needs of a device: registers in batches, packets in and out. Implementations differ in how they reach it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class ChannelError(OSError):
    """The device did not do what it was asked for: refused, or gone."""


@dataclass(frozen=True)
class Access:
    """An access to a register: a write of `value`, or a read where it is None."""

    address: int
    value: int | None = None


@dataclass(frozen=True)
class PacketIn:
    """A packet that the device gave to the agent: where it came from, its bytes, its parser fault (`fault_t`), and the mark that
    the program gave it."""

    port: int
    data: bytes
    fault: int
    mark: int


class Channel(Protocol):
    """A device. Its lanes are numbered from 0."""

    lanes: int

    def access(self, batch: Sequence[Access]) -> list[int]:
        """Do these in their order; the values that were read, in theirs. Raises ChannelError: what came after the failed access
        was not done, and what came before it was, or is not known to be done if the device is gone."""
        ...

    def receive(self) -> PacketIn | None:
        """The oldest packet for the agent, if there is one."""
        ...

    def send(self, mask: int, data: bytes) -> None:
        """Send a packet out of the lanes of a mask."""
        ...

    def pass_time(self) -> bool:
        """Let a device that is simulated run for a while; whether it has more to do at once."""
        ...

    def descriptors(self) -> Sequence[int]:
        """What becomes readable when there is something to do, for `select`."""
        ...

    def close(self) -> None:
        """The channel is not to be used any more."""
        ...
