# SPDX-License-Identifier: Apache-2.0
"""Reference model of the programmable pipeline: parser, units and deparser on one packet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sluice_layouts as L

from models.deparser_program import Checksums, Writers, deparse
from models.parser_program import Stage, parse, stages_of
from models.unit_program import Entry, execute, find


@dataclass(frozen=True)
class Unit:
    """A unit's program: its key, its entries (the first that matches is taken), its action without a match."""

    selector: L.UnitSelector
    entries: Sequence[Entry]
    miss: L.UnitAction


@dataclass(frozen=True)
class Pipeline:
    """A program of the pipeline."""

    start: L.ParserStart
    stages: Sequence[Stage]
    units: Sequence[Unit]
    writers: Writers
    checksums: Checksums

    def run(self, data: bytes, port: int) -> tuple[bytes, L.Meta] | None:
        """The packet that leaves, with its metadata but for the timestamp; None: it was dropped."""
        parsed = parse(self.start, self.stages, data, port=port)
        meta = L.Meta(ingress_port=port, length=len(data), fault=parsed.fault)
        if parsed.fault:
            meta.verdict, meta.mark = L.VERDICT_TO_HOST, self._mark(parsed)
            return data, meta
        original = [*parsed.containers]
        phv, _ = self._looked_up(parsed)
        if phv.verdict == L.VERDICT_DROP or (phv.verdict == L.VERDICT_FORWARD and not phv.egress_mask):
            return None
        phv.verdict = phv.verdict if phv.verdict != L.VERDICT_PASS else L.VERDICT_TO_HOST
        meta.verdict, meta.egress_mask, meta.queue, meta.mark = phv.verdict, phv.egress_mask, phv.queue, self._mark(phv.parsed)
        return deparse(self.writers, self.checksums, phv.parsed, original, data), meta

    def lookups(self, data: bytes, port: int) -> list[tuple[int, int | None]]:
        """The units that look the packet up, each with the number of the entry that matches."""
        parsed = parse(self.start, self.stages, data, port=port)
        return [] if parsed.fault else self._looked_up(parsed)[1]

    def _looked_up(self, parsed: L.Parsed) -> tuple[L.PipelinePhv, list[tuple[int, int | None]]]:
        phv, lookups = L.PipelinePhv(parsed), []
        for number, unit in enumerate(self.units):
            if phv.next == number:
                entry = find(unit.selector, unit.entries, phv)
                lookups.append((number, entry))
                phv = execute(unit.miss if entry is None else unit.entries[entry][2], phv)
        return phv, lookups

    @staticmethod
    def _mark(parsed: L.Parsed) -> int:
        return parsed.containers[L.PIPELINE_MARK] << 16 | parsed.containers[L.PIPELINE_MARK + 1]


def model_of(program: Any) -> Pipeline:
    """The model of a `compiler.pipeline.pipeline_image.PipelineProgram`."""
    parser, deparser = program.headers.parser, program.headers.deparser
    units = [Unit(unit.selector, [(one.value, one.mask, one.action) for one in unit.entries], unit.miss) for unit in program.units]
    return Pipeline(parser.start, stages_of(parser), units, deparser.writers, deparser.checksums)
