# SPDX-License-Identifier: Apache-2.0
"""Recurrences: makes the way from a register to its own next value short. What does not depend on the register is moved out of it.

* What only keeps the register moves to the top: `change ? value : register`, so that the back end makes it the register's enable.
* A register with few values (a flag, a state machine): the next value for every present one is computed beforehand, and the
  register only selects among them (Shannon's expansion).
* A sum whose operand is selected by the register: both sums are computed, and the register selects among those ("select last").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.operators import SOURCES
from compiler.ir.rewrite import each, order, roots, same
from compiler.passes.multiplexers import DEPTH, assume

MOST_VALUES = 16  # of a register whose next value is computed for each
MOST_COPIES = 1 << 11  # nodes that computing them for each adds to an element
MOST_LEAVES = 1 << 10  # ends of the tree of choices for one value
FREE = SOURCES | {"concat", "extract", "zext", "sext", "not"}  # what takes no time, or next to none
ASKED = frozenset({"place", "lookup"})  # what is asked once: a table changes by it, or would be there twice
LATE = frozenset({"add", "sub", "and", "or", "xor", "eq", "ult", "slt", "mul", "mux"})  # worth doing twice to have the choice last


def run(element: ElementIr, names: frozenset[str] | None = None) -> ElementIr:
    """For these registers, or all."""
    wanted = frozenset(element.registers) if names is None else names
    return each(element, lambda transition: _transition(element, transition, wanted))


def _read(name: str, new: Node) -> Node | None:
    """The register in its own next value."""
    return next((n for n in order([new]) if n.op == "register" and n.name == name), None)


def _copies(state: Node, new: Node, values: int) -> int:
    """Nodes of a next value that is computed for each present one."""
    return values * len(depends(state, [new]))


def _transition(element: ElementIr, transition: Transition, wanted: frozenset[str]) -> Transition:
    b = Builder()
    _pool(b, transition)
    following = dict(transition.next)
    for name in [name for name in following if name in wanted]:
        new = following[name]
        state = _read(name, new)
        if state is not None and not any(node.op in ASKED for node in depends(state, [new])):
            following[name] = _shorter(b, element, transition, state, MOST_COPIES // max(len(wanted), 1))
    return replace(transition, next=following)


def _pool(b: Builder, transition: Transition) -> None:
    """Lets the builder know the transition's own nodes, so that what stays the same is the same node."""
    for node in order(roots(transition)):
        b.adopt(node)


def _shorter(b: Builder, element: ElementIr, transition: Transition, state: Node, most: int) -> Node:
    """The form of the next value with the shortest way from the state, of at most about `most` nodes more; the first of equals."""
    new = transition.next[state.name]
    forms = [held(b, state, new)]
    forms.append(held(b, state, select_last(b, state, new)))
    few = reachable(b, element, transition, state) if distance(state, forms[0]) > 1 else set()
    values = few or (range(1 << state.width) if 1 << state.width <= MOST_VALUES else ())
    if 0 < len(values) <= MOST_VALUES and _copies(state, new, len(values)) <= most:
        forms.append(held(b, state, expanded(b, state, new, sorted(values))))
    return min(forms, key=lambda form: distance(state, form))


def distance(state: Node, new: Node) -> int:
    """Operators on the longest way from the state to its next value; the multiplexer that only keeps it does not count."""
    enable, value = peeled(state, new)
    return max(_longest(state, node) for node in (*enable, value))


def peeled(state: Node, new: Node) -> tuple[list[Node], Node]:
    """Conditions under which a register changes, and what it becomes."""
    enable = []
    while new.op == "mux" and state in new.args[1:]:
        enable.append(new.args[0])
        new = new.args[1] if new.args[2] is state else new.args[2]
    return enable, new


def _longest(state: Node, new: Node) -> int:
    found: dict[Node, int] = {}
    for node in order([new]):
        if node is state:
            found[node] = 0
        else:
            below = [found[arg] for arg in node.args if arg in found]
            if below:
                found[node] = max(below) + (node.op not in FREE)
    return found.get(new, 0)


def depends(state: Node, roots_: Sequence[Node]) -> set[Node]:
    """The nodes that depend on the state, itself included."""
    found = {state}
    for node in order(roots_):
        if any(arg in found for arg in node.args):
            found.add(node)
    return found


def held(b: Builder, state: Node, new: Node) -> Node:
    """`change ? value : state`, where the state is a leaf of the tree of multiplexers."""
    changes: dict[Node, Node] = {state: b.const(0, 1)}
    values: dict[Node, Node] = {}  # without the leaves that are the state
    if new is state:
        return new
    for node in _tree(new):
        if node is state:
            continue
        changes[node], values[node] = b.const(1, 1), node
        if node.op == "mux":
            c, x, y = node.args
            changes[node] = b.mux(c, changes[x], changes[y])
            kept = [values[arm] for arm in (x, y) if arm in values]
            if kept:
                values[node] = b.mux(c, *kept) if len(kept) == 2 else kept[0]
            else:
                del values[node]
    if new not in values:
        return state
    return new if changes[new].op == "const" else b.mux(changes[new], values[new], state)


