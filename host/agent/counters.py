# SPDX-License-Identifier: Apache-2.0
"""What flows and tables have counted, from the counters of the device's entries.

A cell is an action of a unit: it counts packets, bytes and its last hit from the time when it is written. Of each cell it is kept
what has been read; what it counts from then on belongs to the flow whose entry it is. So it does not matter how many entries a flow
is, that a load gives it others, or that a counter wraps between two readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import sluice_layouts as L

from compiler.pipeline.pipeline_image import PipelineImage
from host.agent.channel import Access

WRAP = 1 << 48  # of a cell's packets and bytes
TICKS = 1_000_000  # a second
WORDS = L.PIPELINE_REGISTERS_COUNTER_DATA_COUNT
Cell = tuple[int, int]  # unit, number of its action
Owner = tuple[int, int]  # table, number of its flow; NO_FLOW of `translate.py`: none


@dataclass
class Count:
    """Packets and bytes, and when the last one came, in seconds of the agent's clock; 0: none has."""

    packets: int = 0
    bytes: int = 0
    used: float = 0.0

    def add(self, packets: int, size: int, used: float) -> None:
        """Count more."""
        self.packets += packets
        self.bytes += size
        self.used = max(self.used, used)


@dataclass
class Counters:
    """Totals of flows by number, and of tables: all packets, and those that a flow matched. `owners` has the cells of each version
    of the program, `seen` what was read of a cell last."""

    version: int = 0  # that packets have
    owners: list[dict[Cell, Owner]] = field(default_factory=lambda: [{}, {}])
    seen: dict[Cell, tuple[int, int]] = field(default_factory=dict)
    flows: dict[int, Count] = field(default_factory=dict)
    lookups: dict[int, Count] = field(default_factory=dict)
    matched: dict[int, Count] = field(default_factory=dict)

    def cells(self, flows: AbstractSet[int] | None = None) -> list[Cell]:
        """The cells of some flows, or all."""
        both = [*self.owners[0].items(), *self.owners[1].items()]
        return [*dict.fromkeys(cell for cell, (_, flow) in both if flows is None or flow in flows)]

    def closing(self, version: int, cells: Mapping[Cell, Owner]) -> list[Cell]:
        """Cells that must be read before a version gets a program with these: from then on they count for another flow, or none."""
        old, running = self.owners[version], self.owners[1 - version]
        gone = [cell for cell, owner in old.items() if running.get(cell) != owner]
        return [*gone, *(cell for cell, owner in cells.items() if running.get(cell, owner) != owner)]

    def replace(self, version: int, cells: Mapping[Cell, Owner], cleared: AbstractSet[Cell]) -> None:
        """A version gets another program, which clears some cells. Those of `closing` have been read."""
        self.owners[version] = dict(cells)
        known = {*self.cells()}
        self.seen = {cell: (0, 0) if cell in cleared else seen for cell, seen in self.seen.items() if cell in known}

    def forget(self, version: int | None = None) -> None:
        """The cells of a version, or all, were cleared or never used."""
        for number in (0, 1) if version is None else (version,):
            self.owners[number] = {}
        known = {*self.cells()}
        self.seen = {cell: seen for cell, seen in self.seen.items() if cell in known}

    def drop_all_but(self, flows: AbstractSet[int]) -> None:
        """Drop the totals of all flows but these, and those that may still count."""
        wanted = {flow for cells in self.owners for _, flow in cells.values()} | flows
        self.flows = {flow: count for flow, count in self.flows.items() if flow in wanted}

    def sample(self, cells: Sequence[Cell], access: Callable[[Sequence[Access]], Sequence[int]], window: int, now: float) -> None:
        """Read cells and add what is new in them. `window` is that of the pipeline. Raises ChannelError."""
        batch = [one for cell in cells for one in _reads(cell, window)]
        *words, tick = access([*batch, Access(L.SHELL_REGISTERS_TICK)])
        for cell, data in zip(cells, zip(*[iter(words)] * WORDS, strict=True), strict=True):
            read = L.RuleCounters.from_int(sum(word << 32 * at for at, word in enumerate(data)))
            self._add(cell, read, now - (tick - read.last_hit) % (1 << 32) / TICKS)

    def _add(self, cell: Cell, read: L.RuleCounters, used: float) -> None:
        packets, size = self.seen.get(cell, (0, 0))
        new, more = (read.packets - packets) % WRAP, (read.bytes - size) % WRAP
        if new >= WRAP // 2:  # it was cleared
            new, more = read.packets, read.bytes
        self.seen[cell] = read.packets, read.bytes
        owner = self.owners[self.version].get(cell) or self.owners[1 - self.version].get(cell)
        if not new or owner is None:
            return
        table, flow = owner
        self.lookups.setdefault(table, Count()).add(new, more, used)
        if flow:
            self.matched.setdefault(table, Count()).add(new, more, used)
            self.flows.setdefault(flow, Count()).add(new, more, used)


def _reads(cell: Cell, window: int) -> Iterable[Access]:
    yield Access(window + L.PIPELINE_REGISTERS_COUNTER_INDEX, cell[0] << 16 | cell[1])
    for word in range(WORDS):
        yield Access(window + L.PIPELINE_REGISTERS_COUNTER_DATA + 4 * word)


def cells_of(image: PipelineImage, version: int, owners: Iterable[tuple[int, tuple[int, ...]]]) -> dict[Cell, Owner]:
    """The cells of a version, by the owners of a `Translation`."""
    found: dict[Cell, Owner] = {}
    for unit, (table, flows) in enumerate(owners):
        held = image.units[unit]
        for entry, flow in zip((*held.programs[version].entries, None) if flows else (), flows, strict=True):
            found[unit, held.action_of(entry, version)] = table, flow
    return found
