# SPDX-License-Identifier: Apache-2.0
"""If-conversion: what is known on one path through the source, and one value from the values of several paths.

A path is the conditions taken since the begin of the iteration. Paths that meet exclude each other, so a `mux` by the
condition in which they differ first tells them apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from compiler.frontend import typed
from compiler.ir.build import Builder
from compiler.ir.ir import Node

Path = tuple[Node, ...]
Key = Hashable  # a typed.Variable, or a tuple that starts with the kind: ("take", port)


@dataclass
class State:
    """Values behind the statements so far, on one path."""

    path: Path = ()
    values: dict[Key, Node] = field(default_factory=dict)

    def fork(self, *conditions: Node) -> State:
        """A path that goes on where these hold."""
        known = tuple(condition for condition in conditions if condition.op != "const")
        return State((*self.path, *known), dict(self.values))


class Paths:
    """Joins states with the nodes of one builder."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder
        self.defaults: dict[Key, Node] = {}  # values of keys that a path has not set, where they are not 0

    def all_of(self, conditions: Sequence[Node]) -> Node:
        """1 where all hold."""
        return self.b.and_(*conditions) if conditions else self.b.const(1, 1)

    def known(self, state: State, condition: Node) -> Node:
        """The condition, or what this path already says of it."""
        found: dict[Node, Node] = {}
        path = frozenset(state.path)

        def of(node: Node) -> Node:
            if node not in found:
                found[node] = new(node)
            return found[node]

        def new(node: Node) -> Node:
            if node in path:
                return self.b.const(1, 1)
            if self.b.not_(node) in path:
                return self.b.const(0, 1)
            if node.op in ("and", "or", "not"):
                return self.b.make(node.op, [of(arg) for arg in node.args], 1)
            return node

        return of(condition)

    def join(self, states: Sequence[State], base: Path, left: Sequence[Path]) -> State | None:
        """One state from those that came out of a region which was entered with `base`; `left` are the paths on which the region
        was left to elsewhere. None: no state came out."""
        if not states:
            return None
        if len(states) == 1:
            return states[0]
        rests = [state.path[len(base) :] for state in states]
        values = self._merged(list(zip(rests, (state.values for state in states), strict=True)))
        stayed = [self.b.not_(self.all_of(path[len(base) :])) for path in left]
        return State((*base, *(condition for condition in stayed if condition.op != "const")), values)

    def _merged(self, cases: list[tuple[Path, dict[Key, Node]]]) -> dict[Key, Node]:
        """By the condition in which they differ first."""
        if len(cases) == 1:
            return cases[0][1]
        (path, values), *others = cases
        if path and all(rest and rest[0] in (path[0], self.b.not_(path[0])) for rest, _ in others):
            condition = path[0]
            yes = [(rest[1:], found) for rest, found in cases if rest[0] is condition]
            no = [(rest[1:], found) for rest, found in cases if rest[0] is not condition]
            if not no:
                return self._merged(yes)
            return self.choose(condition, self._merged(yes), self._merged(no))
        condition = self.all_of(path)
        opposite = self.b.not_(condition)
        stripped = [(rest[1:] if rest and rest[0] is opposite else rest, found) for rest, found in others]
        return self.choose(condition, values, self._merged(stripped))

    def choose(self, condition: Node, yes: dict[Key, Node], no: dict[Key, Node]) -> dict[Key, Node]:
        """`condition ? yes : no`, value by value. What a path has not set is 0, or in `defaults`; data not sent are anything."""
        result: dict[Key, Node] = {}
        for key in [*yes, *(key for key in no if key not in yes)]:
            a, b = yes.get(key), no.get(key)
            if a is b and a is not None:
                result[key] = a
            elif isinstance(key, tuple) and key[0] == "data" and (a is None or b is None):
                result[key] = a or b  # type: ignore[assignment]
            else:
                other = self.defaults.get(key) or self.b.const(0, (a or b).width)  # type: ignore[union-attr]
                result[key] = self.b.mux(condition, a or other, b or other)
        return result


def without_locals(values: dict[Key, Node]) -> dict[Key, Node]:
    """What a called function sees: states, and the effects so far."""
    return {key: node for key, node in values.items() if not isinstance(key, typed.Variable) or key.is_state}
