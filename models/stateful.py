# SPDX-License-Identifier: Apache-2.0
"""Reference model of the process block of the stateful unit: one packet with the state of its flow, by the words of its memories.

It defines the result for every content of the memories, also one that no assembler makes. docs/design/stateful_process.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import sluice_layouts as L

from models.unit_program import copied, sources_of

WORD = 0xFFFFFFFF
VERSION_SHIFT = 10
Memories = Mapping[tuple[int, int], int]  # memory and address: word


@dataclass(frozen=True)
class Sizes:
    """What a block has; the defaults are those of the layout."""

    inputs: int = L.PROCESS_INPUTS
    conditions: int = L.PROCESS_CONDITIONS
    words: int = L.PROCESS_WORDS
    updates: int = L.PROCESS_UPDATES
    entries: int = L.PROCESS_ENTRIES
    actions: int = L.PROCESS_ACTIONS


@dataclass(frozen=True)
class Packet:
    """A packet as it enters."""

    phv: L.PipelinePhv
    tick: int = 0


@dataclass(frozen=True)
class Outcome:
    """The packet that leaves, the new state of its flow, and the entry that was taken."""

    packet: Packet
    flow: tuple[int, ...]
    entry: int


@cache
def lane_mask(lanes: int) -> int:
    """The bits of the bytes in `lanes`."""
    return sum(0xFF << 8 * lane for lane in range(4) if lanes >> lane & 1)


def rotated(word: int, bits: int) -> int:
    """Rotated right."""
    return (word >> bits | word << 32 - bits) & WORD


def computed(kind: int, lanes: int, bits: int, a: int, b: int) -> int:
    """The word that an instruction computes."""
    signs = sum(0x80 << 8 * lane for lane in range(4) if lanes >> lane & 1 and not lanes >> lane + 1 & 1)
    ones = sum(1 << 8 * lane for lane in range(4) if lanes >> lane & 1 and not (lanes << 1) >> lane & 1)
    signed_less = (a ^ signs) < (b ^ signs)
    clamped = (a | lane_mask(~lanes & 15)) + b
    return {
        L.KIND_SET: b,
        L.KIND_ADD: a + b,
        L.KIND_SUBTRACT: a - b,
        L.KIND_ADD_CLAMPED: WORD if clamped > WORD else clamped,
        L.KIND_SUBTRACT_CLAMPED: max(a - b, 0),
        L.KIND_AND: a & b,
        L.KIND_OR: a | b,
        L.KIND_XOR: a ^ b,
        L.KIND_AND_NOT: a & ~b,
        L.KIND_ROTATE: rotated(a, bits) & b,
        L.KIND_MINIMUM: min(a, b),
        L.KIND_MAXIMUM: max(a, b),
        L.KIND_MINIMUM_SIGNED: a if signed_less else b,
        L.KIND_MAXIMUM_SIGNED: b if signed_less else a,
        L.KIND_LESS: ones if a < b else 0,
        L.KIND_LESS_SIGNED: ones if signed_less else 0,
    }[L.ProcessKind(kind)] & WORD


def compared(kind: int, a: int, b: int) -> bool:
    """A condition."""
    signed_a, signed_b = ((one ^ 0x80000000) - 0x80000000 for one in (a, b))
    return {
        L.COMPARISON_EQUAL: a == b,
        L.COMPARISON_NOT_EQUAL: a != b,
        L.COMPARISON_LESS: a < b,
        L.COMPARISON_LESS_EQUAL: a <= b,
        L.COMPARISON_LESS_SIGNED: signed_a < signed_b,
        L.COMPARISON_LESS_EQUAL_SIGNED: signed_a <= signed_b,
        L.COMPARISON_BEFORE: bool(a - b & 0x80000000),
        L.COMPARISON_ANY: bool(a & b),
    }[L.ProcessComparison(kind)]


def action_address(entry: int, alu: int) -> int:
    """Of an action in its memory."""
    return alu >> 4 << 9 | entry << 4 | alu & 15


def half_words(packet: Packet) -> list[int]:
    """The half words of a packet by the number of their source."""
    halves = [*sources_of(packet.phv), packet.tick >> 16, packet.tick & 0xFFFF]
    return halves + [0] * (L.PROCESS_SOURCES + 1 - len(halves))


@dataclass(frozen=True)
class Process:
    """A process block with its memories."""

    memories: Memories
    sizes: Sizes = Sizes()

    def run(self, packet: Packet, flow: Sequence[int], shared: Sequence[int] = ()) -> Outcome:
        """A packet with its flow's state. `shared`: global, then table state, 64 bits each; empty: those of the memories."""
        version = packet.phv.parsed.version
        inputs = self.inputs(packet, version, shared)
        conditions = self.conditions(inputs, flow, version)
        entry = self.entry(flow[0] >> L.PROCESS_LABEL_LOW, conditions, version)
        after = self.updated(inputs, flow, entry, version)
        return Outcome(self.acted(packet, inputs, flow, after, entry, version), after, entry)

    def inputs(self, packet: Packet, version: int, shared: Sequence[int] = ()) -> list[int]:
        halves = half_words(packet)
        shared = shared or [self._word(L.PROCESS_MEMORY_SHARED, n) for n in range(2 * L.PROCESS_SHARED_WORDS)]
        instructions = [L.ProcessInput.from_int(self._word(L.PROCESS_MEMORY_INPUT, n, version)) for n in range(self.sizes.inputs)]
        sources = []
        for one in instructions:
            source, number = 0, one.source - L.PROCESS_SOURCE_SHARED
            if number < 0:
                source = halves[one.source] << 16 | halves[one.source + 1]
            elif number < 2 * len(shared):
                source = shared[number // 2] >> (0 if number % 2 else 32) & WORD
            sources.append(rotated(source, 8 * one.rotate) & lane_mask(one.source_lanes))
        seconds = [sources[n - 1] if one.neighbour else one.immediate for n, one in enumerate(instructions)]
        return [
            computed(one.kind, one.lanes, one.bits, a, b) & lane_mask(one.lanes)
            for one, a, b in zip(instructions, sources, seconds, strict=True)
        ]

    def conditions(self, inputs: Sequence[int], flow: Sequence[int], version: int) -> int:
        bits = 0
        for n in range(self.sizes.conditions):
            one = L.ProcessCondition.from_int(self._word(L.PROCESS_MEMORY_CONDITION, n, version))
            a, b = (self.operand(operand, one.immediate, inputs, flow) for operand in (one.a, one.b))
            bits |= compared(one.kind, a, b) << n
        return bits

    def entry(self, label: int, conditions: int, version: int) -> int:
        """The first entry that matches; the last one if none does."""
        nibbles = [(2, label & 15), (3, label >> 4), *((n, conditions >> 4 * n & 15) for n in range(self.sizes.conditions // 4))]
        for entry in range(self.sizes.entries - 1):
            group, member = divmod(entry, 16)
            words = {n: self._word(L.PROCESS_MEMORY_MATCH, group << 4 | value, version) for n, value in nibbles}
            if all(word >> 16 * n + member & 1 for n, word in words.items()):
                return entry
        return self.sizes.entries - 1

    def updated(self, inputs: Sequence[int], flow: Sequence[int], entry: int, version: int) -> tuple[int, ...]:
        row = L.ProcessEntry.from_int(self._word(L.PROCESS_MEMORY_ENTRY, entry, version))
        after = list(flow)
        for word, choice in enumerate(row.updates[: self.sizes.words]):
            if update := choice % (self.sizes.updates + 1):
                one = L.ProcessInstruction.from_int(self._word(L.PROCESS_MEMORY_UPDATE, word << 4 | update - 1, version))
                after[word] = self._executed(one, inputs, flow, flow, flow[word], None)
        if row.sets_label:
            after[0] = after[0] & 0xFFFFFF | row.label << L.PROCESS_LABEL_LOW
        return tuple(after)

    def acted(
        self, packet: Packet, inputs: Sequence[int], before: Sequence[int], after: Sequence[int], entry: int, version: int
    ) -> Packet:
        containers = packet.phv.parsed.containers
        words = [high << 16 | low for high, low in zip(containers[::2], containers[1::2], strict=True)]
        written = list(words)
        for alu in range(self.sizes.actions):
            action = L.ProcessAction.from_int(self._word(L.PROCESS_MEMORY_ACTION, action_address(entry, alu), version))
            word = alu + self.sizes.actions * action.row
            if word < len(words):
                written[word] = self._executed(action.instruction, inputs, before, after, words[word], words[word])
        phv = copied(packet.phv)
        phv.parsed.containers = [half for word in written for half in (word >> 16, word & 0xFFFF)]
        decision = L.ProcessDecision.from_int(self._word(L.PROCESS_MEMORY_DECISION, entry, version))
        phv.next = decision.next
        if decision.verdict != L.VERDICT_PASS:
            phv.verdict, phv.egress_mask, phv.queue = decision.verdict, decision.egress_mask, decision.queue
        phv.splice, phv.again = decision.splice or phv.splice, decision.again or phv.again
        return Packet(phv, packet.tick)

    def _executed(
        self,
        one: L.ProcessInstruction,
        inputs: Sequence[int],
        before: Sequence[int],
        after: Sequence[int],
        old: int,
        own: int | None,
    ) -> int:
        a, b = (self._operand(operand, one.immediate, inputs, before, after, own) for operand in (one.a, one.b))
        mask = lane_mask(one.lanes)
        return old & ~mask | computed(one.kind, one.lanes, one.bits, a, b) & mask

    def operand(self, operand: L.ProcessOperand, immediate: int, inputs: Sequence[int], flow: Sequence[int]) -> int:
        """Of a condition or an update."""
        return self._operand(operand, immediate, inputs, flow, flow, None)

    def _operand(
        self,
        operand: L.ProcessOperand,
        immediate: int,
        inputs: Sequence[int],
        before: Sequence[int],
        after: Sequence[int],
        own: int | None,
    ) -> int:
        if operand.source < L.PROCESS_OPERAND_BEFORE:
            return inputs[operand.source] if operand.source < len(inputs) else 0
        if operand.source < L.PROCESS_OPERAND_OWN:
            state = before if operand.source < L.PROCESS_OPERAND_AFTER else after
            word = (operand.source - L.PROCESS_OPERAND_BEFORE) % L.PROCESS_WORDS
            return rotated(state[word], 8 * operand.rotate) & lane_mask(operand.lanes) if word < len(state) else 0
        return own if operand.source == L.PROCESS_OPERAND_OWN and own is not None else immediate

    def _word(self, memory: int, address: int, version: int = 0) -> int:
        return self.memories[memory, version << VERSION_SHIFT | address]
