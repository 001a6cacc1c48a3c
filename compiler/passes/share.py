# SPDX-License-Identifier: Apache-2.0
"""Common subexpressions: what is computed twice is computed once, with operands in either order.

Equal nodes are one already (the builder's pool); this makes more nodes equal, by ordering operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.operators import COMMUTATIVE
from compiler.ir.rewrite import each, rewrite_transition, same


def run(element: ElementIr) -> ElementIr:
    """Handler and signals."""
    return each(element, _transition)


def _transition(transition: Transition) -> Transition:
    """Operands of commutative operators in the order in which they are computed."""
    place: dict[Node, int] = {}

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        if node.op in COMMUTATIVE and args[1].op != "const":
            args = sorted(args, key=lambda arg: place[arg])
        made = same(b, node, args)
        place.setdefault(made, len(place))
        return made

    return rewrite_transition(transition, remake)
