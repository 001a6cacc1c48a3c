# SPDX-License-Identifier: Apache-2.0
"""Reference model of the programmable pipeline: parser, units and deparser on one packet, in one or more passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sluice_layouts as L

from models.deparser_program import Checksums, Splices, Writers, deparse, repaired, spliced
from models.parser_program import Stage, parse, stages_of
from models.stateful import Process, Sizes
from models.stateful_unit import Flows, StatefulUnit
from models.unit_program import Entry, execute, find


@dataclass(frozen=True)
class Unit:
    """A unit's program: its key, its entries (the first that matches is taken), its action without a match."""

    selector: L.UnitSelector
    entries: Sequence[Entry]
    miss: L.UnitAction


@dataclass(frozen=True)
class Pass:
    """A pass of a packet: as it ends, with its mark and the unit at which the next one begins; what units looked it up, with how
    many bytes; what leaves."""

    data: bytes
    mark: int
    again: int
    lookups: Sequence[tuple[int, int | None]]
    length: int
    left: tuple[bytes, L.Meta] | None


@dataclass(frozen=True)
class Pipeline:
    """A program of the pipeline. Packets come one after another, each at a tick; its passes follow each other at once."""

    start: L.ParserStart
    stages: Sequence[Stage]
    units: Sequence[Unit | StatefulUnit]
    writers: Writers
    checksums: Checksums
    splices: Splices = ()

    def run(self, data: bytes, port: int, tick: int = 0) -> list[tuple[bytes, L.Meta]]:
        """The packets that leave, one for each pass but those that drop it, with their metadata but for the timestamp."""
        return [left for one in self.passes(data, port, tick) if (left := one.left) is not None]

    def lookups(self, data: bytes, port: int, tick: int = 0) -> list[tuple[int, int | None, int]]:
        """The units that look the packet up, in the order of its passes, each with the number of the entry that matches (of a
        stateful unit: 0, if the flow is found) and the bytes that the packet has."""
        return [(unit, entry, one.length) for one in self.passes(data, port, tick) for unit, entry in one.lookups]

    def passes(self, data: bytes, port: int, tick: int = 0) -> Iterator[Pass]:
        """The passes of a packet, at least one."""
        begins, mark, longest = 0, 0, len(data) + L.PASS_GROWTH
        while True:
            one = self._pass(data, port, begins, mark, tick)
            yield one
            if not begins < one.again < len(self.units) or len(one.data) > longest:
                return
            data, begins, mark = one.data, one.again, one.mark

    def _pass(self, data: bytes, port: int, begins: int, mark: int, tick: int) -> Pass:
        parsed = parse(self.start, self.stages, data, port=port, begins=begins, mark=mark)
        original = [*parsed.containers]
        phv, lookups = self._looked_up(parsed, tick)
        written = deparse(self.writers, self.checksums, phv.parsed, original, data)[: len(data)]  # none behind its end
        record = replace(phv.parsed, containers=[*repaired(self.checksums, phv.parsed, original)])
        changed = spliced(self.splices, phv.splice, record, written)
        mark = record.containers[L.PIPELINE_MARK] << 16 | record.containers[L.PIPELINE_MARK + 1]
        dropped = phv.verdict == L.VERDICT_DROP or (phv.verdict == L.VERDICT_FORWARD and not phv.egress_mask)
        meta = L.Meta(ingress_port=port, length=len(changed), fault=parsed.fault, mark=mark)
        meta.verdict = L.VERDICT_TO_HOST if phv.verdict == L.VERDICT_PASS else phv.verdict
        meta.egress_mask, meta.queue = phv.egress_mask, phv.queue
        return Pass(changed, mark, phv.again, lookups, len(data), None if dropped else (changed, meta))

    def _looked_up(self, parsed: L.Parsed, tick: int) -> tuple[L.PipelinePhv, list[tuple[int, int | None]]]:
        phv, lookups = L.PipelinePhv(parsed, next=parsed.begins), []
        for number, unit in enumerate(self.units):
            if phv.next != number or parsed.fault:
                continue
            if isinstance(unit, StatefulUnit):
                phv, placement = unit.run(phv, tick)
                lookups.append((number, 0 if placement.found else None))
            else:
                entry = find(unit.selector, unit.entries, phv)
                lookups.append((number, entry))
                phv = execute(unit.miss if entry is None else unit.entries[entry][2], phv)
        return phv, lookups


def model_of(program: Any, flows: Mapping[int, Flows] | None = None, epochs: Mapping[int, int] | None = None) -> Pipeline:
    """The model of a `compiler.pipeline.pipeline_image.PipelineProgram`. `flows` of stateful units by their number, and `epochs`
    in which the program runs: of the `StatefulImage`."""
    parser, deparser = program.headers.parser, program.headers.deparser
    units: list[Unit | StatefulUnit] = [_unit(unit) for unit in program.units]
    for number, unit in program.stateful.items():
        units[number] = _stateful(unit, (flows or {})[number], (epochs or {}).get(number, 0))
    return Pipeline(parser.start, stages_of(parser), units, deparser.writers, deparser.checksums, program.splices)


def _unit(program: Any) -> Unit:
    return Unit(program.selector, [(one.value, one.mask, one.action) for one in program.entries], program.miss)


def _stateful(program: Any, flows: Flows, epoch: int) -> StatefulUnit:
    """Of a `compiler.stateful.program.ProcessProgram`. Packets have version 0 here."""
    memories = {(write.memory, write.address): write.data for write in program.writes(0)}
    flows.table.timeout, flows.table.evict = program.key.timeout, program.key.evict
    return StatefulUnit(program.key.selector.replace(epoch=epoch), Process(memories, Sizes(**vars(program.sizes))), flows)
