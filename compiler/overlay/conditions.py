# SPDX-License-Identifier: Apache-2.0
"""Conditions on a packet as ternary keys: which values of which bits make a condition true, which make it false.

A condition is evaluated bit by bit over reduced ordered decision diagrams (Bryant, 1986); each path to a result is a cube.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice

from compiler.ir.ir import Node
from compiler.ir.rewrite import order
from compiler.overlay.bits import LENGTH, PORT, is_source, number_of

MOST_NODES = 20_000  # for one part of a condition
MOST_CUBES = 1000  # more than a table can hold
Cube = dict[tuple[str, int], int]  # the value of each bit (source, number) that it compares
Diagram = int  # the number of a node; 0 and 1 are the constants


class TooLargeError(Exception):
    """A condition that has no small diagram, or that contains what no key can; `node` is the part."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.op)
        self.node = node


class Diagrams:
    """Decision diagrams over the bits of sources, words first, high bits first."""

    def __init__(self) -> None:
        self.nodes: list[tuple[tuple[int, int], Diagram, Diagram]] = [((9999, 0), 0, 0), ((9999, 0), 1, 1)]
        self.names: dict[int, str] = {}
        self._limit = MOST_NODES
        self._numbers: dict[tuple[tuple[int, int], Diagram, Diagram], Diagram] = {}
        self._chosen: dict[tuple[Diagram, Diagram, Diagram], Diagram] = {}

    def cubes(self, condition: Node) -> tuple[list[Cube], list[Cube]]:
        """What makes a condition true, and what makes it false. Raises TooLargeError."""
        vectors: dict[Node, list[Diagram]] = {}
        for node in order([condition]):
            self._limit = len(self.nodes) + MOST_NODES
            try:
                vectors[node] = self._vector(node, [vectors[arg] for arg in node.args])
            except OverflowError as error:
                raise TooLargeError(node) from error
        (root,) = vectors[condition]
        return list(islice(self._paths(root, 1, {}), MOST_CUBES)), list(islice(self._paths(root, 0, {}), MOST_CUBES))

    def _paths(self, node: Diagram, wanted: int, before: Cube) -> Iterator[Cube]:
        if node <= 1:
            if node == wanted:
                yield before
            return
        (rank, at), low, high = self.nodes[node]
        for value, following in ((0, low), (1, high)):
            yield from self._paths(following, wanted, {**before, (self.names[rank], -at): value})

    def _variable(self, name: str, at: int) -> Diagram:
        number = number_of(name)
        rank = number if number is not None else 1000 + (PORT, LENGTH).index(name)
        self.names[rank] = name
        return self._make((rank, -at), 0, 1)

    def _make(self, variable: tuple[int, int], low: Diagram, high: Diagram) -> Diagram:
        if low == high:
            return low
        key = (variable, low, high)
        if key not in self._numbers:
            if len(self.nodes) >= self._limit:
                raise OverflowError
            self._numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return self._numbers[key]

    def _either(self, condition: Diagram, then: Diagram, otherwise: Diagram) -> Diagram:
        if condition <= 1 or then == otherwise:
            return then if condition else otherwise
        key = (condition, then, otherwise)
        if key not in self._chosen:
            top = min(self.nodes[one][0] for one in key)
            low, high = ([self._cofactor(one, top, side) for one in key] for side in (1, 2))
            self._chosen[key] = self._make(top, self._either(*low), self._either(*high))
        return self._chosen[key]

    def _cofactor(self, node: Diagram, variable: tuple[int, int], side: int) -> Diagram:
        found = self.nodes[node]
        return (found[1] if side == 1 else found[2]) if found[0] == variable and node > 1 else node

    def _not(self, a: Diagram) -> Diagram:
        return self._either(a, 0, 1)

    def _and(self, a: Diagram, b: Diagram) -> Diagram:
        return self._either(a, b, 0)

    def _or(self, a: Diagram, b: Diagram) -> Diagram:
        return self._either(a, 1, b)

    def _xor(self, a: Diagram, b: Diagram) -> Diagram:
        return self._either(a, self._not(b), b)

    def _vector(self, node: Node, args: Sequence[list[Diagram]]) -> list[Diagram]:
        """The bits of a node, the lowest first."""
        match node.op:
            case "const":
                return [node.value >> at & 1 for at in range(node.width)]
            case "head" if is_source(node):
                return [self._variable(node.name, at) for at in range(node.width)]
            case "concat":
                return [bit for part in reversed(args) for bit in part]
            case "extract":
                return args[0][node.low : node.low + node.width]
            case "zext":
                return args[0] + [0] * (node.width - len(args[0]))
            case "sext":
                return args[0] + args[0][-1:] * (node.width - len(args[0]))
            case "not":
                return [self._not(a) for a in args[0]]
            case "and" | "or" | "xor":
                function = {"and": self._and, "or": self._or, "xor": self._xor}[node.op]
                return [function(a, b) for a, b in zip(*args, strict=True)]
            case "mux":
                return [self._either(args[0][0], a, b) for a, b in zip(args[1], args[2], strict=True)]
            case "add":
                return self._sum(args[0], args[1], 0)
            case "sub":
                return self._sum(args[0], [self._not(b) for b in args[1]], 1)
            case "eq":
                return [reduce(self._and, (self._not(self._xor(a, b)) for a, b in zip(*args, strict=True)))]
            case "ult":
                return [self._less(*args)]
            case "slt":
                return [self._less(*([*bits[:-1], self._not(bits[-1])] for bits in args))]
        raise TooLargeError(node)

    def _sum(self, a: Sequence[Diagram], b: Sequence[Diagram], carry: Diagram) -> list[Diagram]:
        result = []
        for x, y in zip(a, b, strict=True):
            result.append(self._xor(self._xor(x, y), carry))
            carry = self._either(x, self._or(y, carry), self._and(y, carry))
        return result

    def _less(self, a: Sequence[Diagram], b: Sequence[Diagram]) -> Diagram:
        less = 0
        for x, y in zip(a, b, strict=True):  # the highest bit decides last, and so first
            less = self._either(self._xor(x, y), y, less)
        return less


def both(a: Cube, b: Cube) -> Cube | None:
    """The values that both take, None where there are none."""
    return None if any(a.get(bit, value) != value for bit, value in b.items()) else {**a, **b}


def covers(a: Cube, b: Cube) -> bool:
    """Whether `a` takes everything that `b` takes."""
    return all(b.get(bit) == value for bit, value in a.items())
