# SPDX-License-Identifier: Apache-2.0
"""Parts of a value: read and replaced along the steps of a place, with indices that may be known only at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.build import Builder
from compiler.ir.ir import Node


@dataclass(frozen=True)
class Window:
    """Bits `low` to `low + width - 1`; with `index`, entry `index` of `count` such windows that start at bit 0."""

    width: int
    low: int = 0
    swap: bool = False
    index: Node | None = None
    count: int = 1


def swapped(b: Builder, node: Node) -> Node:
    """The bytes in the other order."""
    return b.concat(*(b.extract(node, low, 8) for low in range(0, node.width, 8)))


def _constant(window: Window) -> int | None:
    """The lowest bit where it is known; -1: outside."""
    if window.index is None:
        return window.low
    if window.index.op != "const":
        return None
    return window.index.value * window.width if window.index.value < window.count else -1


def read(b: Builder, node: Node, windows: Sequence[Window]) -> Node:
    """The part; 0 behind an index outside."""
    for window in windows:
        low = _constant(window)
        if low is None and window.index is not None:
            entries = [b.extract(node, i * window.width, window.width) for i in range(window.count)]
            node = b.select(window.index, entries)
        elif low == -1:
            node = b.const(0, window.width)
        else:
            node = b.extract(node, low or 0, window.width)
        node = swapped(b, node) if window.swap else node
    return node


def write(b: Builder, node: Node, windows: Sequence[Window], new: Node) -> Node:
    """The value with the part replaced; unchanged where an index is outside."""
    if not windows:
        return new
    window = windows[0]
    low = _constant(window)
    if low == -1:
        return node
    if low is not None:
        return b.insert(node, low, _inside(b, b.extract(node, low, window.width), windows, new))
    assert window.index is not None
    parts = []
    for i in range(window.count):
        before = b.extract(node, i * window.width, window.width)
        after = _inside(b, before, windows, new)
        parts.append(b.mux(equals(b, window.index, i), after, before))
    used = window.count * window.width
    rest = [b.extract(node, used, node.width - used)] if used < node.width else []
    return b.concat(*rest, *reversed(parts))


def equals(b: Builder, index: Node, number: int) -> Node:
    """Whether an index is a number; one that it cannot hold never."""
    return b.eq(index, b.const(number, index.width)) if number >> index.width == 0 else b.const(0, 1)


def _inside(b: Builder, part: Node, windows: Sequence[Window], new: Node) -> Node:
    if not windows[0].swap:
        return write(b, part, windows[1:], new)
    return swapped(b, write(b, swapped(b, part), windows[1:], new))
