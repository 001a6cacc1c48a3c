# SPDX-License-Identifier: Apache-2.0
"""Keys of an element that the packet engine can look up before their packet's turn, for many packets at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler.backends.cpp_analysis import blocks, children, expressions, flit_in_place, nodes
from compiler.frontend import typed

PURE = (
    typed.Constant
    | typed.Load
    | typed.Part
    | typed.Pack
    | typed.Unary
    | typed.Binary
    | typed.Logical
    | typed.Conditional
    | typed.Cast
)

Locals = Mapping[typed.Variable, typed.Assign]


@dataclass(frozen=True)
class KeyAhead:
    """A look-up, and the assignments of locals that its key needs, in their order."""

    lookup: typed.Lookup
    locals: tuple[typed.Assign, ...]


def keys_ahead(element: typed.Element) -> list[KeyAhead]:
    """The look-ups whose keys are functions of the flit alone, as it came: nothing has changed the flit before, and each local of
    the key is assigned once, as a whole, by a statement that comes before the look-up on every way to it."""
    flit = flit_in_place(element)
    everything = list(nodes(element.handler))
    if flit is None or any(isinstance(node, typed.Update) for node in everything):
        return []
    times: dict[typed.Variable, int] = {}
    for node in everything:
        for variable in _written(node):
            times[variable] = times.get(variable, 0) + 1
    found = []
    for lookup, known in _lookups(element.handler, {}, flit):
        needed: dict[int, typed.Assign] = {}
        once = {variable: assign for variable, assign in known.items() if times[variable] == 1}
        if flit in known and _is_of_flit(lookup.key, flit, once, needed):
            found.append(KeyAhead(lookup, tuple(needed.values())))
    return found


def _written(node: typed.Expression | typed.Statement) -> Iterator[typed.Variable]:
    match node:
        case typed.Assign(place=place) | typed.SelectPort(index_to=place) | typed.Lookup(to=place) if place:
            yield place.variable
        case _:
            pass


def _lookups(block: typed.Block, known: Locals, flit: typed.Variable) -> Iterator[tuple[typed.Lookup, Locals]]:
    """Each look-up up to the first change of the flit or loop, with the assignments before it on every way to it."""
    here = dict(known)
    for statement in block.statements:
        own = {id(node) for node in expressions(statement)}
        for node in (inner for child in children(statement) for inner in nodes(child)):
            if isinstance(node, typed.Lookup) and id(node) in own:
                yield node, dict(here)
            if flit in _written(node):  # the value of a rule, or by a function
                return
        if isinstance(statement, typed.Loop):
            return
        if isinstance(statement, typed.Assign):
            if statement.place.variable is flit and statement.place.steps:
                return
            if not statement.place.steps:
                here[statement.place.variable] = statement
        for inner_block in blocks(statement):
            yield from _lookups(inner_block, here, flit)
        if any(flit in _written(node) for inner_block in blocks(statement) for node in nodes(inner_block)):
            return


def _is_of_flit(root: typed.Expression, flit: typed.Variable, known: Locals, needed: dict[int, typed.Assign]) -> bool:
    """Notes the assignments that it needs, those first that others need."""
    for node in (root, *expressions(root)):
        if not isinstance(node, PURE):
            return False
        if not isinstance(node, typed.Load) or node.place.variable is flit:
            continue
        assignment = known.get(node.place.variable)
        if assignment is None or node.place.variable.is_state:
            return False
        if not _is_of_flit(assignment.value, flit, known, needed):
            return False
        needed[id(assignment)] = assignment
    return True
