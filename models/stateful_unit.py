# SPDX-License-Identifier: Apache-2.0
"""Reference model of a stateful unit: one packet after another, each with the state of its flow. docs/design/stateful_unit.md

Flows outlive a program: those of a unit are shared by the models of the programs that it runs, one after another or, while packets
of the older one are in flight, side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sluice_layouts as L

from models.flow_place import FlowPlace, Placement
from models.stateful import Packet, Process
from models.unit_program import sources_of


@dataclass
class Flows:
    """The flows of a unit with their states, by set and way; a key has so many words. `shared`: global, then table state."""

    table: FlowPlace
    key_words: int = L.FLOW_KEY_WORDS
    states: dict[tuple[int, int], Sequence[int]] = field(default_factory=dict)
    shared: list[int] = field(default_factory=lambda: [0] * 2 * L.PROCESS_SHARED_WORDS)


@dataclass(frozen=True)
class StatefulUnit:
    """A program of a stateful unit."""

    selector: L.FlowSelector
    process: Process
    flows: Flows

    def run(self, phv: L.PipelinePhv, tick: int) -> tuple[L.PipelinePhv, Placement]:
        """A packet of this unit that enters at a tick; where its flow is."""
        key = key_of(self.selector, phv, self.flows.key_words)
        placement = self.flows.table.find_or_insert(key, tick, inserts(self.selector, phv))
        at = placement.set, placement.way
        state = self.flows.states[at] if placement.found else (0,) * self.process.sizes.words
        outcome = self.process.run(Packet(phv, tick), state, self.flows.shared)
        if placement.found or placement.new:
            self.flows.states[at] = outcome.flow
        return outcome.packet.phv, placement


def key_of(selector: L.FlowSelector, phv: L.PipelinePhv, key_words: int = L.FLOW_KEY_WORDS) -> int:
    """The key of a packet's flow, below the epoch of the program."""
    sources = sources_of(phv)
    words = (sources[number] if number < L.UNIT_SOURCES else 0 for number in selector.words[:key_words])
    key = sum(word << 16 * at for at, word in enumerate(words)) & selector.mask
    return selector.epoch << 16 * key_words | key


def inserts(selector: L.FlowSelector, phv: L.PipelinePhv) -> bool:
    """Whether a packet without a flow makes one."""
    source = sources_of(phv)[selector.insert_source] if selector.insert_source < L.UNIT_SOURCES else 0xFFFF
    return bool(source & selector.insert_mask)
