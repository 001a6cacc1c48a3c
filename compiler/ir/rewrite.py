# SPDX-License-Identifier: Apache-2.0
"""Walks transitions: their roots, their nodes in order, and new ones from the arguments up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from compiler.ir.build import Builder
from compiler.ir.ir import Assertion, ElementIr, MemoryWrite, Node, Put, Transition
from compiler.ir.operators import SOURCES

# Makes the new node of an old one from its new arguments.
Remake = Callable[[Builder, Node, Sequence[Node]], Node]


def roots(transition: Transition) -> list[Node]:
    """Every node that a transition names, in a fixed order."""
    found = [
        *transition.places,
        *transition.needs.values(),
        *([transition.any_of] if transition.any_of else []),
        *transition.takes.values(),
    ]
    for select in transition.selects:
        found += [select.enable, select.index]
    for put in transition.puts.values():
        found += [put.enable, put.data]
    found += transition.next.values()
    for write in transition.writes:
        found += [write.enable, write.index, write.data]
    for message in transition.messages:
        found += [message.enable, *message.arguments]
    for assertion in transition.assertions:
        found += [assertion.enable, assertion.condition]
    return found + ([transition.result] if transition.result else [])


def order(nodes: Iterable[Node]) -> list[Node]:
    """All nodes below, arguments first; the same for the same input."""
    done: dict[Node, None] = {}
    for root in nodes:
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [arg for arg in node.args if arg not in done] if node not in done else None
            if missing:
                stack += reversed(missing)
            else:
                done[stack.pop()] = None
    return list(done)


def same(b: Builder, node: Node, args: Sequence[Node]) -> Node:
    """The node again, of new arguments."""
    return b.make(node.op, args, node.width, value=node.value, low=node.low, name=node.name)


def replaced(transition: Transition, new: Callable[[Node], Node]) -> Transition:
    """The transition with every root exchanged."""
    return replace(
        transition,
        needs={port: new(node) for port, node in transition.needs.items()},
        any_of=new(transition.any_of) if transition.any_of else None,
        selects=tuple(replace(s, enable=new(s.enable), index=new(s.index)) for s in transition.selects),
        takes={port: new(node) for port, node in transition.takes.items()},
        puts={port: Put(new(put.enable), new(put.data)) for port, put in transition.puts.items()},
        next={name: new(node) for name, node in transition.next.items()},
        writes=tuple(MemoryWrite(w.memory, new(w.enable), new(w.index), new(w.data)) for w in transition.writes),
        messages=tuple(replace(m, enable=new(m.enable), arguments=tuple(map(new, m.arguments))) for m in transition.messages),
        assertions=tuple(Assertion(new(a.enable), new(a.condition), a.text) for a in transition.assertions),
        result=new(transition.result) if transition.result else None,
        places=tuple(map(new, transition.places)),
    )


def rewrite_transition(transition: Transition, remake: Remake, builder: Builder | None = None) -> Transition:
    """Every node made anew, arguments first."""
    b = builder or Builder()
    made: dict[Node, Node] = {}
    for node in order(roots(transition)):
        b.span, b.label = node.span, node.label
        made[node] = remake(b, node, [made[arg] for arg in node.args])
    return replaced(transition, made.__getitem__)


def substituted(b: Builder, node: Node, known: Mapping[Node, Node]) -> Node:
    """A node with others in the place of some below it."""
    made: dict[Node, Node] = {}
    for below in order([node]):
        made[below] = known[below] if below in known else same(b, below, [made[arg] for arg in below.args])
    return made[node]


def rewrite(element: ElementIr, remake: Remake) -> ElementIr:
    """Handler and signals."""
    return each(element, lambda transition: rewrite_transition(transition, remake))


def each(element: ElementIr, change: Callable[[Transition], Transition]) -> ElementIr:
    """An element with every transition changed."""
    return replace(element, handler=change(element.handler), signals=tuple(change(signal) for signal in element.signals))


def shape(element: ElementIr) -> tuple[object, ...]:
    """Equal for elements that differ in nothing but positions and labels."""
    found: list[object] = [tuple(element.registers), tuple(element.memories)]
    for transition in (element.handler, *element.signals):
        nodes = order(roots(transition))
        number = {node: i for i, node in enumerate(nodes)}
        found += [(n.op, tuple(number[arg] for arg in n.args), n.width, n.value, n.low, n.name) for n in nodes]
        found += [tuple(number[root] for root in roots(transition)), tuple(transition.next), tuple(transition.puts)]
    return tuple(found)


def cost(element: ElementIr) -> int:
    """A rough size: bits computed."""
    free = SOURCES | {"concat", "extract", "zext", "sext"}
    nodes = (node for t in (element.handler, *element.signals) for node in order(roots(t)) if node.op not in free)
    return sum(max(node.width, *(arg.width for arg in node.args)) * (node.width if node.op == "mul" else 1) for node in nodes)


def users(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """Who takes a node as argument."""
    found: dict[Node, list[Node]] = {}
    for node in nodes:
        for arg in node.args:
            found.setdefault(arg, []).append(node)
    return found
