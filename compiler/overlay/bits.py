# SPDX-License-Identifier: Apache-2.0
"""What a unit can see of a packet, as nodes of the IR, and what the bits of other nodes are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.compile import HardwareError
from compiler.frontend.source import Span
from compiler.ir.build import Builder
from compiler.ir.ir import Node
from compiler.ir.rewrite import order, same

WORD_BITS = 16
PORT, LENGTH = "port", "length"


class OverlayError(HardwareError):
    """The program is right, and the overlay cannot run it."""


def refuse(text: str, span: Span | None, hint: str, fallback: Span) -> OverlayError:
    """The error for what a unit cannot do."""
    return OverlayError("E0808", text, span or fallback, hint)


@dataclass(frozen=True)
class Bit:
    """Bit `at` of a node, inverted or not."""

    node: Node
    at: int
    inverted: bool = False


AnyBit = int | Bit  # a constant, 0 or 1, or a bit


def word_name(number: int) -> str:
    """The source that is word `number` of the packet, its first byte in the high bits."""
    return f"word {number}"


def number_of(name: str) -> int | None:
    """The word that a source is."""
    return int(name.removeprefix("word ")) if name.startswith("word ") else None


def is_source(node: Node) -> bool:
    """Whether a key can contain the node."""
    return node.op == "head" and (node.name in (PORT, LENGTH) or number_of(node.name) is not None)


def replaced(b: Builder, roots: Sequence[Node], known: Mapping[Node, Node]) -> tuple[Node, ...]:
    """The roots with some nodes exchanged, and simplified."""
    made: dict[Node, Node] = {}
    for node in order(roots):
        if (other := known.get(node)) is not None:
            made[node] = other
            continue
        args = [made[arg] for arg in node.args]
        b.span, b.label = node.span, node.label
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            made[node] = node
        else:
            made[node] = b.exact("call", args, node.width, name=node.name) if node.op == "call" else same(b, node, args)
    return tuple(made[root] for root in roots)


class Bits:
    """The bits of nodes, remembered."""

    def __init__(self) -> None:
        self._known: dict[Node, tuple[AnyBit, ...]] = {}

    def of(self, node: Node) -> tuple[AnyBit, ...]:
        """The bits of a node, the lowest first: constants, bits of sources, and bits of what is computed."""
        for one in order([node]):
            if one not in self._known:
                self._known[one] = self._made(one)
        return self._known[node]

    def _made(self, node: Node) -> tuple[AnyBit, ...]:
        args = [self._known[arg] for arg in node.args]
        match node.op:
            case "const":
                return tuple(node.value >> at & 1 for at in range(node.width))
            case "concat":
                return tuple(bit for part in reversed(args) for bit in part)
            case "extract":
                return args[0][node.low : node.low + node.width]
            case "zext":
                return (*args[0], *[0] * (node.width - len(args[0])))
            case "sext":
                return (*args[0], *[args[0][-1]] * (node.width - len(args[0])))
            case "not":
                return tuple(_inverted(bit) for bit in args[0])
            case "and" | "or" | "xor":
                return tuple(self._logic(node, at, x, y) for at, (x, y) in enumerate(zip(*args, strict=True)))
        return tuple(Bit(node, at) for at in range(node.width))

    @staticmethod
    def _logic(node: Node, at: int, x: AnyBit, y: AnyBit) -> AnyBit:
        if isinstance(x, int):
            x, y = y, x
        if not isinstance(y, int):
            return x if x == y and node.op != "xor" else 0 if x == y else Bit(node, at)
        if node.op == "xor":
            return _inverted(x) if y else x
        return y if y == (node.op == "or") else x


def _inverted(bit: AnyBit) -> AnyBit:
    return 1 - bit if isinstance(bit, int) else Bit(bit.node, bit.at, not bit.inverted)
