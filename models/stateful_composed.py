# SPDX-License-Identifier: Apache-2.0
"""Reference model of composed updates: the state that a packet leaves, where each update is chosen before its word is known.

It says what a unit makes of a state by the settings of its program (`process_composed_t`); `models/stateful.py` says what is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sluice_layouts as L

from models.stateful import VERSION_SHIFT, Packet, Process, computed, lane_mask

LABEL_MASK = 0xFF << L.PROCESS_LABEL_LOW


@dataclass(frozen=True)
class ComposedProcess:
    """A process block with the settings of its memories; words that are not known yet read `unknown`."""

    process: Process
    unknown: int = 0

    def after(self, packet: Packet, flow: Sequence[int]) -> tuple[int, ...]:
        """The new state."""
        version = packet.phv.parsed.version
        settings = L.ProcessComposed.from_int(self.process.memories[L.PROCESS_MEMORY_COMPOSED, version << VERSION_SHIFT])
        inputs = self.process.inputs(packet, version)
        known = [self.unknown] * len(flow)
        after = list(flow)
        for stage in range(2):
            conditions = self.process.conditions(inputs, known, version)
            label = flow[0] >> L.PROCESS_LABEL_LOW
            for word in range(len(flow)):
                if settings.second >> word & 1 == stage:
                    row = self._row(known[0] >> L.PROCESS_LABEL_LOW, conditions, version)
                    lanes = settings.lanes[word] & (7 if word == 0 else 15)
                    changed = self._updated(word, row, inputs, known, flow[word] & lane_mask(lanes), lanes, version)
                    after[word] = after[word] & ~lane_mask(lanes) | changed
            if settings.label_second == stage:
                row = self._row(label, conditions, version)
                new = row.label if row.sets_label else label
                after[0] = after[0] & ~LABEL_MASK | new << L.PROCESS_LABEL_LOW
            first = [settings.second >> word & 1 == 0 for word in range(len(flow))]
            known = [word if is_known else self.unknown for word, is_known in zip(flow, first, strict=True)]
            shown = flow[0] if not settings.label_second else self.unknown
            known[0] = known[0] & ~LABEL_MASK | shown & LABEL_MASK
        return tuple(after)

    def _row(self, label: int, conditions: int, version: int) -> L.ProcessEntry:
        entry = self.process.entry(label, conditions, version)
        return L.ProcessEntry.from_int(self.process.memories[L.PROCESS_MEMORY_ENTRY, version << VERSION_SHIFT | entry])

    def _updated(
        self, word: int, row: L.ProcessEntry, inputs: Sequence[int], known: Sequence[int], own: int, lanes: int, version: int
    ) -> int:
        if not (choice := row.updates[word] % (self.process.sizes.updates + 1)):
            return own
        address = version << VERSION_SHIFT | word << 4 | choice - 1
        one = L.ProcessInstruction.from_int(self.process.memories[L.PROCESS_MEMORY_UPDATE, address])
        operand = one.a if one.b.source == L.PROCESS_OPERAND_BEFORE + word else one.b
        other = self.process.operand(operand, one.immediate, inputs, known)
        return computed(one.kind, lanes, 0, own, other) & lane_mask(lanes)
