# SPDX-License-Identifier: Apache-2.0
"""Flow tables: what an iteration asks one of them about one key becomes a single question, since hardware takes one in a cycle.

    conn.find(key, value, time);  value += 1;  conn.insert(key, value, time);

is one `place` that inserts the key if it is not there. That an `insert` or a `remove` depends on what `find` told is no obstacle:
what counts is whether the key is to be inserted if it is absent, and forgotten if it is there. Both must be known without the
value of the flow, which is read later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Flows, Node, Transition
from compiler.ir.rewrite import each, order, replaced, rewrite_transition, roots, same, substituted
from compiler.passes.writes import exclusive

ENABLE, INSERTS, FORGETS, KEY, TIME, SET = range(6)  # arguments of a `place`


def run(element: ElementIr) -> ElementIr:
    """Handler and signals."""
    return each(element, lambda transition: _transition(element, transition)) if element.flows else element


def _transition(element: ElementIr, transition: Transition) -> Transition:
    for name, flows in element.flows.items():
        b = Builder()
        transition = rewrite_transition(transition, same, b)
        own = [place for place in transition.places if place.name == name]
        for asked in _candidates(flows, own):
            question = _question(b, flows, asked)
            if question is not None:
                transition = _joined(b, transition, flows, asked, question)
                break  # the nodes are new ones; what is left is found in the next round
    return transition


def _candidates(flows: Flows, places: Sequence[Node]) -> Iterator[list[Node]]:
    """Questions in a row about one key, the most first."""
    for _, found in groupby(places, key=lambda place: _about(flows, place)):
        asked = list(found)
        yield from (asked[:count] for count in range(len(asked), 1, -1))


def _about(flows: Flows, place: Node) -> tuple[Node, ...]:
    """What two questions must have in common."""
    return (place.args[KEY], place.args[SET], *([place.args[TIME]] if flows.timeout else []))


def _is(node: Node, value: int) -> bool:
    return node.op == "const" and node.value == value


@dataclass(frozen=True)
class _Asked:
    """The questions about a key in an iteration: `find`, then at most one `insert` and one `remove`."""

    finds: list[Node]
    insert: Node | None
    remove: Node | None


def _sorted(asked: Sequence[Node]) -> _Asked | None:
    finds = [place for place in asked if _is(place.args[INSERTS], 0) and _is(place.args[FORGETS], 0)]
    inserts = [place for place in asked if _is(place.args[INSERTS], 1)]
    removes = [place for place in asked if _is(place.args[FORGETS], 1)]
    is_known = len(finds) + len(inserts) + len(removes) == len(asked) and list(asked[: len(finds)]) == finds
    if not is_known or len(inserts) > 1 or len(removes) > 1:
        return None
    return _Asked(finds, next(iter(inserts), None), next(iter(removes), None))


def _question(b: Builder, flows: Flows, asked: Sequence[Node]) -> Node | None:
    """One `place` that does what all of them do, None where there is none."""
    found = _sorted(asked)
    if found is None:
        return None
    zero = b.const(0, 1)

    def when(condition: Node, is_there: Callable[[Node], Node]) -> Node:
        """A condition where each find was told what `is_there` says."""
        told = {find: b.concat(is_there(find), zero, b.extract(find, 0, flows.width - 2)) for find in found.finds}
        return substituted(b, condition, told)

    enables = [when(find.args[ENABLE], lambda _: zero) for find in found.finds]
    inserts = when(found.insert.args[ENABLE], lambda _: zero) if found.insert else zero
    forgets = when(found.remove.args[ENABLE], lambda find: find.args[ENABLE]) if found.remove else zero
    if found.insert and found.remove:
        actual = found.insert.args[ENABLE], found.remove.args[ENABLE]
        if not (exclusive(*actual) and exclusive(inserts, forgets)):
            return None
    if any(node in asked for node in order([*enables, inserts, forgets])):
        return None
    enable = b.or_(*enables, inserts, forgets)
    first = asked[0]
    return b.exact("place", (enable, inserts, forgets, *first.args[KEY:]), first.width, value=first.value, name=first.name)


def _joined(b: Builder, transition: Transition, flows: Flows, asked: Sequence[Node], question: Node) -> Transition:
    """The transition with one question, and what each of those before is told of it."""
    made: dict[Node, Node] = {}

    def make(wanted: Sequence[Node]) -> None:
        for node in order(wanted):
            if node not in made:
                b.span, b.label = node.span, node.label
                made[node] = same(b, node, [made[arg] for arg in node.args])

    bits = flows.width - 2
    make([question])
    turn = made[question]  # which may be the first of those before, too
    is_there, is_new, place = (b.extract(turn, low, width) for low, width in ((bits + 1, 1), (bits, 1), (0, bits)))
    for node in asked:
        make(node.args)
        new = is_new if _is(node.args[INSERTS], 1) else b.const(0, 1)
        made[node] = b.concat(b.and_(made[node.args[ENABLE]], is_there), new, place)
    make(roots(transition))
    places = tuple(turn if node is asked[0] else made[node] for node in transition.places if node not in asked[1:])
    return replace(replaced(transition, made.__getitem__), places=places)
