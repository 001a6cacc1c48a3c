# SPDX-License-Identifier: Apache-2.0
"""Programs of the programmable pipeline, loaded into a device that runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import sluice_layouts as L

from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses

PATIENCE = 100_000  # cycles


class Bus(Protocol):
    """The registers of a device: a `Device`, or a `Session` of messages with it."""

    def read(self, address: int) -> int: ...

    def write_all(self, pairs: Iterable[tuple[int, int]]) -> None: ...

    def advance(self, cycles: int) -> None: ...


class Overlay:
    """The pipeline of a device, whose memories it knows from now on: nobody else may write them."""

    def __init__(self, device: Bus) -> None:
        """Raises ValueError where the device has none."""
        self.device = device
        windows = range(device.read(L.SHELL_REGISTERS_WINDOWS))
        kinds = [device.read(L.SHELL_REGISTERS_CAPABILITY + 4 * window) & 0xFFFF for window in windows]
        if L.ELEMENT_PIPELINE not in kinds:
            raise ValueError("this device has no programmable pipeline; hint: SLUICE_SIM_OPTIONS=pipeline_units=2")
        self.window = kinds.index(L.ELEMENT_PIPELINE) * L.WINDOW_SIZE
        parts, entries = self.read(L.PIPELINE_REGISTERS_PARTS), self.read(L.PIPELINE_REGISTERS_ENTRIES)
        self.image = PipelineImage.of(parts & 0xFF, parts >> 8 & 0xFF, parts >> 16 & 0xFF, entries & 0xFFFF, entries >> 16)
        self.loaded = False  # memories hold anything after power-up

    def read(self, register: int) -> int:
        """A register of the pipeline."""
        return self.device.read(self.window + register)

    def load(self, program: PipelineProgram) -> int:
        """Has packets that enter from now on use the program; returns the number of register writes. Raises ProgramError where it
        has no place beside the one that runs: nothing has changed then. TimeoutError: packets of the program before the one that
        runs are still in flight."""
        version = 1 - self.read(L.PIPELINE_REGISTERS_VERSION)
        image = self.image.with_program(program, version)
        for _ in range(PATIENCE // 16):
            if not self.read(L.PIPELINE_REGISTERS_DRAINING):
                break
            self.device.advance(16)
        else:
            raise TimeoutError(f"packets of an older program are in flight after {PATIENCE} cycles")
        writes = [*accesses(image.writes(self.image if self.loaded else None)), (L.PIPELINE_REGISTERS_VERSION, version)]
        self.device.write_all((self.window + address, word) for address, word in writes)
        self.image, self.loaded = image, True
        return len(writes)
