# SPDX-License-Identifier: Apache-2.0
"""Long chains of exclusive ors become trees: CRCs, scramblers and other maps that are linear over GF(2).

`if (low) c = (c >> 1) ^ POLYNOMIAL; else c = c >> 1;`, 512 times, is a chain of 512 multiplexers; but each bit of the result is the
exclusive or of some bits of what goes in, and perhaps 1 (Sarwate 1988; for hardware, Pei and Zukowski 1992). A multiplexer is
linear where its two values differ by a constant: `mux(s, a, a ^ k)` is `a ^ k ^ (s & k)`, bit by bit; so are masks, and an `or` of
bits and zeros. Bits of what does not change from one iteration to the next come first, so that only the others are in the loop of
a state.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.rewrite import each, order, replaced, roots, same

LEAST_LEVELS = 6  # exclusive ors behind one another, with bits moved or chosen between them, from which on a tree is worth it
LEAST_GAIN = 1.5  # by which the longest way becomes shorter
MOST_BITS = 1 << 20  # of all values of a transition that are looked at
MOST_ALL_TERMS = 1 << 16  # bits under all exclusive ors of a transition
MOST_TERMS = 4  # bits whose exclusive or is written one by one
MOVES = frozenset({"concat", "extract", "zext", "sext", "not"})
SHIFTS = frozenset({"shl", "lshr"})  # by constants
CHOICES = frozenset({"mux", "and", "or"})
WIRES = frozenset({"concat", "extract", "zext", "sext", "const"})

# A bit as the exclusive or of bits: bit 0 of the set is the constant 1, bit n + 1 the n-th bit of what goes in.
Sum = int


def run(element: ElementIr) -> ElementIr:
    """Every transition that has such chains."""
    return each(element, _run)


def _run(transition: Transition) -> Transition:
    nodes = order(roots(transition))
    deep = _deep(nodes, ())
    if not deep:
        return transition
    chains = _Chains(_cone(deep))
    if sum(node.width for node in chains.nodes) > MOST_BITS:
        return transition
    chains.find()
    ends = _ends(transition, nodes, set(_deep(chains.nodes, chains.sources)), chains.sources)
    terms = sum(bit.bit_count() for node in ends for bit in chains.sums[node])
    return _rebuilt(transition, nodes, chains, ends) if ends and terms <= MOST_ALL_TERMS else transition


def _is_linear(node: Node) -> bool:
    """As far as its operator tells; those of `CHOICES` may turn out not to be."""
    return node.op == "xor" or node.op in MOVES or node.op in CHOICES or (node.op in SHIFTS and node.args[1].op == "const")


def _deep(nodes: Sequence[Node], sources: Container[Node]) -> list[Node]:
    """Values with LEAST_LEVELS: how many times exclusive ors follow what moves or chooses bits, along the longest way from
    `sources`."""
    levels: dict[Node, int] = {}
    for node in nodes:
        if node.op == "const" or not _is_linear(node) or node in sources:
            continue
        own = [(levels.get(arg, 0), arg) for arg in node.args if arg.op != "const"]
        steps = (level + (node.op == "xor" and arg.op != "xor" and arg in levels) for level, arg in own)
        levels[node] = max(steps, default=0)
    return [node for node, level in levels.items() if level >= LEAST_LEVELS]


def _cone(ends: Sequence[Node]) -> list[Node]:
    """The values that these are made of, down to what is not linear, which is included; arguments first."""
    found: dict[Node, None] = {}
    for end in ends:
        stack = [end]
        while stack:
            node, depth = stack[-1], len(stack)
            if node not in found and _is_linear(node):
                stack += [arg for arg in reversed(node.args) if arg not in found]
            if len(stack) == depth:
                found[stack.pop()] = None
    return list(found)


class _Chains:
    """Values as sums of bits. `sources`: the values whose bits they are; `sums`: by value, of each bit, the lowest first."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.sums: dict[Node, tuple[Sum, ...]] = {}
        self.sources: dict[Node, int] = {}  # with the number of its lowest bit
        self.bits: list[tuple[Node, int]] = []

    def find(self) -> None:
        for node in self.nodes:
            found = self._of(node) if _is_linear(node) or node.op == "const" else None
            self.sums[node] = self._source(node) if found is None else found

    def _source(self, node: Node) -> tuple[Sum, ...]:
        first = self.sources[node] = len(self.bits)
        self.bits += [(node, bit) for bit in range(node.width)]
        return tuple(1 << first + bit + 1 for bit in range(node.width))

    def _of(self, node: Node) -> tuple[Sum, ...] | None:
        args = [self.sums[arg] for arg in node.args]
        match node.op:
            case "const":
                return tuple(node.value >> bit & 1 for bit in range(node.width))
            case "xor":
                return tuple(a ^ b for a, b in zip(*args, strict=True))
            case "not":
                return tuple(a ^ 1 for a in args[0])
            case "concat":
                return tuple(bit for part in reversed(args) for bit in part)
            case "extract":
                return args[0][node.low : node.low + node.width]
            case "zext" | "sext":
                fill = args[0][-1] if node.op == "sext" else 0
                return args[0] + (fill,) * (node.width - len(args[0]))
            case "and" | "or":
                return _joined(args[0], args[1], int(node.op == "or"))
            case "shl" | "lshr":
                return self._shifted(node, args[0])
            case _:
                return self._chosen(*args)

    @staticmethod
    def _shifted(node: Node, value: tuple[Sum, ...]) -> tuple[Sum, ...]:
        places = min(node.args[1].value, node.width)
        zeros = (0,) * places
        return zeros + value[: node.width - places] if node.op == "shl" else value[places:] + zeros

    @staticmethod
    def _chosen(select: tuple[Sum, ...], a: tuple[Sum, ...], b: tuple[Sum, ...]) -> tuple[Sum, ...] | None:
        differ = [x ^ y for x, y in zip(a, b, strict=True)]
        if any(bit > 1 for bit in differ):
            return None
        return tuple(y ^ (select[0] if bit else 0) for y, bit in zip(b, differ, strict=True))


