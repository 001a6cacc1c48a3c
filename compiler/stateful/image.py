# SPDX-License-Identifier: Apache-2.0
"""The memories of a stateful unit with two versions of its program, and the writes that bring them there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.program import VERSION_SHIFT, BlockSizes, ProcessProgram, assembled

PROCESS_SHIFT = 11  # of the memory of the process block in an address
VERSION_BIT = 1 << VERSION_SHIFT
EPOCHS = 1 << L.FLOW_EPOCH_BITS
NO_PROGRAM = '[key]\ninsert = false\nstate = "keep"\n[[entries]]\n'


@dataclass(frozen=True)
class UnitSizes:
    """What a stateful unit has: its process block, words of a key, flow table, composed updates."""

    block: BlockSizes = field(default_factory=BlockSizes)
    key_words: int = L.FLOW_KEY_WORDS
    sets: int = 1024
    ways: int = 4
    composed: bool = True

    @staticmethod
    def read(process_parts: int, flow_parts: int) -> UnitSizes:
        """By the registers `process_parts` and `flow_parts`."""
        inputs, conditions, words, updates = (process_parts >> 4 * at & 15 for at in range(4))
        block = BlockSizes(inputs, conditions, words, updates, process_parts >> 16 & 0xFF, process_parts >> 24)
        key_words, ways, sets = flow_parts >> 16 & 0xFF, flow_parts >> 8 & 0xFF, 1 << (flow_parts & 0xFF)
        return UnitSizes(block, key_words, sets, ways, bool(flow_parts >> 24 & 1))


@dataclass(frozen=True)
class StatefulImage:
    """What the memories of a stateful unit hold. `secret` is that of its flow table. The flows of a program are those of its
    epoch."""

    sizes: UnitSizes
    secret: int
    programs: tuple[ProcessProgram, ProcessProgram]
    epochs: tuple[int, int] = (0, 0)
    settings: L.FlowSettings = field(default_factory=L.FlowSettings)

    @staticmethod
    def of(sizes: UnitSizes, secret: int) -> StatefulImage:
        """Of a unit without a program: packets leave."""
        nothing = assembled(NO_PROGRAM, "no program", sizes.block)
        return StatefulImage(sizes, secret, (nothing, nothing))

    def with_program(self, program: ProcessProgram | None, version: int) -> StatefulImage:
        """This image with another program as `version`; None: packets leave. Raises ProgramError where it does not fit."""
        program = program or assembled(NO_PROGRAM, "no program", self.sizes.block)
        if program.sizes != self.sizes.block:
            raise ProgramError(f"the program is made for {program.sizes}; hint: this unit has {self.sizes.block}")
        if program.key.words > self.sizes.key_words:
            text = f"key: {program.key.words} words of 16 bits"
            raise ProgramError(f"{text}; hint: the keys of this unit have {self.sizes.key_words}")
        running = self.epochs[1 - version]
        epoch = running if program.key.keep else (running + 1) % EPOCHS
        settings = L.FlowSettings(self.secret, program.key.timeout, int(program.key.evict), int(epoch < running))
        return replace(
            self,
            programs=(program, self.programs[1]) if version == 0 else (self.programs[0], program),
            epochs=(epoch, self.epochs[1]) if version == 0 else (self.epochs[0], epoch),
            settings=settings,
        )

    def selector(self, version: int) -> L.FlowSelector:
        """Of a version, in its epoch."""
        return self.programs[version].key.selector.replace(epoch=self.epochs[version])

    def writes(self, unit: int, before: StatefulImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from the image before the last `with_program`, or from memories of unknown content; global
        and table state are 0 then. They can be made under traffic of the other version, but the settings are of both."""
        if before is None:
            for number in range(2 * L.PROCESS_SHARED_WORDS):
                yield shared_write(unit, number, 0)
        for version, program in enumerate(self.programs):
            old = before.programs[version].words if before else {}
            for write in program.writes(version):
                if old.get((write.memory, write.address & VERSION_BIT - 1)) != write.data:
                    yield L.PipelineWrite(write.data, write.memory << PROCESS_SHIFT | write.address, unit, L.UNIT_MEMORY_PROCESS)
            if before is None or before.selector(version) != self.selector(version):
                yield L.PipelineWrite(self.selector(version).to_int(), version, unit, L.UNIT_MEMORY_SELECTOR)
        if before is None or before.settings != self.settings or self.settings.flush:
            yield L.PipelineWrite(self.settings.to_int(), 0, unit, L.UNIT_MEMORY_FLOWS)


def shared_write(unit: int, number: int, value: int) -> L.PipelineWrite:
    """Sets a word of 64 bits of global state, or with PROCESS_SHARED_WORDS more of table state."""
    return L.PipelineWrite(value, L.PROCESS_MEMORY_SHARED << PROCESS_SHIFT | number, unit, L.UNIT_MEMORY_PROCESS)
