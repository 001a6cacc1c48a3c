# SPDX-License-Identifier: Apache-2.0
"""Reference model of a unit of the programmable pipeline: the key of a packet, the entry that matches, what its action does."""

from __future__ import annotations

from collections.abc import Sequence

import sluice_layouts as L

Entry = tuple[int, int, L.UnitAction]  # value, mask, action
WORD = 0xFFFF


def sources_of(phv: L.PipelinePhv) -> list[int]:
    """What keys and operands are selected from."""
    headers = sum(base.valid << number for number, base in enumerate(phv.parsed.bases))
    return [*phv.parsed.containers, phv.parsed.ingress_port, phv.parsed.length, headers, 0]


def copied(phv: L.PipelinePhv) -> L.PipelinePhv:
    """A packet whose fields and containers can change."""
    return phv.replace(parsed=phv.parsed.replace(containers=[*phv.parsed.containers]))


def key_of(selector: L.UnitSelector, phv: L.PipelinePhv) -> int:
    """The key, of 128 bits."""
    sources = sources_of(phv)
    return sum(sources[number] << 16 * at for at, number in enumerate(selector.words)) & selector.mask


def find(selector: L.UnitSelector, entries: Sequence[Entry], phv: L.PipelinePhv) -> int | None:
    """The number of the entry that the packet matches."""
    key = key_of(selector, phv)
    for number, (value, mask, _) in enumerate(entries):
        if not (key ^ value) & (selector.mask if selector.exact else mask):
            return number
    return None


def execute(action: L.UnitAction, phv: L.PipelinePhv) -> L.PipelinePhv:
    """The packet after an action."""
    out = copied(phv)
    sources = sources_of(phv)
    expired = False
    for column, operation in enumerate(action.operations):
        container = L.UNIT_OPERATIONS * operation.row + column
        old = phv.parsed.containers[container] if container < L.PIPELINE_CONTAINERS else 0
        operand = sources[operation.source] if operation.source < L.UNIT_SOURCES else operation.immediate
        lowest = operation.mask & -operation.mask
        new = {
            L.OPERATOR_NONE: old,
            L.OPERATOR_SET: operand,
            L.OPERATOR_ADD: old + operand,
            L.OPERATOR_SUBTRACT: old - operand,
            L.OPERATOR_AND: old & operand,
            L.OPERATOR_OR: old | operand,
            L.OPERATOR_XOR: old ^ operand,
            L.OPERATOR_COUNT_DOWN: old - lowest,
        }[L.UnitOperator(operation.kind)]
        expired |= operation.kind == L.OPERATOR_COUNT_DOWN and old & operation.mask <= lowest
        if container < L.PIPELINE_CONTAINERS:
            out.parsed.containers[container] = (old & ~operation.mask | new & operation.mask) & WORD
    out.next = action.next
    if action.verdict != L.VERDICT_PASS:
        out.verdict, out.egress_mask, out.queue = action.verdict, action.egress_mask, action.queue
    out.splice, out.again = action.splice or phv.splice, action.again or phv.again
    if expired:
        out.verdict, out.next, out.again = L.VERDICT_DROP, L.UNIT_END, 0
    return out
