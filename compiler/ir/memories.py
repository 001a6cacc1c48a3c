# SPDX-License-Identifier: Apache-2.0
"""States during lowering: registers, memories, and what the iteration itself has written mixed into what it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.ir import places
from compiler.ir.build import Builder
from compiler.ir.ir import MemoryWrite, Node
from compiler.ir.local import is_zero
from compiler.ir.paths import Paths, State
from compiler.ir.places import Window
from compiler.ir.states import Layout, MemoryLeaf, Where

MOST_ENTRIES = 64  # entries of a memory that one access may touch


class LowerError(Exception):
    """A program that this target cannot have; not a bug. `hint` says how to fix it."""

    def __init__(self, text: str, span: Span, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.span = span
        self.hint = hint


@dataclass(frozen=True)
class Region:
    """Bits `low` and up of a variable, in the entries `indices` of memories; `windows` lead on from there."""

    variable: typed.Variable
    low: int
    width: int
    indices: tuple[Node, ...]
    windows: tuple[Window, ...]
    span: Span


@dataclass(frozen=True)
class _Write:
    conditions: frozenset[Node]
    done: MemoryWrite


@dataclass
class Memories:
    """Reads and writes of one transition. `contents`: during `.init`, where everything is constant."""

    b: Builder
    paths: Paths
    layout: Layout
    contents: dict[str, dict[int, int]] | None = None
    dynamic: set[Where] = field(default_factory=set)
    _writes: dict[str, list[_Write]] = field(default_factory=dict)
    _order: list[_Write] = field(default_factory=list)

    def region(self, place: typed.Place, windows: Sequence[Window]) -> Region:
        """Where a place is: as far into memories as its steps follow the type."""
        variable = place.variable
        whole = Region(variable, 0, variable.type.bits, (), tuple(windows), place.span)
        if not variable.is_state or not self.layout.memories[variable]:
            return whole
        kind, where, low, indices, at = variable.type, "", 0, list[Node](), 0
        for step, window in zip(place.steps, windows, strict=True):
            match kind:
                case typed.Struct(fields=fields) if isinstance(step, typed.Slice) and not step.swap:
                    found = next((f for f in fields if f.low == step.low and f.type == step.type), None)
                    if found is None:
                        break
                    where, low, kind = f"{where}.{found.name}", low + found.low, found.type
                case typed.Array(element=element, count=count) if self._follows(kind, step):
                    index = window.index or self.b.const(window.low // element.bits, 32)
                    is_memory = bool(indices) or self.layout.is_memory(variable, kind, where)
                    where += "[]"
                    if index.op != "const":
                        self.dynamic.add((variable, where))
                    if is_memory and (not indices or self.layout.is_dimension(variable, where)):
                        indices.append(index)
                    elif index.op == "const" and index.value < count:
                        low += index.value * element.bits
                    else:
                        break
                    kind = element
                case _:
                    break
            at += 1
        if not indices:
            return whole
        return Region(variable, low, kind.bits, tuple(indices), tuple(windows[at:]), place.span)

    @staticmethod
    def _follows(array: typed.Array, step: typed.Step) -> bool:
        if step.swap or step.type != array.element:
            return False
        return step.low % array.element.bits == 0 if isinstance(step, typed.Slice) else step.count == array.count

    def load(self, state: State, region: Region) -> Node:
        """The value of a place."""
        return places.read(self.b, self._whole(state, region), region.windows)

    def store(self, state: State, region: Region, value: Node) -> None:
        """Replaces the value of a place."""
        before = self._whole(state, region) if region.windows else None
        after = places.write(self.b, before, region.windows, value) if before is not None else value
        if not region.indices:
            state.values[region.variable] = after
        for leaf, at, indices in self._leaves(region):
            part = self.b.extract(after, at, leaf.width)
            if before is None or part is not self.b.extract(before, at, leaf.width):
                self._write(state, leaf, indices, part)

    def _whole(self, state: State, region: Region) -> Node:
        value = state.values.get(region.variable) if not region.indices else None
        value = value if value is not None else self.b.const(0, region.width)
        for leaf, at, indices in self._leaves(region):
            value = self.b.insert(value, at, self._read(state, leaf, indices))
        return value

    def _leaves(self, region: Region) -> Iterator[tuple[MemoryLeaf, int, tuple[Node, ...]]]:
        """Every entry of a memory in the region: the memory, the place in the region, the indices."""
        if not region.variable.is_state:
            return
        bound = len(region.indices)
        for leaf in self.layout.memories[region.variable]:
            if not region.low <= leaf.low < region.low + region.width or len(leaf.counts) < bound:
                continue
            if prod(leaf.counts[bound:]) > MOST_ENTRIES:
                text = f"one access reads {prod(leaf.counts[bound:])} entries of the memory {leaf.label}"
                raise LowerError(text, region.span, f"read a memory entry by entry; at most {MOST_ENTRIES} can be read at once")
            for free in product(*map(range, leaf.counts[bound:])):
                at = leaf.low - region.low + sum(i * stride for i, stride in zip(free, leaf.strides[bound:], strict=True))
                yield leaf, at, (*region.indices, *(self.b.const(i, 32) for i in free))

    def _address(self, leaf: MemoryLeaf, indices: Sequence[Node]) -> tuple[Node, Node]:
        """The entry's number, of just the bits it needs, and whether all indices are inside."""
        b = self.b
        width = max(1, (leaf.entries - 1).bit_length())
        address, inside = b.const(0, width), b.const(1, 1)
        for i, (index, count) in enumerate(zip(indices, leaf.counts, strict=True)):
            scale = b.const(prod(leaf.counts[i + 1 :]), width)
            address = b.binary("add", address, b.binary("mul", b.resize(index, width), scale))
            inside = b.and_(inside, below(b, index, count))
        return address, inside

    def _read(self, state: State, leaf: MemoryLeaf, indices: Sequence[Node]) -> Node:
        b = self.b
        address, inside = self._address(leaf, indices)
        zero = b.const(0, leaf.width)
        if is_zero(inside):
            return zero
        if self.contents is not None:
            if address.op != "const":
                raise LowerError("the compiler cannot evaluate an index in .init", leaf_span(self.layout, leaf))
            return b.const(self.contents.get(leaf.name, {}).get(address.value, 0), leaf.width)
        value = b.exact("read", (address,), leaf.width, name=leaf.name)
        known = frozenset(state.path)
        for write in self._writes.get(leaf.name, ()):
            if any(b.not_(condition) in known for condition in write.conditions):
                continue
            same = b.eq(write.done.index, address)
            enabled = b.const(1, 1) if write.conditions <= known else write.done.enable
            value = b.mux(b.and_(enabled, same), write.done.data, value)
        return b.mux(inside, value, zero)

    def _write(self, state: State, leaf: MemoryLeaf, indices: Sequence[Node], data: Node) -> None:
        address, inside = self._address(leaf, indices)
        if is_zero(inside):
            return
        if self.contents is not None:
            if address.op != "const" or data.op != "const":
                raise LowerError("the compiler cannot evaluate a value in .init", leaf_span(self.layout, leaf))
            self.contents.setdefault(leaf.name, {})[address.value] = data.value
            return
        conditions = [*state.path, *([inside] if inside.op != "const" else [])]
        done = MemoryWrite(leaf.name, self.paths.all_of(conditions), address, data)
        write = _Write(frozenset(conditions), done)
        before = self._writes.get(leaf.name, [])
        hidden = [w for w in before if w.done.index is address and write.conditions <= w.conditions]
        self._writes[leaf.name] = [*(w for w in before if w not in hidden), write]
        self._order = [*(w for w in self._order if w not in hidden), write]

    def writes(self) -> tuple[MemoryWrite, ...]:
        """Of the whole transition, in the order of the source."""
        return tuple(write.done for write in self._order)


def below(b: Builder, index: Node, count: int) -> Node:
    """Whether an index is less than a number."""
    if count >> index.width:
        return b.const(1, 1)
    if count & (count - 1) == 0:
        bits = count.bit_length() - 1
        high = b.extract(index, bits, index.width - bits)
        return b.eq(high, b.const(0, high.width))
    return b.binary("ult", index, b.const(count, index.width))


def leaf_span(layout: Layout, leaf: MemoryLeaf) -> Span:
    """Where the state of a memory is declared."""
    return next(state.span for state, leaves in layout.memories.items() if leaf in leaves)
