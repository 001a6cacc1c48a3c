# SPDX-License-Identifier: Apache-2.0
"""What becomes of a word of a packet, as an operation of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sluice_layouts as L

from compiler.frontend.source import Span
from compiler.ir.ir import Node
from compiler.overlay.assignments import contains
from compiler.overlay.bits import WORD_BITS, AnyBit, Bit, Bits, is_source, number_of, refuse

ADD = L.OPERATOR_ADD


@dataclass(frozen=True)
class Change:
    """An operation on a word (`word N`, or `mark 0`, `mark 1`): under a mask, with a number or another word."""

    target: str
    kind: L.UnitOperator
    value: int
    source: str | None
    mask: int
    span: Span


def change_of(target: str, was: Node, now: Node, bits: Bits, place: Span) -> Change | None:
    """The operation that makes `now` of a word that is `was`; None where nothing changes. Raises OverlayError where it takes more
    than one, or one that a unit has not. `place`: where the source changes the word."""
    pairs = [(at, new) for at, (old, new) in enumerate(zip(bits.of(was), bits.of(now), strict=True)) if old != new]
    if not pairs:
        return None
    mask = sum(1 << at for at, _ in pairs)
    for found in (_constant(pairs), _copied(pairs), _flipped(pairs, was), _summed(pairs, bits, was)):
        if found is not None:
            kind, value, source, covered = found
            return Change(target, kind, value, source, covered | mask, place)
    hint = (
        "a word of 16 bits is set to a constant or to a word of the packet, or one field of it changes by a constant or by a word"
    )
    raise refuse(f"no operation of a unit computes this value of {_name(target)}", _culprit(pairs, place), hint, place)


def _name(target: str) -> str:
    """A word as the source knows it."""
    number = number_of(target)
    return "meta.mark" if number is None else f"bytes {2 * number} and {2 * number + 1}"


Found = tuple[L.UnitOperator, int, str | None, int]
Pairs = Sequence[tuple[int, AnyBit]]


def _constant(pairs: Pairs) -> Found | None:
    if all(isinstance(bit, int) for _, bit in pairs):
        return L.OPERATOR_SET, sum(bit << at for at, bit in pairs if isinstance(bit, int)), None, 0
    return None


def _copied(pairs: Pairs) -> Found | None:
    """From the same places of one other word."""
    first = pairs[0][1]
    if isinstance(first, Bit) and is_source(first.node) and all(bit == Bit(first.node, at) for at, bit in pairs):
        return L.OPERATOR_SET, 0, first.node.name, 0
    return None


def _flipped(pairs: Pairs, was: Node) -> Found | None:
    if all(bit == Bit(was, at, True) for at, bit in pairs):
        return L.OPERATOR_XOR, sum(1 << at for at, _ in pairs), None, 0
    return None


def _summed(pairs: Pairs, bits: Bits, was: Node) -> Found | None:
    """The sum of a field and a number, or of a field and the field in the same place of another word."""
    first = pairs[0][1]
    if not isinstance(first, Bit) or first.node.op not in ("add", "sub"):
        return None
    start, end = pairs[0][0] - first.at, pairs[-1][0] + 1  # the field begins with bit 0 of the sum
    if start < 0 or any(bit != Bit(first.node, at - start) for at, bit in pairs):
        return None
    left, right = (bits.of(arg)[: end - start] for arg in first.node.args)
    if left != tuple(Bit(was, start + at) for at in range(end - start)):
        return None
    covered = (1 << end) - (1 << start)
    if all(isinstance(bit, int) for bit in right):
        value = sum(bit << at for at, bit in enumerate(right) if isinstance(bit, int))
        kind = L.OPERATOR_ADD if first.node.op == "add" else L.OPERATOR_SUBTRACT
        return kind, value << start, None, covered
    other = right[0]
    aligned = isinstance(other, Bit) and is_source(other.node) and start == 0
    if isinstance(other, Bit) and aligned and right == tuple(Bit(other.node, at) for at in range(end)):
        return (L.OPERATOR_ADD if first.node.op == "add" else L.OPERATOR_SUBTRACT), 0, other.node.name, covered
    return None


def _culprit(pairs: Pairs, place: Span) -> Span | None:
    """The first part of the statement that no operation can compute."""
    nodes: Iterator[Node] = (bit.node for _, bit in pairs if isinstance(bit, Bit) and not is_source(bit.node))
    return next((node.span for node in nodes if node.span and contains(place, node.span)), None)


def words_of(change: Change) -> tuple[str, ...]:
    """The words that an operation reads or writes."""
    return (change.target,) if change.source is None else (change.target, change.source)


assert WORD_BITS == 16, "operations are on words of 16 bits"
