# SPDX-License-Identifier: Apache-2.0
"""Copies of the registers between stages whose bits reach very many gates: a net to a thousand of them takes most of a cycle, and
neither synthesis nor place and route makes a second register. Each copy (`sl_copy`) is for some of the users."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.backends.sv_expressions import expression
from compiler.ir.ir import Node
from compiler.schedule.carried import Carried
from compiler.schedule.schedule import APART, Schedule

MOST_LOADS = 48  # of a bit, without copies
LOADS = 32  # of a bit of each copy
WIRES = frozenset({"extract", "zext"})


class Copies:
    """Which copy of a value that a register brings into a stage, or of bits of it, is for which of its users there; 0 is the
    register itself."""

    def __init__(self, plan: Schedule, carried: Carried) -> None:
        self.count: dict[tuple[Node, int], int] = {}
        self._of: dict[tuple[Node, Node], int] = {}
        self._wired: set[tuple[Node, int]] = set()  # and the stage in which they are only wires
        brought = {(node, stage + 1) for stage, nodes in carried.steps.items() for node in nodes}
        for node in plan.pipeline.nodes:
            if node.op in WIRES:
                key, given = (node, plan.stage[node]), (node.args[0], plan.stage[node])
                nested = node.op == "extract" and given in self._wired  # no bits are taken of an expression
                if given in brought and not nested:
                    self._wired.add(key)
                    brought.add(key)
        loads: dict[tuple[Node, int], list[tuple[Node, int]]] = {}
        for user in plan.pipeline.nodes:
            for argument in dict.fromkeys(user.args) if user.op not in APART else ():
                if (key := (argument, plan.stage[user])) in brought:
                    loads.setdefault(key, []).append((user, _loads(user, argument)))
        for key, users in loads.items():
            if sum(load for _, load in users) > MOST_LOADS and len(users) > 1:
                self._share(key, users)

    def _share(self, key: tuple[Node, int], users: list[tuple[Node, int]]) -> None:
        before = 0
        for user, load in users:
            self._of[key[0], user] = before // LOADS
            before += load
        used = sorted({self._of[key[0], user] for user, _ in users})
        for user, _ in users:
            self._of[key[0], user] = used.index(self._of[key[0], user])
        if len(used) > 1:
            self.count[key] = len(used)

    def suffix(self, argument: Node, user: Node) -> str:
        """Behind the name of an argument, for one of its users in their stage."""
        copy = self._of.get((argument, user), 0)
        return f"_copy{copy}" if copy else ""

    def text(self, node: Node, stage: int, ref: Callable[[Node, int], str]) -> Iterator[str]:
        """The copies of a register that brings a node, or what the node is a part of, into a stage. `ref`: names."""
        for copy in range(1, self.count.get((node, stage), 1)):
            name, given = ref(node, stage), self._given(node, stage, ref)
            yield f"  logic [{node.width - 1}:0] {name}_copy{copy};"
            yield f"  sl_copy #(.Width({node.width})) u_{name}_copy{copy} ("
            yield f"    .clk_i, .enable_i(1'b1), .data_i({given}), .data_o({name}_copy{copy})"
            yield "  );"

    def _given(self, node: Node, stage: int, ref: Callable[[Node, int], str]) -> str:
        if (node, stage) not in self._wired:
            return ref(node, stage - 1)
        return expression(node, [self._given(node.args[0], stage, ref)])


def _loads(user: Node, argument: Node) -> int:
    """Gates of a user that a bit of its argument reaches: all of a choice that it makes, all bits that it fills."""
    if user.op in WIRES:  # its users are counted where it is brought in, too
        return 0
    chooses = user.op == "mux" and user.args[0] is argument
    return user.width if chooses or (user.op == "sext" and argument.width == 1) else 1
