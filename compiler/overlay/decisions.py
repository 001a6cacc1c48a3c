# SPDX-License-Identifier: Apache-2.0
"""What a program decides next, and what is decided in the end."""

from __future__ import annotations

from collections.abc import Iterable

import sluice_layouts as L

from compiler.ir.ir import Node
from compiler.ir.operators import COMPARISONS
from compiler.ir.rewrite import order
from compiler.overlay.behaviour import Packet
from compiler.overlay.graph import HOST

LOGIC = ("and", "or", "xor", "not")


def verdict_of(packet: Packet, lanes: frozenset[int]) -> tuple[L.Verdict, frozenset[int]]:
    """The verdict of a packet with these lanes, and the lanes that a unit is told."""
    if HOST not in lanes:
        return L.VERDICT_FORWARD, lanes
    is_controller = packet.verdict.value == L.VERDICT_TO_CONTROLLER
    return L.VERDICT_TO_CONTROLLER if is_controller else L.VERDICT_TO_HOST, frozenset()


def next_test(roots: Iterable[Node], is_control: bool) -> Node | None:
    """The first decision below these nodes, none if they are decided."""
    for root in roots:
        for node in order([root]):
            if node.op == "lookup" or node.op in COMPARISONS:
                return node
            if node.op == "mux":
                return _atom(node.args[0])
            if node.width == 1 and node.op in LOGIC and (plain := [arg for arg in node.args if arg.op not in (*LOGIC, "const")]):
                return plain[0]
        if is_control and root.op != "const":
            return _atom(root)
    return None


def _atom(node: Node) -> Node:
    """A part of a condition that is no combination of others."""
    while node.op in LOGIC:
        node = next(arg for arg in node.args if arg.op != "const")
    return node
