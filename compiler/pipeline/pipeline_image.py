# SPDX-License-Identifier: Apache-2.0
"""A program of the whole pipeline, and the writes that load it beside the one that runs."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import sluice_layouts as L

from compiler.pipeline.deparser_image import DeparserImage
from compiler.pipeline.parser_image import ParserImage
from compiler.pipeline.parser_program import HeaderProgram, ProgramError
from compiler.pipeline.unit_image import NOTHING, UnitImage, UnitProgram
from compiler.stateful.image import StatefulImage, UnitSizes
from compiler.stateful.program import ProcessProgram


@dataclass(frozen=True)
class PipelineProgram:
    """What headers are and how they are written back, and what each unit does; unit 0 comes first. The first of `splices` is
    number 1 of the actions' `splice`. The unit of a program of `stateful` is a stateful one, and has NOTHING in `units`."""

    headers: HeaderProgram
    units: tuple[UnitProgram, ...]
    splices: tuple[L.SpliceRow, ...] = ()
    stateful: Mapping[int, ProcessProgram] = field(default_factory=dict)


@dataclass(frozen=True)
class PipelineImage:
    """What the memories of a pipeline hold. A change of it is loaded under traffic of the other version."""

    parser: ParserImage
    deparser: DeparserImage
    units: tuple[UnitImage, ...]
    stateful: Mapping[int, StatefulImage] = field(default_factory=dict)  # of these units, in place of those in `units`

    @staticmethod
    def of(
        stages: int,
        units: int,
        writers: int,
        exact_entries: int,
        ternary_entries: int,
        *,
        stateful: Mapping[int, UnitSizes] | None = None,
        secret: int = 0,
    ) -> PipelineImage:
        """Of a pipeline of this size, without a program. `secret`: of the flow tables of stateful units."""
        return PipelineImage(
            ParserImage(stages),
            DeparserImage(writers),
            tuple(UnitImage(exact_entries, ternary_entries) for _ in range(units)),
            {number: StatefulImage.of(sizes, secret) for number, sizes in (stateful or {}).items()},
        )

    def with_program(self, program: PipelineProgram, version: int) -> PipelineImage:
        """This image with another program as `version`. Raises ProgramError where something has no place; nothing is lost then."""
        if len(program.units) > len(self.units):
            raise ProgramError(f"{len(program.units)} units; hint: this pipeline has {len(self.units)}")
        units = []
        for number, (unit, one) in enumerate(zip_longest(self.units, program.units, fillvalue=None)):
            try:
                if one is not None:
                    _check_passes(number, one, len(program.units))
                units.append((unit or self.units[0]).with_program(one or NOTHING, version))
            except ProgramError as error:
                raise ProgramError(f"unit {number}: {error}") from error
        headers = program.headers
        stateful = self._stateful(program, version)
        return replace(
            self,
            parser=self.parser.with_program(headers.parser, version),
            deparser=self.deparser.with_program(headers.deparser, version, program.splices),
            units=tuple(units),
            stateful=stateful,
        )

    def _stateful(self, program: PipelineProgram, version: int) -> Mapping[int, StatefulImage]:
        for number, wanted in program.stateful.items():
            if number not in self.stateful:
                known = ", ".join(map(str, self.stateful)) or "none"
                raise ProgramError(f"unit {number}: a stateful program; hint: the stateful units of this pipeline: {known}")
            for entry in wanted.entries:
                _check_pass(number, entry.decision.again, len(program.units))
        images = {}
        for number, unit in self.stateful.items():
            if program.units[number : number + 1] not in ((), (NOTHING,)):
                raise ProgramError(f"unit {number}: it is a stateful one; hint: a stateful program")
            try:
                images[number] = unit.with_program(program.stateful.get(number), version)
            except ProgramError as error:
                raise ProgramError(f"unit {number}: {error}") from error
        return images

    def writes(self, before: PipelineImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from the image before the last `with_program`, or from memories of unknown content."""
        yield from self.parser.writes(before.parser if before else None)
        yield from self.deparser.writes(before.deparser if before else None)
        for number, unit in enumerate(self.units):
            if (stateful := self.stateful.get(number)) is None:
                yield from unit.writes(number, before.units[number] if before else None)
            else:
                yield from stateful.writes(number, before.stateful[number] if before else None)


def _check_passes(number: int, unit: UnitProgram, units: int) -> None:
    """Raises ProgramError where an action asks for a pass that the device may refuse."""
    for done in (*(entry.action for entry in unit.entries), unit.miss):
        _check_pass(number, done.again, units)


def _check_pass(number: int, again: int, units: int) -> None:
    if again and not number < again < units:
        text = f"a packet that enters once more cannot begin at unit {again}"
        raise ProgramError(f"{text}; hint: a unit above this one, of {units}")


def accesses(writes: Iterator[L.PipelineWrite], stateful: Container[int] = ()) -> Iterator[tuple[int, int]]:
    """(address, word) of the register writes in the pipeline's window that make these writes, with these units stateful ones; words
    that `data` holds already are not written again."""
    data = [-1] * L.PIPELINE_REGISTERS_DATA_COUNT
    for write in writes:
        for number in range(_words(write.memory, write.unit in stateful)):
            word = write.data >> 32 * number & 0xFFFFFFFF
            if word != data[number]:
                data[number] = word
                yield L.PIPELINE_REGISTERS_DATA + 4 * number, word
        yield L.PIPELINE_REGISTERS_PLACE, write.memory << 20 | write.unit << 16 | write.address


@functools.cache
def _words(memory: int, stateful: bool) -> int:
    """Words of data that a memory takes."""
    bits = {
        L.PARSER_MEMORY_MATCH: L.ParserKey.BITS,
        L.PARSER_MEMORY_STEP: L.ParserStep.BITS,
        L.DEPARSER_MEMORY_ROW: L.DeparserRow.BITS,
        L.DEPARSER_MEMORY_CHECKSUM_ROW: L.ChecksumRow.BITS,
        L.DEPARSER_MEMORY_SPLICE: L.SpliceRow.BITS,
        L.UNIT_MEMORY_SELECTOR: L.FlowSelector.BITS if stateful else L.UnitSelector.BITS,
        L.UNIT_MEMORY_PROCESS: 72,
        L.UNIT_MEMORY_FLOWS: L.FlowSettings.BITS,
        L.UNIT_MEMORY_EXACT: L.UnitExact.BITS,
        L.UNIT_MEMORY_TERNARY: L.UnitExact.BITS,
        L.UNIT_MEMORY_ACTION: L.UnitAction.BITS,
    }
    return (bits.get(L.PipelineMemory(memory), 32) + 31) // 32
