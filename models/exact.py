# SPDX-License-Identifier: Apache-2.0
"""Model of the exact-match tables: what an operation must answer. Where the hardware may refuse for want of a path (ENOSPC), the
caller tells the model what the hardware said.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sluice_layouts import InstructionKind, Status


@dataclass
class ExactModel:
    """The rules of a table by key and by rule id."""

    key_bits: int
    entries: int
    by_key: dict[int, int] = field(default_factory=dict)
    by_id: dict[int, int] = field(default_factory=dict)

    def expect(self, kind: InstructionKind, rule_id: int, key: int, mask: int) -> Status:
        """What the table must answer (OK for a populate may also be ENOSPC); changes nothing."""
        if kind == InstructionKind.INSTRUCTION_INITIALIZE:
            return Status.STATUS_OK
        full = (1 << self.key_bits) - 1
        if rule_id >= self.entries or (kind != InstructionKind.INSTRUCTION_DELETE and mask & full != full):
            return Status.STATUS_EINVAL
        if kind == InstructionKind.INSTRUCTION_POPULATE:
            return Status.STATUS_EEXIST if rule_id in self.by_id or key in self.by_key else Status.STATUS_OK
        if rule_id not in self.by_id:
            return Status.STATUS_ENOENT
        if kind == InstructionKind.INSTRUCTION_UPDATE and self.by_id[rule_id] != key:
            return Status.STATUS_EINVAL
        return Status.STATUS_OK

    def commit(self, kind: InstructionKind, rule_id: int, key: int) -> None:
        """The operation takes effect."""
        if kind == InstructionKind.INSTRUCTION_INITIALIZE:
            self.by_key.clear()
            self.by_id.clear()
        elif kind == InstructionKind.INSTRUCTION_POPULATE:
            self.by_key[key] = rule_id
            self.by_id[rule_id] = key
        elif kind == InstructionKind.INSTRUCTION_DELETE:
            del self.by_key[self.by_id.pop(rule_id)]
