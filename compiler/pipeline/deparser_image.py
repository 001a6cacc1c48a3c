# SPDX-License-Identifier: Apache-2.0
"""The memories of the programmable deparser with two versions of its program, and the writes that bring them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sluice_layouts as L

from compiler.pipeline.parser_program import DeparserProgram, ProgramError


@dataclass(frozen=True)
class DeparserImage:
    """What the memories of a deparser hold: data by (memory, unit, address). Kinds without a row write nothing."""

    writers: int = L.DEPARSER_WRITERS
    words: Mapping[tuple[L.PipelineMemory, int, int], int] | None = None

    def with_program(self, program: DeparserProgram, version: int) -> DeparserImage:
        """This image with another program as `version`. Raises ProgramError where the deparser has too few writers."""
        if len(program.writers) > self.writers:
            text = f"{len(program.writers)} headers to write back; hint: this deparser has {self.writers} writers"
            raise ProgramError(text)
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
        return DeparserImage(self.writers, words)

    def writes(self, before: DeparserImage | None = None) -> Iterator[L.PipelineWrite]:
        """All writes to bring this about from `before`, or from memories of unknown content."""
        old = (before.words if before else None) or {}
        for (memory, unit, address), data in (self.words or {}).items():
            if old.get((memory, unit, address)) != data:
                yield L.PipelineWrite(data, address, unit, memory)
