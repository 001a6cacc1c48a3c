# SPDX-License-Identifier: Apache-2.0
"""Logic of one bit: conjunctions and disjunctions as sets of literals.

Absorption, factoring, and comparisons with constants that exclude or imply each other (`x == 1 && x == 2`, `x != 1 && x == 2`).
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node
from compiler.ir.rewrite import rewrite, same

MOST_LITERALS = 16  # of one conjunction; larger ones stay as they are
DUAL = {"and": "or", "or": "and"}


def run(element: ElementIr) -> ElementIr:
    """Every `and`, `or` of one bit."""
    return rewrite(element, _remake)


def literals(node: Node, op: str) -> list[Node]:
    """Operands of a tree of one operator, once each, in order."""
    found: dict[Node, None] = {}
    todo = [node]
    while todo:
        at = todo.pop()
        if at.op == op and at.width == 1:
            todo += reversed(at.args)
        else:
            found[at] = None
    return list(found)


def _remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
    made = same(b, node, args)
    if made.width != 1 or made.op not in DUAL:
        return made
    op, dual = made.op, DUAL[made.op]
    found = literals(made, op)
    if not 2 <= len(found) <= MOST_LITERALS:
        return made
    if op == "and":
        found = _compared(b, found)
    terms = [literals(term, dual) for term in found]
    kept = [t for i, t in enumerate(terms) if not any(_hides(other, t, j < i) for j, other in enumerate(terms) if j != i)]
    common = [x for x in kept[0] if all(x in term for term in kept[1:])] if len(kept) > 1 else []
    if common and all(len(term) > len(common) for term in kept):
        rests = [_tree(b, [x for x in term if x not in common], dual) for term in kept]
        return _tree(b, [*common, _tree(b, rests, op)], dual)
    return _tree(b, [_tree(b, term, dual) for term in kept], op) if len(kept) < len(terms) or op == "and" else made


def _hides(other: list[Node], term: list[Node], is_first: bool) -> bool:
    """Absorption: x & (x | y) is x; of two equal ones the first."""
    return set(other) <= set(term) and (len(other) < len(term) or is_first)


def _tree(b: Builder, nodes: list[Node], op: str) -> Node:
    result = nodes[0]
    for node in nodes[1:]:
        result = b.make(op, (result, node), 1)
    return result


def _constant(node: Node) -> tuple[Node, int] | None:
    """x and k of x == k."""
    return (node.args[0], node.args[1].value) if node.op == "eq" and node.args[1].op == "const" else None


def _compared(b: Builder, found: list[Node]) -> list[Node]:
    """x == 1 makes x == 2 false, and x != 2 needless."""
    known = dict(pair for node in found if (pair := _constant(node)))
    result = []
    for node in found:
        negated = node.args[0] if node.op == "not" else None
        pair = _constant(negated if negated is not None else node)
        if pair is None or known.get(pair[0], pair[1]) == pair[1]:
            result.append(node)
        elif negated is None:
            return [b.const(0, 1)]
    return result