def _tree(new: Node) -> list[Node]:
    """The multiplexers at the top and their leaves, arms first."""
    found: dict[Node, None] = {}
    todo = [(new, False)]
    while todo:
        node, is_done = todo.pop()
        if is_done or node.op != "mux":
            found[node] = None
        elif node not in found:
            todo += [(node, True), *((arm, False) for arm in node.args[1:])]
    return list(found)


def expanded(b: Builder, state: Node, new: Node, values: Sequence[int]) -> Node:
    """The next value for each present one, and the state selects."""
    bits = distinguishing(values, state.width)
    cases = {_pick(value, bits): substituted(b, state, new, value) for value in values}
    index = b.concat(*(b.extract(state, bit, 1) for bit in reversed(bits)))
    anything = cases[_pick(values[0], bits)]
    return b.select(index, [cases.get(number, anything) for number in range(1 << len(bits))])


def distinguishing(values: Sequence[int], width: int) -> list[int]:
    """Few bits by which all values differ, lowest first: the one that parts the most of those still together, again and again."""
    groups, bits = [list(values)], list[int]()
    while any(len(group) > 1 for group in groups):
        _, best = max((_parted(groups, bit), -bit) for bit in range(width))
        best = -best
        bits.append(best)
        groups = [part for group in groups for side in (0, 1) if (part := [v for v in group if v >> best & 1 == side])]
    return sorted(bits) or [0]


def _parted(groups: Sequence[Sequence[int]], bit: int) -> int:
    return sum(len({value >> bit & 1 for value in group}) for group in groups)


def _pick(value: int, bits: Sequence[int]) -> int:
    return sum((value >> bit & 1) << place for place, bit in enumerate(bits))


def substituted(b: Builder, state: Node, new: Node, value: int) -> Node:
    """The next value where the state has this one."""
    made = {state: b.const(value, state.width)}
    changed = depends(state, [new])
    for node in order([new]):
        if node not in made:
            made[node] = same(b, node, [made[arg] for arg in node.args]) if node in changed else node
    return made[new]


def reachable(b: Builder, element: ElementIr, transition: Transition, state: Node) -> set[int]:
    """Values that a register can have, where they are few and constants; else nothing."""
    found = {element.registers[state.name].reset}
    todo = sorted(found)
    others = [t for t in (element.handler, *element.signals) if t is not transition and state.name in t.next]
    for node in (leaf for other in others for leaf in _tree(other.next[state.name]) if leaf.op != "mux"):
        if node.op == "const":
            todo.append(node.value)
        elif not (node.op == "register" and node.name == state.name):
            return set()
    while todo:
        found.add(value := todo.pop())
        following = _constants(b, substituted(b, state, transition.next[state.name], value), MOST_LEAVES)
        if following is None or len(found | following) > MOST_VALUES:
            return set()
        todo += sorted(following - found)
        found |= following
    return found


def _constants(b: Builder, node: Node, budget: int) -> set[int] | None:
    """The constants that a tree of choices ends in; None: it ends in others too, or has too many ends."""
    if node.op == "const":
        return {node.value}
    condition = _condition(node)
    if condition is None or budget < 2:
        return None
    found: set[int] = set()
    for holds in (True, False):
        arm = assume(b, node, condition, holds, DEPTH)
        ends = _constants(b, arm, budget // 2) if arm is not node else None
        if ends is None:
            return None
        found |= ends
    return found


def _condition(node: Node) -> Node | None:
    """Of a multiplexer in the parts of a value; of a value of one bit, itself."""
    if node.op == "mux":
        return node.args[0]
    if node.op in ("concat", "zext", "sext", "extract"):
        return next((found for arg in node.args if (found := _condition(arg)) is not None), None)
    return node if node.width == 1 and node.op != "const" else None


def select_last(b: Builder, state: Node, new: Node) -> Node:
    """Operators move before multiplexers whose condition alone depends on the state."""
    changed = depends(state, [new])
    made: dict[Node, Node] = {}
    for node in order([new]):
        if node not in changed or node is state:
            made[node] = node
            continue
        args = [made[arg] for arg in node.args]
        made[node] = _moved(b, changed, node, args) or same(b, node, args)
        changed.add(made[node])
    return made[new]


def _moved(b: Builder, changed: set[Node], node: Node, args: Sequence[Node]) -> Node | None:
    """op(c ? x : y, z) is c ? op(x, z) : op(y, z); where x, y, z do not depend on the state."""
    if node.op not in LATE and node.op not in ("zext", "sext", "extract", "not"):
        return None
    late = [i for i, arg in enumerate(args) if arg in changed]
    if len(late) != 1:
        return None
    choice = args[late[0]]
    if choice.op != "mux" or choice.args[0] not in changed or any(arm in changed for arm in choice.args[1:]):
        return None
    arms = ([*args[: late[0]], arm, *args[late[0] + 1 :]] for arm in choice.args[1:])
    return b.mux(choice.args[0], *(same(b, node, arm) for arm in arms))
