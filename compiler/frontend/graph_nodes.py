# SPDX-License-Identifier: Apache-2.0
"""What a configuration is while it is built: points, connections between them, and the names of a level."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.frontend import ast_element as tree
from compiler.frontend import typed
from compiler.frontend.resolve import describe
from compiler.frontend.source import Span


@dataclass(frozen=True)
class Point:
    """An end of a connection: a port of an instance, a lane (`kind` "lane"), a port of a group, or nothing ("idle")."""

    kind: str
    instance: str
    index: int
    is_source: bool
    type: typed.Type
    is_packet: bool
    shown: str

    @property
    def key(self) -> tuple[str, str, int, bool]:
        return self.kind, self.instance, self.index, self.is_source


@dataclass(frozen=True)
class Edge:
    source: Point
    target: Point
    depth: int
    lossy: bool
    span: Span


@dataclass
class Node:
    """What a name of a configuration stands for: its ports in both directions."""

    name: str
    inputs: list[Point]
    outputs: list[Point]
    names: dict[str, tuple[list[Point], bool]] = field(default_factory=dict)  # port name: its points, whether it is an array


@dataclass
class Level:
    """The names of the configuration, or of one group in it."""

    prefix: str
    nodes: dict[str, Node | None] = field(default_factory=dict)
    parent: Level | None = None

    def find(self, name: str) -> tuple[bool, Node | None]:
        """Whether the name is known, and its node (None where it is broken)."""
        level: Level | None = self
        while level is not None:
            if name in level.nodes:
                return True, level.nodes[name]
            level = level.parent
        return False, None

    def known(self) -> list[str]:
        return [*self.nodes, *(self.parent.known() if self.parent else [])]


def shown(point: Point) -> str:
    return "packet" if point.is_packet else describe(point.type)


def point_of(instance: str, port: typed.Port) -> Point:
    return Point("port", instance, port.index, not port.is_input, port.type, port.is_packet, f"{instance}.{port.name}")


def name_ports(node: Node, points: list[Point], ports: tuple[tree.PortDeclaration, ...], names: list[str]) -> None:
    """Names of ports as the source has them: an array is one name."""
    for port in ports:
        mine = [p for p, n in zip(points, names, strict=True) if n == port.name.text or _is_entry(n, port)]
        node.names[port.name.text] = (mine, port.count is not None)


def _is_entry(name: str, port: tree.PortDeclaration) -> bool:
    prefix = f"{port.name.text}_"
    return port.count is not None and name.startswith(prefix) and name[len(prefix) :].isdigit()


def ordered(instances: list[typed.Instance], channels: list[typed.Channel]) -> list[typed.Instance]:
    """In topological order, or as they are declared where there is a cycle."""
    waiting = {instance.name: 0 for instance in instances}
    for channel in channels:
        if channel.target.instance and channel.source.instance:
            waiting[channel.target.instance] += 1
    found: list[typed.Instance] = []
    ready = [instance for instance in instances if waiting[instance.name] == 0]
    by_name = {instance.name: instance for instance in instances}
    while ready:
        instance = ready.pop(0)
        found.append(instance)
        for channel in channels:
            if channel.source.instance == instance.name and channel.target.instance:
                waiting[channel.target.instance] -= 1
                if waiting[channel.target.instance] == 0:
                    ready.append(by_name[channel.target.instance])
    return found if len(found) == len(instances) else instances
