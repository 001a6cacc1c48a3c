# SPDX-License-Identifier: Apache-2.0
"""Loops of a configuration into which no token can ever come: each element waits for the one before it.

An element waits for a port that every iteration reads; of ports that are read on some paths only, it is taken to need none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from compiler.frontend import typed
from compiler.frontend.source import Span

LEAVES = (typed.Variable, typed.Port, typed.Table, typed.Integer, typed.Struct, typed.Array, Span, str, int, bool, type(None))
Group = tuple[typed.Port, ...]  # a token at one of these is needed


def starved_loops(instances: Sequence[typed.Instance], channels: Sequence[typed.Channel]) -> list[tuple[typed.Instance, list[str]]]:
    """Each loop without a source once: its first instance, and the names along it, that one again at the end."""
    sources = {(c.target.instance, c.target.port): c.source for c in channels}
    needs = {instance.name: list(needed(instance.element)) for instance in instances}
    fed: set[str] = set()

    def comes(name: str, port: typed.Port) -> bool:
        source = sources.get((name, port.index))
        return source is not None and (not source.instance or source.instance in fed)

    grows = True
    while grows:
        more = {name for name, groups in needs.items() if all(any(comes(name, port) for port in group) for group in groups)}
        grows, fed = more != fed, more
    found: list[tuple[typed.Instance, list[str]]] = []
    seen: set[str] = set()
    for instance in instances:
        loop = _loop(instance.name, channels, fed)
        if loop and not seen & set(loop):
            seen.update(loop)
            found.append((instance, loop))
    return found


def _loop(start: str, channels: Sequence[typed.Channel], fed: set[str]) -> list[str]:
    """The shortest way from an instance back to itself along instances that get nothing, or nothing."""
    ways = [[start]] if start not in fed else []
    reached: set[str] = set()
    while ways:
        way = ways.pop(0)
        for channel in channels:
            following = channel.target.instance
            if channel.source.instance != way[-1] or not following or following in fed or following in reached:
                continue
            if following == start:
                return [*way, start]
            reached.add(following)
            ways.append([*way, following])
    return []


def needed(element: typed.Element) -> Iterator[Group]:
    """Of each group, an iteration needs a token at one port. An element with nothing but native bodies is taken to need none."""
    if element.numbered:
        if element.inputs:
            yield element.inputs
        return
    yield from _always(element.handler)


def _always(node: object) -> Iterator[Group]:
    """What is read whichever way is taken."""
    match node:
        case typed.Read(port=port):
            yield (port,)
        case typed.SelectPort(ports=ports):
            yield ports
        case typed.Block(statements=statements):
            for statement in statements:
                yield from _always(statement)
                if _leaves(statement):
                    return
        case typed.If(condition=condition) | typed.Conditional(condition=condition) | typed.Loop(condition=condition):
            yield from _always(condition)
        case typed.Logical(left=left):
            yield from _always(left)
        case typed.Call(function=function, arguments=arguments):
            yield from _always(arguments)
            yield from _always(function.body)
        case tuple():
            for part in node:
                yield from _always(part)
        case _ if not isinstance(node, LEAVES) and is_dataclass(node):
            for part in fields(node):
                yield from _always(getattr(node, part.name))


def _leaves(statement: typed.Statement) -> bool:
    """Whether what stands behind a statement may not be reached."""
    match statement:
        case typed.If(then=then, otherwise=otherwise):
            return any(map(_leaves, (*then.statements, *otherwise.statements)))
        case typed.Loop(body=body):
            return any(map(_leaves, body.statements))
    return isinstance(statement, typed.Return | typed.Break | typed.Continue)
