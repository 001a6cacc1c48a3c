# SPDX-License-Identifier: Apache-2.0
"""The pipeline of a device behind a channel: its size, its program and counters, and what is kept of it across a restart of the
agent."""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sluice_layouts as L

from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses
from host.agent.channel import Access, Channel, ChannelError
from host.agent.counters import Cell, Counters, cells_of
from host.agent.translate import Translation
from host.python.pipeline import stateful_units
from host.python.windows import MARK, GraphLock, window_of

PATIENCE = 5.0  # seconds, for packets of an older program to leave


@dataclass(frozen=True)
class Load:
    """A load as it is begun: the version, the images before and after it, and what MARK holds when it is finished."""

    version: int
    before: PipelineImage
    after: PipelineImage
    mark: int


class Pipeline:
    """The pipeline of a device; nobody else may write its memories.

    With a file, the images of both programs and the counters are kept in it before each load. So an agent that was killed, in a
    load even, knows what the packets' program is made of, and loads the next one beside it: traffic does not stop. The file is the
    agent's own; whoever may write it is trusted."""

    def __init__(self, channel: Channel, file: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        """Raises ChannelError where the device has no pipeline."""
        self.channel, self.file, self.clock = channel, file, clock
        window = window_of(self._register, L.ELEMENT_PIPELINE)
        if window is None:
            raise ChannelError("this device has no programmable pipeline; hint: --device sim:pipeline_units=2")
        self.window = window
        self.lock = GraphLock(self._register, self._write, self._wait, self.forget)
        self.core = max(self._register(L.SHELL_REGISTERS_MASTER) - 1, 0) if self.lock.is_shared else 0  # it takes our packets
        parts, entries, version = self._registers(
            L.PIPELINE_REGISTERS_PARTS, L.PIPELINE_REGISTERS_ENTRIES, L.PIPELINE_REGISTERS_VERSION
        )
        self.stages, units, writers = parts & 0xFF, parts >> 8 & 0xFF, parts >> 16 & 0xFF
        self.sizes = (self.stages, units, writers, entries & 0xFFFF, entries >> 16)
        self.stateful = stateful_units(lambda register: self._registers(register)[0])
        self.units = min(self.stateful, default=units)  # those that tables of flows can be
        self.image = self._empty()
        self.counters = Counters(version)
        self.known = False  # what the memories hold
        self.mark = 0
        self.loads = 0
        self.kept: Any = None  # what the agent before had kept beside the images
        self.begun: Load | None = None  # the last load, until it is known how far it came
        self._recall()
        self._settle(version)

    def _empty(self) -> PipelineImage:
        """The image without a program, with a new secret for flows of stateful units."""
        return PipelineImage.of(*self.sizes, stateful=self.stateful, secret=secrets.randbits(128))

    def read(self, addresses: Sequence[int]) -> list[int]:
        """Registers of the device."""
        return self.channel.access([Access(address) for address in addresses])

    def _register(self, address: int) -> int:
        return self.read([address])[0]

    def _write(self, address: int, word: int) -> None:
        self.channel.access([Access(address, word)])

    def _registers(self, *registers: int) -> list[int]:
        return self.read([self.window + register for register in registers])

    @property
    def _made_for(self) -> tuple[object, ...]:
        """What a file must be made for to be of use: whatever changes what is kept changes it."""
        return L.LAYOUT_HASH, self.sizes, self.stateful

    def _recall(self) -> None:
        if self.file is None or not self.file.exists():
            return
        try:
            made_for, begun, counters, kept = pickle.loads(self.file.read_bytes())
        except (pickle.PickleError, EOFError, AttributeError, ImportError, IndexError, ValueError, TypeError):
            return  # of another release, or damaged: as after a first start
        if made_for == self._made_for:
            self.begun, self.counters, self.kept = begun, counters, kept

    def _settle(self, version: int) -> None:
        """Find out how far the last load came, by the version that packets have: it is written last."""
        if (begun := self.begun) is None:
            return
        self.begun, self.counters.version = None, version
        if version != begun.version:
            self.image = begun.before
            self.counters.forget(begun.version)
            return
        self.image, self.mark = begun.after, begun.mark
        self.known = self._registers(MARK)[0] == self.mark
        if not self.known:
            self.counters.forget()

    def _running(self) -> int:
        """The version that packets get."""
        version = self._registers(L.PIPELINE_REGISTERS_VERSION)[0]
        self._settle(version)
        return version

    def place(self, program: PipelineProgram) -> PipelineImage:
        """Where a program would stand beside the one that runs. Raises ProgramError where it has no place."""
        return self._with(program, 1 - self._running())

    def _with(self, program: PipelineProgram, version: int) -> PipelineImage:
        """The image with a program whose packets to the controller are for this agent's core."""

        def aimed(one: L.UnitAction) -> L.UnitAction:
            return replace(one, queue=self.core) if one.verdict == L.VERDICT_TO_CONTROLLER else one

        if self.core:
            units = [
                replace(unit, entries=tuple(replace(one, action=aimed(one.action)) for one in unit.entries), miss=aimed(unit.miss))
                for unit in program.units
            ]
            stateful = {number: unit.to_core(self.core) for number, unit in program.stateful.items()}
            program = replace(program, units=tuple(units), stateful=stateful)
        return self.image.with_program(program, version)

    def load(self, wanted: Translation, keep: Any = None) -> None:
        """Packets that enter from now on use the program. Raises ProgramError: no place, nothing has changed. ChannelError: it is
        not known how far the load came; the next one finds it out."""
        with self.lock.held(), self.lock.loading(self.known):
            self._load(wanted, keep)

    def _load(self, wanted: Translation, keep: Any) -> None:
        version = 1 - self._running()
        image = self._with(wanted.program, version)
        self.wait_for_old_packets()
        self._count_anew(version, image, wanted)
        self.begun = Load(version, self.image, image, secrets.randbits(32) | 1)
        self._keep(self.begun, keep)
        known, self.known = self.known, False
        writes = [
            Access(self.window + address, word)
            for address, word in accesses(image.writes(self.image if known else None), image.stateful)
        ]
        writes += [Access(self.window + MARK, self.begun.mark), Access(self.window + L.PIPELINE_REGISTERS_VERSION, version)]
        self.channel.access(writes)
        self.image, self.known, self.mark, self.begun = image, True, self.begun.mark, None
        self.counters.version = version
        self.loads += 1

    def _count_anew(self, version: int, image: PipelineImage, wanted: Translation) -> None:
        """Read what a load takes from the counters: it writes some of the actions or, where the memories are not known, all."""
        cells = cells_of(image, version, wanted.owners)
        cleared = {(unit, number) for unit, one in enumerate(image.units) for number in one.added}
        if not self.known:
            cleared |= {*self.counters.cells(), *cells}
        self._sample(self.counters.closing(version, cells) if self.known else self.counters.cells())
        self.counters.replace(version, cells, cleared)

    def sample(self, cells: Sequence[Cell]) -> None:
        """Read counters of entries. Raises ChannelError."""
        with self.lock.held():
            if self.known:
                self._sample(cells)

    def _sample(self, cells: Sequence[Cell]) -> None:
        if cells:
            self.counters.sample(cells, self.channel.access, self.window, self.clock())

    def sample_flows(self, flows: AbstractSet[int] | None = None) -> None:
        """Read the counters of some flows, or all, as far as they are loaded. Raises ChannelError."""
        if self.known:
            self.sample(self.counters.cells(flows))

    def keep(self, keep: Any) -> None:
        """Keep the counters as they were read, beside what an agent after this one is to know."""
        if self.known:
            version = self.counters.version
            self._keep(Load(version, self.image, self.image, self.mark), keep)

    def _keep(self, load: Load, keep: Any) -> None:
        if self.file is not None:
            unfinished = self.file.with_suffix(".new")
            unfinished.touch(0o600)
            unfinished.write_bytes(pickle.dumps((self._made_for, load, self.counters, keep)))
            unfinished.replace(self.file)

    def wait_for_old_packets(self) -> None:
        """Until no packet is in flight that has the other version. Raises ChannelError."""
        self._wait(lambda: not self._registers(L.PIPELINE_REGISTERS_DRAINING)[0], "packets of an older program are in flight")

    def _wait(self, is_so: Callable[[], bool], trouble: str) -> None:
        end = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > end:
                raise ChannelError(f"{trouble} after {PATIENCE:.0f} s")
            self.channel.pass_time()

    def was_reset(self) -> bool:
        """Whether the device has lost what was loaded last."""
        return self.known and self._registers(MARK)[0] != self.mark

    def forget(self) -> None:
        """The device was reset, or another master has loaded: all memories are to be written again."""
        self.image, self.known, self.begun = self._empty(), False, None
        self.counters.forget()

    def lane_counters(self, lane: int) -> L.LaneCounters:
        """The counters of a lane."""
        words = L.LaneCounters.BITS // 32
        first = L.SHELL_REGISTERS_LANE_COUNTERS + 4 * words * lane
        values = self.read([first + 4 * word for word in range(words)])
        return L.LaneCounters.unpack(b"".join(value.to_bytes(4, "little") for value in values))
