# SPDX-License-Identifier: Apache-2.0
"""Model of `sl_lpm_table`: what a table of ternary rules with priorities holds, answers and refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice_layouts import Instruction, InstructionKind, Status


@dataclass(frozen=True)
class Rule:
    """A rule: a key matches where it agrees with `value` in the bits of `mask`."""

    value: int
    mask: int
    priority: int

    def matches(self, key: int) -> bool:
        """Whether `key` agrees in every bit of the mask."""
        return (key ^ self.value) & self.mask == 0


def prefix_rule(address: int, length: int, key_bits: int) -> Rule:
    """The rule of a prefix; its priority is its length."""
    mask = ((1 << length) - 1) << (key_bits - length)
    return Rule(address & mask, mask, length)


def is_prefix(mask: int, key_bits: int) -> bool:
    """Whether the ones of `mask` stand at its top, without a gap."""
    zeros = ~mask & ((1 << key_bits) - 1)
    return zeros & (zeros + 1) == 0


@dataclass
class TernaryModel:
    """A table of `entries` rules, rule ids from 0 to `entries` - 1."""

    key_bits: int
    entries: int
    priority_bits: int
    prefix_only: bool = True
    rules: dict[int, Rule] = field(default_factory=dict)

    def status(self, op: Instruction) -> Status:
        """What the table answers to `op` as things are."""
        match op.kind:
            case InstructionKind.INSTRUCTION_INITIALIZE:
                return Status.STATUS_OK
            case InstructionKind.INSTRUCTION_POPULATE | InstructionKind.INSTRUCTION_UPDATE:
                bad_mask = self.prefix_only and not is_prefix(op.mask & ((1 << self.key_bits) - 1), self.key_bits)
                if bad_mask or op.rule_id >= self.entries or op.rule_priority >> self.priority_bits:
                    return Status.STATUS_EINVAL
            case InstructionKind.INSTRUCTION_DELETE:
                if op.rule_id >= self.entries:
                    return Status.STATUS_EINVAL
            case _:
                return Status.STATUS_EINVAL
        return self._status_of_rule(op)

    def _status_of_rule(self, op: Instruction) -> Status:
        present = op.rule_id in self.rules
        if op.kind != InstructionKind.INSTRUCTION_POPULATE:
            return Status.STATUS_OK if present else Status.STATUS_ENOENT
        if present:
            return Status.STATUS_EEXIST
        return Status.STATUS_ENOSPC if len(self.rules) == self.entries else Status.STATUS_OK

    def commit(self, op: Instruction) -> None:
        """Take over what `op` changes; its status was OK."""
        if op.kind == InstructionKind.INSTRUCTION_INITIALIZE:
            self.rules.clear()
        elif op.kind == InstructionKind.INSTRUCTION_DELETE:
            del self.rules[op.rule_id]
        else:
            self.rules[op.rule_id] = Rule(op.value, op.mask, op.rule_priority)

    def matching(self, key: int) -> Iterator[tuple[int, Rule]]:
        """All rules that match, in no order."""
        return ((rule_id, rule) for rule_id, rule in self.rules.items() if rule.matches(key))

    def winners(self, key: int) -> frozenset[int]:
        """The ids that a lookup may answer: of the matching rules, those of the highest priority; empty: a miss."""
        matching = list(self.matching(key))
        best = max((rule.priority for _, rule in matching), default=0)
        return frozenset(rule_id for rule_id, rule in matching if rule.priority == best)