def _joined(a: tuple[Sum, ...], b: tuple[Sum, ...], strong: int) -> tuple[Sum, ...] | None:
    """`and` (strong 0) or `or` (1), where of each two bits one is a constant."""
    found = []
    for x, y in zip(a, b, strict=True):
        if x > 1 < y:
            return None
        constant, other = (x, y) if x <= 1 else (y, x)
        found.append(strong if constant == strong else other)
    return tuple(found)


def _ends(transition: Transition, nodes: Sequence[Node], deep: set[Node], sources: Container[Node]) -> set[Node]:
    """Those of the chains that anything else uses; of an exclusive or with what is no chain, only the chain."""
    used = {arg for node in nodes if node not in deep for arg in node.args}
    todo, found = list(deep & {*used, *roots(transition)}), set[Node]()
    while todo:
        node = todo.pop()
        if node.op == "xor" and any(arg in sources for arg in node.args):
            todo += [arg for arg in node.args if arg in deep]
        else:
            found.add(node)
    return found


def _rebuilt(transition: Transition, nodes: Sequence[Node], chains: _Chains, ends: set[Node]) -> Transition:
    b = Builder()
    made: dict[Node, Node] = {}
    late = _late(transition, nodes)
    for node in nodes:
        b.span, b.label = node.span, node.label
        made[node] = _trees(b, chains, node, made, late) if node in ends else same(b, node, [made[arg] for arg in node.args])
    is_shorter = LEAST_GAIN * _depth([made[node] for node in ends]) <= _depth(list(ends))
    return replaced(transition, made.__getitem__) if is_shorter else transition


def _depth(ends: Sequence[Node]) -> int:
    """Operators behind one another."""
    reach: dict[Node, int] = {}
    for node in order(ends):
        is_wire = node.op in WIRES
        reach[node] = max((reach[arg] for arg in node.args), default=0) + (not is_wire)
    return max(reach.values())


def _late(transition: Transition, nodes: Sequence[Node]) -> set[Node]:
    """What depends on a state that the iteration changes."""
    changed = {("register", name) for name in transition.next} | {("read", write.memory) for write in transition.writes}
    found: set[Node] = set()
    for node in nodes:
        if (node.op, node.name) in changed or any(arg in found for arg in node.args):
            found.add(node)
    return found


def _trees(b: Builder, chains: _Chains, node: Node, made: Mapping[Node, Node], late: set[Node]) -> Node:
    bits = []
    for one in chains.sums[node]:
        terms: tuple[list[Node], list[Node]] = ([], [])
        rest, number = one >> 1, 0
        while rest:
            skip = (rest & -rest).bit_length() - 1
            rest, number = rest >> skip + 1, number + skip + 1
            source, bit = chains.bits[number - 1]
            terms[source in late].append(b.extract(made[source], bit, 1))
        parts = [_parity(b, some) for some in terms if some]
        if one & 1:
            parts.append(b.const(1, 1))
        bits.append(_parity(b, parts) if parts else b.const(0, 1))
    return b.concat(*reversed(bits))


def _parity(b: Builder, terms: Sequence[Node]) -> Node:
    """The exclusive or of bits: of many, pairs of neighbours until few are left, which can then be near each other on a chip."""
    if len(terms) <= MOST_TERMS:
        result = terms[0]
        for term in terms[1:]:
            result = b.binary("xor", result, term)
        return result
    half = len(terms) // 2
    odd = terms[2 * half :]
    word = b.binary("xor", b.concat(*terms[: 2 * half : 2]), b.concat(*terms[1 : 2 * half : 2]))
    return _parity(b, [*(b.extract(word, bit, 1) for bit in reversed(range(half))), *odd])
