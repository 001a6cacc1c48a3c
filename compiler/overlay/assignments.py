# SPDX-License-Identifier: Apache-2.0
"""Where the source changes a word of the packet. The IR cannot tell: equal values are one node, with the place of the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.interpreter.guard import fields_of
from compiler.ir.ir import Node
from compiler.ir.rewrite import order
from compiler.overlay.bits import WORD_BITS, number_of


class Assignments:
    """The statements of handlers that change parts of a flit."""

    def __init__(self, elements: Sequence[typed.Element]) -> None:
        flit = elements[0].inputs[0].type
        self.data = fields_of(flit)["data"][0]
        low, places = fields_of(flit)["meta"][0], fields_of(part_of(flit, "meta"))
        self.mark = low + places["mark"][0]
        statements = (one for element in elements for one in _assigns(element.handler))
        self.found = [(one.span, set(_bits(one.place))) for one in statements if one.place.variable.type == flit]

    def place(self, word: str, now: Node) -> Span | None:
        """The last statement that changes a word; of several, one in which a part of its value `now` stands."""
        bits = self._bits_of(word)
        spans = [span for span, changed in self.found if bits & changed]
        parts = [node.span for node in order([now]) if node.span is not None and node.op != "const"]
        likely = [span for span in spans if any(contains(span, part) for part in parts)]
        return next(reversed(likely or spans), None)

    def _bits_of(self, word: str) -> set[int]:
        number = number_of(word)
        low = self.mark + WORD_BITS * (word == "mark 0") if number is None else self.data + WORD_BITS * number
        return set(range(low, low + WORD_BITS))


def contains(outer: Span, inner: Span) -> bool:
    """Whether a place is inside another."""
    return outer.source is inner.source and outer.start <= inner.start and inner.end <= outer.end


def part_of(kind: typed.Type, name: str) -> typed.Type:
    """The type of a field of a struct."""
    assert isinstance(kind, typed.Struct)
    return next(field.type for field in kind.fields if field.name == name)


def _assigns(node: object) -> Iterator[typed.Assign]:
    """Those in a statement, in their order."""
    if isinstance(node, typed.Assign):
        yield node
    elif isinstance(node, tuple):
        for one in node:
            yield from _assigns(one)
    elif is_dataclass(node) and not isinstance(node, typed.Variable | typed.Port | Span):
        for field in fields(node):
            yield from _assigns(getattr(node, field.name))


def _bits(place: typed.Place) -> Sequence[int]:
    """The bits of the variable that a place is, the lowest first; of an entry that is not known: of all."""
    found: Sequence[int] = range(place.variable.type.bits)
    for step in place.steps:
        width = step.type.bits
        if isinstance(step, typed.Slice):
            found = found[step.low : step.low + width]
        elif isinstance(step.index, typed.Constant):
            found = found[step.index.value * width :][:width]
        else:
            return found[: step.count * width]
        if step.swap:
            found = [bit for byte in range(width // 8, 0, -1) for bit in found[8 * byte - 8 : 8 * byte]]
    return found
