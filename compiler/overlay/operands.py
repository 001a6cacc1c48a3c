# SPDX-License-Identifier: Apache-2.0
"""What the process block of the stateful unit can take as an operand, compare and compute, as text of its assembler
(docs/design/stateful_process.md): fields of the packet, of the flow state, the tick, and one operation on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ir.ir import Node
from compiler.overlay.bits import LENGTH, PORT, WORD_BITS, AnyBit, Bit, Bits, number_of
from compiler.stateful.places import SPECIAL

TIMESTAMP, TICK_BITS = "timestamp", 32
MOST_BYTES = 4
PACKET_BITS = 1 << 16  # more than the first flit has
WHOLE = {PORT: "port", LENGTH: "length", TIMESTAMP: "tick"}
BINARY = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
FEW_BITS = 3
Term = str | int
Test = tuple[str, bool]  # a comparison, and its result


@dataclass(frozen=True)
class Run:
    """Bits of one thing, a field with gaps: bit i of a value is bit `low` + i, where `mask` has a one."""

    name: str  # "packet", the name of a source, or of a register
    low: int
    mask: int
    is_register: bool


@dataclass
class Operands:
    """Names for operands. `registers`: the name of the field that a register holds. `containers`: names of bytes of the packet,
    each with the first byte and how many there are. `inputs`: what is computed before the flow state comes."""

    bits: Bits
    registers: Mapping[str, str]
    containers: dict[str, tuple[int, int]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)

    def term(self, bits: Sequence[AnyBit]) -> Term | None:
        """The operand with these bits, the lowest first, zeros above; None if it takes an operation on flow state, or two."""
        if all(isinstance(bit, int) for bit in bits):
            return sum(bit << at for at, bit in enumerate(bits) if isinstance(bit, int))
        run = run_of(bits)
        if run is None or run.mask & run.mask + 1:
            return None
        width = run.mask.bit_length()
        if run.is_register:
            node = next(bit.node for bit in bits if isinstance(bit, Bit))
            return self.registers.get(run.name) if run.low == 0 and width == node.width else None
        if run.name == "packet":
            return self._of_packet(run.low, width)
        size = TICK_BITS if run.name == TIMESTAMP else WORD_BITS
        name = WHOLE.get(run.name)
        if name is None or run.low + width > size or (run.low == 0 and width < min(size, 8)):
            return None
        if run.low == 0:
            return name if width == size or run.name == PORT else None
        return self._input(f"{name} >> {run.low}") if run.low + width == size else None

    def conditions(self, node: Node) -> list[Test] | None:
        """Comparisons that must all have the given results for the node to be 1; None if it takes others than the block has."""
        if node.op in ("eq", "ult", "slt"):
            a, b = node.args
            return self._equal(a, b) if node.op == "eq" else self._less(node.op, a, b)
        bit = self.bits.of(node)[0]
        return self.bit(bit) if isinstance(bit, Bit) else None

    def bit(self, bit: Bit) -> list[Test] | None:
        """That a bit is 1."""
        if bit.node.op == "sub" and bit.at == bit.node.width - 1 == TICK_BITS - 1:
            return _single(self._before(bit.node), not bit.inverted)
        masked = self._masked([Bit(bit.node, bit.at)])
        return None if masked is None else [(f"{masked[0]} & {masked[1]}", not bit.inverted)]

    def computed(self, node: Node, width: int) -> str | None:
        """The text of one operation that gives a field of `width` bits."""
        bits = self.bits.of(node)[:width]
        if (term := self.term(bits)) is not None:
            return str(term)
        first = bits[0]
        if (
            isinstance(first, Bit)
            and first.node.op in ("add", "sub")
            and all(bit == Bit(first.node, n) for n, bit in enumerate(bits))
        ):
            node = first.node
        while node.op in ("zext", "extract") and node.low == 0:
            (node,) = node.args
        if node.op not in BINARY or width % 8:
            return None
        a, b = (self.term(self.bits.of(arg)[:width]) for arg in node.args)
        return None if a is None or b is None else f"{a} {BINARY[node.op]} {b}"

    def _of_packet(self, low: int, width: int) -> Term | None:
        """A field; what begins or ends inside a byte is shifted if it takes no mask as well."""
        high = low + width
        if high % 8:
            return None
        size = -(-width // 8)
        first = (PACKET_BITS - high) // 8
        if low % 8 == 0:
            return self.bytes(first, size)
        name = self.bytes(first, size)
        return None if name is None else self._input(f"{name} >> {8 * size - width}")

    def bytes(self, first: int, size: int) -> str | None:
        """The name of bytes of the packet; None if they are in more than two words, or more than a word of the block."""
        if size > MOST_BYTES or (first + size - 1) // 2 - first // 2 > 1:
            return None
        name = f"bytes{first}_{size}"
        self.containers[name] = (first, size)
        return name

    def _input(self, text: str) -> str:
        name = next((name for name, known in self.inputs.items() if known == text), f"input{len(self.inputs)}")
        self.inputs[name] = text
        return name

    def _equal(self, a: Node, b: Node) -> list[Test] | None:
        x, y = self.term(self.bits.of(a)), self.term(self.bits.of(b))
        if x is not None and y is not None:
            return [(f"{x} == {y}", True)]
        masked = self._masked(self.bits.of(a))
        if not isinstance(y, int) or masked is None:
            return None
        name, mask, low = masked
        wanted = y << low if low >= 0 else y >> -low
        if wanted & ~mask or (low < 0 and y & (1 << -low) - 1):  # it never is
            return [(f"{name} & {mask}", True), (f"{name} & {mask}", False)]
        if mask.bit_count() <= FEW_BITS:  # each a condition, so that no two of them contradict each other
            return [(f"{name} & {1 << at}", bool(wanted >> at & 1)) for at in range(mask.bit_length()) if mask >> at & 1]
        return [(f"{name} & {mask}", False)] if not wanted else [(f"{self._input(f'{name} & {mask}')} == {wanted}", True)]

    def _masked(self, bits: Sequence[AnyBit]) -> tuple[str, int, int] | None:
        """Bits of one field of the packet: the bytes that they are in, a mask of them, and where the lowest bit of the value is."""
        run = run_of(bits)
        if run is None or run.name != "packet":
            return None
        positions = [run.low + at for at in range(run.mask.bit_length()) if run.mask >> at & 1]
        base, top = positions[0] // 8 * 8, positions[-1] // 8 * 8 + 8
        name = self.bytes((PACKET_BITS - top) // 8, (top - base) // 8)
        return None if name is None else (name, sum(1 << at - base for at in positions), run.low - base)

    def _less(self, op: str, a: Node, b: Node) -> list[Test] | None:
        if op == "slt" and a.op == "sub" and a.width == TICK_BITS and b.op == "const" and b.value == 0:
            return _single(self._before(a), True)
        x, y = self.term(self.bits.of(a)), self.term(self.bits.of(b))
        if x is None or y is None or (op == "slt" and a.width != TICK_BITS):
            return None
        signs = [self.bits.of(arg)[-1] for arg in (a, b)]
        if op == "ult" or signs == [0, 0]:  # short fields stand in the high bytes of a word, where the block sees a sign
            return [(f"{x} < {y}", True)]
        return [(f"signed {x} < {y}", True)] if any(isinstance(sign, Bit) for sign in signs) else None

    def _before(self, difference: Node) -> str | None:
        x, y = (self.term(self.bits.of(arg)) for arg in difference.args)
        return None if x is None or y is None else f"{x} before {y}"


def run_of(bits: Sequence[AnyBit]) -> Run | None:
    """The bits of a value as bits of one thing; None if there are bits of several, or constant ones."""
    places = [(at, *_place(bit), bit) for at, bit in enumerate(bits) if isinstance(bit, Bit)]
    if not places or any(bit == 1 for bit in bits if isinstance(bit, int)):
        return None
    at, name, place, first = places[0]
    if any(other != name or position - number != place - at or bit.inverted for number, other, position, bit in places):
        return None
    return Run(name, place - at, sum(1 << number for number, *_ in places), first.node.op == "register")


def _place(bit: Bit) -> tuple[str, int]:
    """What a bit is of, and where there; bits of the packet count from its end, so that those of a field are in a row."""
    number = number_of(bit.node.name) if bit.node.op == "head" else None
    if number is not None:
        return "packet", PACKET_BITS - WORD_BITS * (number + 1) + bit.at
    if bit.node.op in ("head", "register"):
        return bit.node.name, bit.at
    return f"node {id(bit.node)}", bit.at


def _single(text: str | None, result: bool) -> list[Test] | None:
    return None if text is None else [(text, result)]


def free_name(name: str) -> str:
    """A name of a field of the flow state that no other operand has."""
    return f"flow_{name}" if name in SPECIAL or name.startswith(("bytes", "input", "mark")) else name
