# SPDX-License-Identifier: Apache-2.0
"""Sums of many terms (and `and`, `or`, `xor`): a tree in place of a chain, and the state that they update comes last.

`sum = ((sum + a) + b) + c` is three additions in the recurrence of `sum`; `sum + ((a + b) + c)` is one. A term that is added under
a condition, `c ? s + x : s`, is the term `c ? x : 0`, unless the condition needs the state. Of exclusive ors it is even then: the
128 terms of a product over GF(2) make a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.operators import SOURCES, mask
from compiler.ir.rewrite import each, order, rewrite_transition, roots, same

OPERATORS = frozenset({"add", "and", "or", "xor"})
LEAST_TERMS = 3
FREE = SOURCES | {"concat", "extract", "zext", "sext", "not"}


def run(element: ElementIr) -> ElementIr:
    """Handler and signals."""
    return each(each(element, _gated), _balanced)


class States:
    """Which states a node depends on, and which states' updates depend on it, as bits of a number."""

    def __init__(self, transition: Transition) -> None:
        self.nodes = order(roots(transition))
        self._bits: dict[tuple[str, str], int] = {}
        self._needs: dict[Node, int] = {}
        self._feeds = dict.fromkeys(self.nodes, 0)
        for node in self.nodes:
            own = self._bit(node.op, node.name) if node.op in ("register", "read") else 0
            for arg in node.args:
                own |= self._needs[arg]
            self._needs[node] = own
        for name, new in transition.next.items():
            self._feeds[new] |= self._bit("register", name)
        for write in transition.writes:
            for node in (write.enable, write.index, write.data):
                self._feeds[node] |= self._bit("read", write.memory)
        for node in reversed(self.nodes):
            for arg in node.args:
                self._feeds[arg] |= self._feeds[node]

    def _bit(self, op: str, name: str) -> int:
        return self._bits.setdefault((op, name), 1 << len(self._bits))

    def is_late(self, node: Node, root: Node) -> bool:
        """Whether `node` needs a state that `root` updates."""
        return bool(self._needs[node] & self._feeds[root])


def _gated(transition: Transition) -> Transition:
    """`c ? s + x : s` is `s + (c ? x : 0)`, where `s` is a sum itself, or needs the state that the whole updates."""
    states = States(transition)
    held = set(transition.next.values())  # there `c` becomes the enable of the register

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        if node.op == "mux":
            is_late = states.is_late(node.args[0], node)
            for at in (1, 2):
                changed, kept = args[at], args[3 - at]
                in_cycle = states.is_late(node.args[3 - at], node) and node not in held
                goes_on = changed.op == "xor" and _is_gate(kept) if is_late else kept.op == changed.op
                if changed.op in OPERATORS and kept in changed.args and (goes_on or (in_cycle and not is_late)):
                    term = changed.args[1] if changed.args[0] is kept else changed.args[0]
                    neutral = b.const(mask(node.width) if changed.op == "and" else 0, node.width)
                    gate = b.mux(args[0], term, neutral) if at == 1 else b.mux(args[0], neutral, term)
                    return b.make(changed.op, (kept, gate), node.width)
        return same(b, node, args)

    return rewrite_transition(transition, remake)


def _is_gate(node: Node) -> bool:
    """A term of a chain of exclusive ors, or such a chain."""
    return node.op == "xor" or (node.op == "mux" and any(arm.op == "const" and arm.value == 0 for arm in node.args[1:]))


def _balanced(transition: Transition) -> Transition:
    states = States(transition)
    inner = _inner(transition, states.nodes)
    level: dict[Node, int] = {}

    def height(node: Node) -> int:
        """Operators on the longest way to a new node."""
        todo = [node]
        while todo:
            unknown = [arg for arg in todo[-1].args if arg not in level]
            if unknown:
                todo += unknown
            else:
                at = todo.pop()
                level[at] = max((level[arg] for arg in at.args), default=0) + (at.op not in FREE)
        return level[node]

    made: dict[Node, Node] = {}

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        made[node] = same(b, node, args)
        if node.op in OPERATORS and node not in inner:
            terms = _terms(node, inner)
            if len(terms) >= LEAST_TERMS:
                late = [states.is_late(term, node) for term in terms]
                early = [made[term] for term, is_late in zip(terms, late, strict=True) if not is_late]
                last = [made[term] for term, is_late in zip(terms, late, strict=True) if is_late]
                made[node] = _tree(b, node, early, last, height)
        height(made[node])
        return made[node]

    return rewrite_transition(transition, remake)


def _inner(transition: Transition, nodes: Sequence[Node]) -> set[Node]:
    """Nodes that are a term of one other node of their operator, and nothing else."""
    uses = dict.fromkeys(nodes, 0)
    for root in roots(transition):
        uses[root] += 2
    only: dict[Node, Node] = {}
    for node in nodes:
        for arg in node.args:
            uses[arg] += 1
            only[arg] = node
    return {n for n in nodes if n.op in OPERATORS and uses[n] == 1 and only[n].op == n.op and only[n].width == n.width}


def _terms(root: Node, inner: set[Node]) -> list[Node]:
    found: list[Node] = []
    todo = list(reversed(root.args))
    while todo:
        node = todo.pop()
        if node in inner:
            todo += reversed(node.args)
        else:
            found.append(node)
    return found


def _tree(b: Builder, node: Node, early: list[Node], late: list[Node], height: Callable[[Node], int]) -> Node:
    """The lowest two first. What is known early comes first of all to the late ones, which keep their order among equals."""
    found = [_merged(b, node, early, [], height)] if early else []
    return _merged(b, node, late, found, height) if late else found[0]


def _merged(b: Builder, node: Node, terms: list[Node], known: list[Node], height: Callable[[Node], int]) -> Node:
    """A tree of `terms`, and of what is `known` before all of them."""
    heap = [(-1, place - len(known), term) for place, term in enumerate(known)]
    heap += [(height(term), place, term) for place, term in enumerate(terms)]
    heapify(heap)
    count = len(terms)
    while len(heap) > 1:
        (_, _, x), (_, _, y) = heappop(heap), heappop(heap)
        new = b.make(node.op, (x, y), node.width)
        heappush(heap, (height(new), count, new))
        count += 1
    return heap[0][2]
