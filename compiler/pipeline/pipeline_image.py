# SPDX-License-Identifier: Apache-2.0
"""A program of the whole pipeline, and the writes that load it beside the one that runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

import sluice_layouts as L

from compiler.pipeline.deparser_image import DeparserImage
from compiler.pipeline.parser_image import ParserImage
from compiler.pipeline.parser_program import HeaderProgram, ProgramError
from compiler.pipeline.unit_image import NOTHING, UnitImage, UnitProgram


@dataclass(frozen=True)
class PipelineProgram:
    """What headers are and how they are written back, and what each unit does; unit 0 comes first. The first of `splices` is
    number 1 of the actions' `splice`."""

    headers: HeaderProgram
    units: tuple[UnitProgram, ...]
    splices: tuple[L.SpliceRow, ...] = ()


@dataclass(frozen=True)
class PipelineImage:
    """What the memories of a pipeline hold. A change of it is loaded under traffic of the other version."""

    parser: ParserImage
    deparser: DeparserImage
    units: tuple[UnitImage, ...]

    @staticmethod
    def of(stages: int, units: int, writers: int, exact_entries: int, ternary_entries: int) -> PipelineImage:
        """Of a pipeline of this size, without a program."""
        return PipelineImage(
            ParserImage(stages), DeparserImage(writers), tuple(UnitImage(exact_entries, ternary_entries) for _ in range(units))
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
        return replace(
            self,
            parser=self.parser.with_program(headers.parser, version),
            deparser=self.deparser.with_program(headers.deparser, version, program.splices),
            units=tuple(units),
        )

    def writes(self, before: PipelineImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from the image before the last `with_program`, or from memories of unknown content."""
        yield from self.parser.writes(before.parser if before else None)
        yield from self.deparser.writes(before.deparser if before else None)
        for number, unit in enumerate(self.units):
            yield from unit.writes(number, before.units[number] if before else None)


def _check_passes(number: int, unit: UnitProgram, units: int) -> None:
    """Raises ProgramError where an action asks for a pass that the device may refuse."""
    for done in (*(entry.action for entry in unit.entries), unit.miss):
        if done.again and not number < done.again < units:
            text = f"a packet that enters once more cannot begin at unit {done.again}"
            raise ProgramError(f"{text}; hint: a unit above this one, of {units}")


def accesses(writes: Iterator[L.PipelineWrite]) -> Iterator[tuple[int, int]]:
    """(address, word) of the register writes in the pipeline's window that make these writes; words that `data` holds already are
    not written again."""
    data = {L.PIPELINE_REGISTERS_DATA + 4 * number: -1 for number in range(L.PIPELINE_REGISTERS_DATA_COUNT)}
    for write in writes:
        for number, address in enumerate(data):
            word = write.data >> 32 * number & 0xFFFFFFFF
            if word != data[address] and number < _words(write.memory):
                data[address] = word
                yield address, word
        yield L.PIPELINE_REGISTERS_PLACE, write.memory << 20 | write.unit << 16 | write.address


def _words(memory: int) -> int:
    """Words of data that a memory takes."""
    bits = {
        L.PARSER_MEMORY_MATCH: L.ParserKey.BITS,
        L.PARSER_MEMORY_STEP: L.ParserStep.BITS,
        L.DEPARSER_MEMORY_ROW: L.DeparserRow.BITS,
        L.DEPARSER_MEMORY_CHECKSUM_ROW: L.ChecksumRow.BITS,
        L.DEPARSER_MEMORY_SPLICE: L.SpliceRow.BITS,
        L.UNIT_MEMORY_SELECTOR: L.UnitSelector.BITS,
        L.UNIT_MEMORY_EXACT: L.UnitExact.BITS,
        L.UNIT_MEMORY_TERNARY: L.UnitExact.BITS,
        L.UNIT_MEMORY_ACTION: L.UnitAction.BITS,
    }
    return (bits.get(L.PipelineMemory(memory), 32) + 31) // 32
