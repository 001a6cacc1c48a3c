# SPDX-License-Identifier: Apache-2.0
"""Where states live: a register for each scalar, or memories, one for each scalar field of an array's elements (memory scattering).

An array becomes registers where every index is a constant, where it has at most `SMALL` entries, or where the source says
`register`. Arrays in an array of memory are further dimensions of it where an index is not constant, else scattered. An array whose
indices are constants, of arrays whose indices are not, is a memory for each entry: `rows[4][1024]` is four.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from compiler.frontend import typed
from compiler.ir.ir import Memory, Register

SMALL = 8  # entries that are cheaper as registers
MOST_PARTS = 64  # entries of an array that becomes memories of its own
MOST_REGISTERS = 1024  # entries of an array that becomes registers without `register`

# A state and the way into its type: names of fields, [] for any entry of an array.
Where = tuple[typed.Variable, str]


@dataclass(frozen=True)
class RegisterLeaf:
    """Bits `low` and up of the variable."""

    name: str
    label: str
    low: int
    width: int


@dataclass(frozen=True)
class MemoryLeaf:
    """A memory. Its entry of indices i, j, ... is at bit `low` + i * strides[0] + j * strides[1] ... of the variable."""

    name: str
    label: str
    low: int
    width: int
    counts: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def entries(self) -> int:
        return prod(self.counts)


class Layout:
    """Registers and memories of an element's states. `dynamic`: the arrays that are indexed by what is no constant; None: not known
    yet, and every large array a memory."""

    def __init__(self, states: tuple[typed.Variable, ...], dynamic: frozenset[Where] | None) -> None:
        self.dynamic = dynamic
        self.registers: dict[typed.Variable, list[RegisterLeaf]] = {}
        self.memories: dict[typed.Variable, list[MemoryLeaf]] = {}
        self._names: set[str] = set()
        for state in states:
            self.registers[state] = []
            self.memories[state] = []
            self._place(state, state.type, state.name, "", 0)

    def is_memory(self, state: typed.Variable, array: typed.Array, where: str) -> bool:
        """Whether an array, reached by `where`, is memory."""
        if state.placement is typed.Placement.REGISTER or self._is_parted(state, array, where):
            return False
        if state.placement is typed.Placement.LOCAL:
            return True
        count = prod(_dimensions(array))
        if count <= SMALL:
            return False
        if self.dynamic is None or count > MOST_REGISTERS:
            return True
        return any(owner is state and path.startswith(where + "[]") for owner, path in self.dynamic)

    def _is_parted(self, state: typed.Variable, array: typed.Array, where: str) -> bool:
        """Whether each entry of an array is memory by itself: its indices are constants, and those of an array inside are not."""
        entry = where + "[]"
        inside = [path for owner, path in self.dynamic or () if owner is state and path.startswith(entry)]
        return array.count <= MOST_PARTS and bool(inside) and entry not in inside

    def is_dimension(self, state: typed.Variable, where: str) -> bool:
        """Whether an array inside a memory is a dimension of it (`where` with its own [])."""
        return self.dynamic is None or (state, where) in self.dynamic

    def unique(self, name: str) -> str:
        """A name that nothing else has."""
        found, number = name, 2
        while found in self._names:
            found, number = f"{name}_{number}", number + 1
        self._names.add(found)
        return found

    def _place(self, state: typed.Variable, kind: typed.Type, label: str, where: str, low: int) -> None:
        match kind:
            case typed.Integer():
                self.registers[state].append(RegisterLeaf(self._name(label), label, low, kind.bits))
            case typed.Struct():
                for field in kind.fields:
                    self._place(state, field.type, f"{label}.{field.name}", f"{where}.{field.name}", low + field.low)
            case typed.Array(element=element, count=count) if self.is_memory(state, kind, where):
                self._scatter(state, element, label, where + "[]", low, ((count, element.bits),))
            case typed.Array(element=element, count=count):
                for i in range(count):
                    self._place(state, element, f"{label}[{i}]", where + "[]", low + i * element.bits)

    def _scatter(
        self, state: typed.Variable, kind: typed.Type, label: str, where: str, low: int, dimensions: tuple[tuple[int, int], ...]
    ) -> None:
        match kind:
            case typed.Integer():
                counts, strides = zip(*dimensions, strict=True)
                self.memories[state].append(MemoryLeaf(self._name(label), label, low, kind.bits, counts, strides))
            case typed.Struct():
                for field in kind.fields:
                    self._scatter(state, field.type, f"{label}.{field.name}", f"{where}.{field.name}", low + field.low, dimensions)
            case typed.Array(element=element, count=count) if self.is_dimension(state, where + "[]"):
                self._scatter(state, element, label, where + "[]", low, (*dimensions, (count, element.bits)))
            case typed.Array(element=element, count=count):
                for i in range(count):
                    self._scatter(state, element, f"{label}[{i}]", where + "[]", low + i * element.bits, dimensions)

    def _name(self, label: str) -> str:
        """The label as an identifier."""
        return self.unique(re.sub(r"\W+", "_", label).strip("_"))

    def ir_registers(self, resets: dict[str, int]) -> dict[str, Register]:
        """As the IR declares them."""
        leaves = [leaf for state in self.registers.values() for leaf in state]
        return {leaf.name: Register(leaf.name, leaf.width, resets.get(leaf.name, 0), leaf.label) for leaf in leaves}

    def ir_memories(self, resets: dict[str, dict[int, int]]) -> dict[str, Memory]:
        """As the IR declares them."""
        leaves = [leaf for state in self.memories.values() for leaf in state]
        return {m.name: Memory(m.name, m.width, m.entries, resets.get(m.name, {}), m.label) for m in leaves}

    def values(self, registers: Mapping[str, int], memories: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """Every state as one bit pattern, by its name."""
        found = {}
        for state in self.registers:
            value = 0
            for leaf in self.registers[state]:
                value |= registers[leaf.name] << leaf.low
            for memory in self.memories[state]:
                for word, indices in zip(memories[memory.name], product(*map(range, memory.counts)), strict=True):
                    if word:
                        at = memory.low + sum(i * stride for i, stride in zip(indices, memory.strides, strict=True))
                        value |= word << at
            found[state.name] = value
        return found


def _dimensions(kind: typed.Type) -> Iterator[int]:
    """Entries of an array and, the largest first, of what is inside of it."""
    match kind:
        case typed.Array():
            yield kind.count
            yield from _dimensions(kind.element)
        case typed.Struct():
            inner = [list(_dimensions(field.type)) for field in kind.fields]
            yield from max(inner, key=prod, default=[])
