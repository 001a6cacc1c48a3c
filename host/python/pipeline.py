# SPDX-License-Identifier: Apache-2.0
"""Programs of the programmable pipeline, loaded into a device that runs."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import sluice_layouts as L

from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses
from compiler.pipeline.unit_image import UnitEntry
from compiler.stateful.families import pace
from compiler.stateful.image import UnitSizes, shared_write
from host.python.windows import MARK, GraphLock, window_of

PATIENCE = 100_000  # cycles


class Bus(Protocol):
    """The registers of a device: a `Device`, or a `Session` of messages with it."""

    def read(self, address: int) -> int: ...

    def write_all(self, pairs: Iterable[tuple[int, int]]) -> None: ...

    def advance(self, cycles: int) -> None: ...


@dataclass(frozen=True)
class FlowCounters:
    """Packets of a stateful unit: all, those that found their flow, made it, replaced another or a gone one by it, and had none."""

    looked_up: int
    found: int
    made: int
    evicted: int
    expired: int
    absent: int


def stateful_units(read: Callable[[int], int]) -> dict[int, UnitSizes]:
    """The stateful units of a pipeline, by number; `read` reads a register of it."""
    mask = read(L.PIPELINE_REGISTERS_STATEFUL)
    sizes = UnitSizes.read(read(L.PIPELINE_REGISTERS_PROCESS_PARTS), read(L.PIPELINE_REGISTERS_FLOW_PARTS))
    return {number: sizes for number in range(L.UNIT_END + 1) if mask >> number & 1}


class Overlay:
    """The pipeline of a device, whose memories it knows from now on. On a device with several controller cores another master of
    its registers may load programs too: each takes the lock, and begins from nothing where another had it meanwhile, or where the
    device was reset. Then the next load writes everything, the settings and shared state of stateful units included."""

    def __init__(self, device: Bus, secret: int | None = None) -> None:
        """`secret`: of the flow tables of stateful units; a random one unless given. Raises ValueError where the device has no
        pipeline."""
        self.device = device
        if (window := window_of(device.read, L.ELEMENT_PIPELINE)) is None:
            raise ValueError("this device has no programmable pipeline; hint: SLUICE_SIM_OPTIONS=pipeline_units=2")
        self.window = window
        self.lock = GraphLock(device.read, lambda address, word: device.write_all([(address, word)]), self._wait, self.forget)
        parts, entries = self.read(L.PIPELINE_REGISTERS_PARTS), self.read(L.PIPELINE_REGISTERS_ENTRIES)
        sizes = parts & 0xFF, parts >> 8 & 0xFF, parts >> 16 & 0xFF, entries & 0xFFFF, entries >> 16
        self.empty = PipelineImage.of(
            *sizes, stateful=stateful_units(self.read), secret=secrets.randbits(128) if secret is None else secret
        )
        self.forget()

    def forget(self) -> None:
        """What the memories hold is not known, as after power-up: the next load writes all of them."""
        self.image, self.loaded, self.mark = self.empty, False, 0
        self.program: PipelineProgram | None = None  # the one loaded last
        self.shared: dict[tuple[int, int], int] = {}  # what was set, by unit and number
        # Of a unit's action: what was counted in places that its entry had before.
        self.carried: dict[tuple[int, int], L.RuleCounters] = {}

    def set_shared(self, unit: int, number: int, value: int) -> None:
        """Sets 64 bits of the global state of a stateful unit, or with PROCESS_SHARED_WORDS more of its table state. For packets
        that enter from now on."""
        writes = accesses(iter([shared_write(unit, number, value)]))
        with self.lock.held():
            self.shared[unit, number] = value
            self.device.write_all((self.window + address, word) for address, word in writes)

    def waits(self, unit: int) -> list[str]:
        """Why packets of one flow wait for each other in a stateful unit, with the program that packets get; none: they do not."""
        with self.lock.held():
            image, version = self.image.stateful[unit], self.read(L.PIPELINE_REGISTERS_VERSION)
            return list(pace(image.programs[version], image.sizes.composed)["waits"])

    def flows(self, unit: int) -> FlowCounters:
        """What became of the packets of a stateful unit; 32 bits that wrap."""
        made, evicted, expired, absent = (
            self.read(register + 4 * unit)
            for register in (
                L.PIPELINE_REGISTERS_FLOWS_NEW,
                L.PIPELINE_REGISTERS_FLOWS_EVICTED,
                L.PIPELINE_REGISTERS_FLOWS_EXPIRED,
                L.PIPELINE_REGISTERS_FLOWS_ABSENT,
            )
        )
        return FlowCounters(*self.lookups(unit), made, evicted, expired, absent)

    def read(self, register: int) -> int:
        """A register of the pipeline."""
        return self.device.read(self.window + register)

    def load(self, program: PipelineProgram) -> int:
        """Has packets that enter from now on use the program; returns the number of register writes. Raises ProgramError where it
        has no place beside the one that runs: nothing has changed then. TimeoutError: packets of the program before the one that
        runs are still in flight. OSError: another master has the lock."""
        with self.lock.held():
            if self.was_reset():
                shared = self.shared
                self.forget()
                self.shared = shared
            with self.lock.loading(self.loaded):
                return self._load(program)

    def was_reset(self) -> bool:
        """Whether the device has lost what was loaded last."""
        return self.loaded and self.read(MARK) != self.mark

    def restore(self) -> bool:
        """Load the program that packets had once more if the device was reset since; whether it was. Flows begin anew. Raises as
        `load`."""
        if self.program is None or not self.was_reset():
            return False
        self.load(self.program)
        return True

    def _load(self, program: PipelineProgram) -> int:
        version = 1 - self.read(L.PIPELINE_REGISTERS_VERSION)
        image = self.image.with_program(program, version)
        self._wait(lambda: not self.read(L.PIPELINE_REGISTERS_DRAINING), "packets of an older program are in flight")
        self._carry(version, image)
        made = [*image.writes(self.image if self.loaded else None)]
        if not self.loaded:
            made += [shared_write(unit, number, value) for (unit, number), value in self.shared.items()]
        mark = secrets.randbits(32) | 1
        writes = [*accesses(iter(made), image.stateful), (MARK, mark), (L.PIPELINE_REGISTERS_VERSION, version)]
        self.loaded = False
        self.device.write_all((self.window + address, word) for address, word in writes)
        self.image, self.loaded, self.mark, self.program = image, True, mark, program
        return len(writes)

    def _wait(self, is_so: Callable[[], bool], trouble: str) -> None:
        for _ in range(PATIENCE // 16):
            if is_so():
                return
            self.device.advance(16)
        raise TimeoutError(f"{trouble} after {PATIENCE} cycles")

    def counters(self, unit: int, entry: UnitEntry | None = None) -> L.RuleCounters:
        """Packets, bytes and last hit (`tick`, microseconds) of an entry of the program that packets get, or of its packets without
        a match, since a program first had it: an entry that the next program has too goes on counting. Raises KeyError where the
        program has no such entry."""
        with self.lock.held():
            if not self.loaded:
                raise KeyError("no program was loaded, or another master has loaded one")
            version, image = self.read(L.PIPELINE_REGISTERS_VERSION), self.image.units[unit]
            number = image.action_of(entry, version)
            numbers = [number, *(there for there, here in image.copies(version).items() if here == number)]
            return self._total(unit, numbers)

    def lookups(self, unit: int) -> tuple[int, int]:
        """Packets that a unit looked up, and those of them that an entry matched; 32 bits that wrap."""
        return self.read(L.PIPELINE_REGISTERS_LOOKED_UP + 4 * unit), self.read(L.PIPELINE_REGISTERS_MATCHED + 4 * unit)

    def _carry(self, version: int, image: PipelineImage) -> None:
        """Keep what was counted in places that this image of the memories gives up."""
        for unit, (before, after) in enumerate(zip(self.image.units, image.units, strict=True)):
            lost = before.lost(version, after) if self.loaded else {}
            kept = {here: self._total(unit, [there]) for there, here in lost.items()}
            for number in after.added:
                self.carried.pop((unit, number), None)
            for here, counters in kept.items():
                self.carried[unit, here] = added(counters, self.carried.get((unit, here), L.RuleCounters()))

    def _total(self, unit: int, numbers: Sequence[int]) -> L.RuleCounters:
        """The counters of actions together, with what was carried to them."""
        total = L.RuleCounters()
        for number in numbers:
            self.device.write_all([(self.window + L.PIPELINE_REGISTERS_COUNTER_INDEX, unit << 16 | number)])
            words = [
                self.read(L.PIPELINE_REGISTERS_COUNTER_DATA + 4 * word) for word in range(L.PIPELINE_REGISTERS_COUNTER_DATA_COUNT)
            ]
            read = L.RuleCounters.from_int(sum(word << 32 * at for at, word in enumerate(words)))
            total = added(added(total, read), self.carried.get((unit, number), L.RuleCounters()))
        return total


def added(one: L.RuleCounters, other: L.RuleCounters) -> L.RuleCounters:
    """The counters of an entry that was counted in two places; its last hit is the later one of a tick that wraps."""
    if not one.packets or not other.packets:
        return one if one.packets else other
    later = one.last_hit if (one.last_hit - other.last_hit) & 0xFFFFFFFF < 1 << 31 else other.last_hit
    return L.RuleCounters(later, one.bytes + other.bytes, one.packets + other.packets)
