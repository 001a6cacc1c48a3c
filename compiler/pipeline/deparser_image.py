# SPDX-License-Identifier: Apache-2.0
"""The memories of the programmable deparser with two versions of its program, and the writes that bring them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sluice_layouts as L

from compiler.pipeline.parser_program import DeparserProgram, ProgramError


@dataclass(frozen=True)
class DeparserImage:
    """What the memories of a deparser hold: data by (memory, unit, address). Kinds without a row write nothing."""

    writers: int = L.DEPARSER_WRITERS
    words: Mapping[tuple[L.PipelineMemory, int, int], int] | None = None

    def with_program(self, program: DeparserProgram, version: int, splices: Sequence[L.SpliceRow] = ()) -> DeparserImage:
        """This image with another program as `version`. Raises ProgramError where the deparser has too few writers or splices."""
        if len(program.writers) > self.writers:
            text = f"{len(program.writers)} headers to write back; hint: this deparser has {self.writers} writers"
            raise ProgramError(text)
        if len(splices) >= L.SPLICES:
            raise ProgramError(f"{len(splices)} splices; hint: the deparser has {L.SPLICES - 1}, and equal ones can be shared")
        words = dict(self.words or {})
        for count, units, row, base in (
            (self.writers, program.writers, L.DEPARSER_MEMORY_ROW, L.DEPARSER_MEMORY_BASE),
            (L.DEPARSER_CHECKSUMS, program.checksums, L.DEPARSER_MEMORY_CHECKSUM_ROW, L.DEPARSER_MEMORY_CHECKSUM_BASE),
        ):
            for unit in range(count):
                number, rows = units[unit] if unit < len(units) else (0, {})
                words[base, unit, version] = number
                for kind in range(L.PARSER_KINDS):
                    words[row, unit, version * L.PARSER_KINDS + kind] = rows[kind].to_int() if kind in rows else 0
        for number in range(1, L.SPLICES):
            data = splices[number - 1].to_int() if number <= len(splices) else 0
            words[L.DEPARSER_MEMORY_SPLICE, 0, version * L.SPLICES + number] = data
        return DeparserImage(self.writers, words)

    def writes(self, before: DeparserImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from `before`, or from memories of unknown content."""
        old = (before.words if before else None) or {}
        for (memory, unit, address), data in (self.words or {}).items():
            if old.get((memory, unit, address)) != data:
                yield L.PipelineWrite(data, address, unit, memory)
