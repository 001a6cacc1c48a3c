# SPDX-License-Identifier: Apache-2.0
"""The pipeline of a device behind a channel: its size, its program, and what is kept of it across a restart of the agent."""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sluice_layouts as L

from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses
from host.agent.channel import Access, Channel, ChannelError
from host.python.pipeline import window_of

PATIENCE = 5.0  # seconds, for packets of an older program to leave
MARK = L.PIPELINE_REGISTERS_DATA + 4 * (L.PIPELINE_REGISTERS_DATA_COUNT - 1)  # holds a number of ours between two loads


class Pipeline:
    """The pipeline of a device; nobody else may write its memories.

    With a file, the images of both programs are kept in it before each load. So an agent that was killed, in a load even, knows
    what the packets' program is made of, and loads the next one beside it: traffic does not stop. The file is the agent's own;
    whoever may write it is trusted."""

    def __init__(self, channel: Channel, file: Path | None = None) -> None:
        """Raises ChannelError where the device has no pipeline."""
        self.channel, self.file = channel, file
        window = window_of(lambda address: self.read([address])[0], L.ELEMENT_PIPELINE)
        if window is None:
            raise ChannelError("this device has no programmable pipeline; hint: --device sim:pipeline_units=2")
        self.window = window
        parts, entries, version = self._registers(
            L.PIPELINE_REGISTERS_PARTS, L.PIPELINE_REGISTERS_ENTRIES, L.PIPELINE_REGISTERS_VERSION
        )
        self.stages, self.units, writers = parts & 0xFF, parts >> 8 & 0xFF, parts >> 16 & 0xFF
        self.sizes = (self.stages, self.units, writers, entries & 0xFFFF, entries >> 16)
        self.image = PipelineImage.of(*self.sizes)
        self.known = False  # what the memories hold
        self.mark = 0
        self.loads = 0
        self.kept: Any = None  # what the agent before had kept beside the images
        self._recall(version)

    def read(self, addresses: Sequence[int]) -> list[int]:
        """Registers of the device."""
        return self.channel.access([Access(address) for address in addresses])

    def _registers(self, *registers: int) -> list[int]:
        return self.read([self.window + register for register in registers])

    def _recall(self, version: int) -> None:
        if self.file is None or not self.file.exists():
            return
        try:
            layouts, sizes, after_version, before, after, kept = pickle.loads(self.file.read_bytes())
        except (pickle.PickleError, EOFError, AttributeError, ImportError, IndexError, ValueError, TypeError):
            return  # of another release, or damaged: as after a first start
        if (layouts, sizes) == (L.LAYOUT_HASH, self.sizes):
            self.image, self.kept = after if version == after_version else before, kept

    def place(self, program: PipelineProgram) -> PipelineImage:
        """Where a program would stand beside the one that runs. Raises ProgramError where it has no place."""
        return self.image.with_program(program, 1 - self._registers(L.PIPELINE_REGISTERS_VERSION)[0])

    def load(self, program: PipelineProgram, keep: Any = None) -> None:
        """Packets that enter from now on use the program. Raises ProgramError: no place, nothing has changed. ChannelError: it is
        not known how far the load came; the next one writes everything."""
        version = 1 - self._registers(L.PIPELINE_REGISTERS_VERSION)[0]
        image = self.image.with_program(program, version)
        self._keep(version, image, keep)
        self._wait_for_old_packets()
        known, self.known = self.known, False
        writes = [Access(self.window + address, word) for address, word in accesses(image.writes(self.image if known else None))]
        mark = secrets.randbits(32) | 1
        writes += [Access(self.window + MARK, mark), Access(self.window + L.PIPELINE_REGISTERS_VERSION, version)]
        self.channel.access(writes)
        self.image, self.known, self.mark = image, True, mark
        self.loads += 1

    def _keep(self, version: int, image: PipelineImage, keep: Any) -> None:
        if self.file is not None:
            unfinished = self.file.with_suffix(".new")
            unfinished.touch(0o600)
            unfinished.write_bytes(pickle.dumps((L.LAYOUT_HASH, self.sizes, version, self.image, image, keep)))
            unfinished.replace(self.file)

    def _wait_for_old_packets(self) -> None:
        end = time.monotonic() + PATIENCE
        while self._registers(L.PIPELINE_REGISTERS_DRAINING)[0]:
            if time.monotonic() > end:
                raise ChannelError(f"packets of an older program are in flight after {PATIENCE:.0f} s")
            self.channel.pass_time()

    def is_intact(self) -> bool:
        """Whether the device still has what was loaded last: it was not reset."""
        return self._registers(MARK)[0] == self.mark if self.known else False

    def forget(self) -> None:
        """The device was reset: all memories are to be written again."""
        self.image, self.known = PipelineImage.of(*self.sizes), False

    def lookups(self, unit: int) -> int:
        """Packets that a unit has looked up; it wraps."""
        return self._registers(L.PIPELINE_REGISTERS_LOOKED_UP + 4 * unit)[0]

    def lane_counters(self, lane: int) -> L.LaneCounters:
        """The counters of a lane."""
        words = L.LaneCounters.BITS // 32
        first = L.SHELL_REGISTERS_LANE_COUNTERS + 4 * words * lane
        values = self.read([first + 4 * word for word in range(words)])
        return L.LaneCounters.unpack(b"".join(value.to_bytes(4, "little") for value in values))
