# SPDX-License-Identifier: Apache-2.0
"""Which packets come to the stateful unit, and with what key. Units in front decide that; where the key of some packets has other
fields than that of others (a reply has the addresses exchanged), they copy the fields to containers that only the key has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sluice_layouts as L

from compiler.ir.ir import Node
from compiler.overlay.behaviour import FlowUse
from compiler.overlay.bits import PORT, is_source, refuse, replaced
from compiler.overlay.decisions import next_test
from compiler.overlay.operations import Change

if TYPE_CHECKING:
    from compiler.overlay.units import Follower

MOST_PATHS = 256  # on which packets come to the stateful unit


@dataclass(frozen=True)
class Piece:
    """Bits `low` and up of a word."""

    name: str
    low: int
    width: int

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1 << self.low


class FlowKeys:
    """`common`: what is known of every packet that asks for its flow. `words`: the words of the key, each with its mask."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.common: dict[Node, int] = {}
        self.words: list[tuple[str, int]] = []
        self._columns: list[str] = []  # of each piece of the key, where the stateful unit reads it

    def next_test(self, flow: FlowUse) -> Node | None:
        """What a unit in front decides next; None if a packet can go to the stateful unit."""
        return next_test([flow.used], True) if flow.used.op != "const" else next_test([flow.key], False)

    def read(self, flow: FlowUse) -> None:
        """Follow all packets that ask for their flow. Raises OverlayError where their keys are no fields."""
        paths: list[tuple[dict[Node, int], list[Piece]]] = []
        for known, found in self._paths(flow, {}):
            paths.append((known, self._pieces(found)))
            if len(paths) > MOST_PATHS:
                hint = "fewer conditions around the flow table"
                raise refuse("packets come to this flow table in too many ways", flow.table.span, hint, flow.table.span)
        if not paths:
            raise refuse("no packet asks for this flow table", flow.table.span, "find(), insert()", flow.table.span)
        (first_known, first), *others = paths
        self.common = {node: value for node, value in first_known.items() if all(known.get(node) == value for known, _ in others)}
        shapes = [[(piece.low, piece.width) for piece in pieces] for _, pieces in paths]
        if any(shape != shapes[0] for shape in shapes):
            hint = "keys of the same fields at the same places of their words"
            raise refuse("some packets have a key of another shape", flow.table.span, hint, flow.table.span)
        for at, piece in enumerate(first):
            is_same = all(pieces[at].name == piece.name for _, pieces in paths)
            self._columns.append(piece.name if is_same else f"key {at}")
        for name, piece in zip(self._columns, first, strict=True):
            known_mask = dict(self.words).get(name, 0)
            self.words = [(other, mask) for other, mask in self.words if other != name] + [(name, known_mask | piece.mask)]
        if any(mask not in (0xFF, 0xFF00, 0xFFFF) for name, mask in self.words if name != PORT):
            raise refuse("this key has parts of bytes", flow.table.span, "fields of whole bytes", flow.table.span)
        if len(self.words) > L.FLOW_KEY_WORDS:
            text = f"this key has bits of {len(self.words)} words of 16 bits; a stateful unit takes {L.FLOW_KEY_WORDS}"
            raise refuse(text, flow.table.span, "a shorter key", flow.table.span)

    def changes(self, flow: FlowUse) -> tuple[Change, ...]:
        """What a unit in front copies for the key of these packets."""
        pairs = zip(self._columns, self._pieces(flow), strict=True)
        moved = [(name, piece) for name, piece in pairs if name != piece.name]
        return tuple(Change(name, L.OPERATOR_SET, 0, piece.name, piece.mask, flow.table.span) for name, piece in moved)

    def _paths(self, flow: FlowUse, known: dict[Node, int]) -> Iterator[tuple[dict[Node, int], FlowUse]]:
        if flow.used.op == "const" and not flow.used.value:
            return
        test = self.next_test(flow)
        if test is None:
            yield known, flow
            return
        b = self.follower.b
        rules = self.follower.rules.get(test.name, ()) if test.op == "lookup" else ()
        for value in sorted({0, *(rule.result for rule in rules)}) if test.op == "lookup" else [1, 0]:
            nodes = replaced(b, flow.nodes, {test: b.const(value, test.width)})
            yield from self._paths(flow.of(nodes), {**known, test: value})

    def _pieces(self, flow: FlowUse) -> list[Piece]:
        """The fields of a key, the highest bits first."""
        pieces: list[Piece] = []
        for bit in reversed(self.follower.bits.of(flow.key)):
            if isinstance(bit, int):
                continue
            if bit.inverted or not is_source(bit.node):
                hint = "a key is made of fields of the packet as it came, and constants"
                text = f"the key of '{flow.table.name}' contains a computed value"
                raise refuse(text, bit.node.span, hint, flow.table.span)
            if pieces and pieces[-1].name == bit.node.name and pieces[-1].low == bit.at + 1:
                pieces[-1] = Piece(bit.node.name, bit.at, pieces[-1].width + 1)
            else:
                pieces.append(Piece(bit.node.name, bit.at, 1))
        return pieces
