# SPDX-License-Identifier: Apache-2.0
"""Configurations: instances and connections become a graph; groups are expanded into it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from compiler.frontend import ast, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.constants import Bad
from compiler.frontend.graph_nodes import Edge, Level, Node, Point, name_ports, ordered, point_of, shown
from compiler.frontend.scope import ElementName, Number, Scope, TypeName
from compiler.frontend.source import Diagnostics, Note, Span, closest
from compiler.frontend.starved import starved_loops
from compiler.frontend.state_machine import StateMachines

LANES = {"from_tor": True, "from_lane": True, "to_tor": False, "to_lane": False}
MAX_LANES = 7
MAX_DEPTH = 1 << 16
MAX_GROUPS = 16

Parameters = dict[str, Number | TypeName]


Find = Callable[[tuple[ast.Name, ...], Scope], ElementName | None]
Instantiate = Callable[[ElementName, Parameters, Span], typed.Element]


class GraphBuilder(StateMachines):
    """Builds the graph; elements come from `find_element` and `instantiate`."""

    def __init__(
        self,
        scope: Scope,
        find_element: Find,
        instantiate: Instantiate,
        packet: TypeName,
        library: list[str],
        diagnostics: Diagnostics,
    ) -> None:
        super().__init__(diagnostics, Scope(scope))
        self.find_element = find_element
        self.instantiate = instantiate
        self.packet = packet
        self.library = library
        self.instances: dict[str, typed.Instance] = {}
        self.edges: list[Edge] = []
        self.level = Level("")
        self.depth = 0
        self.on_host = False  # of the group that is expanded
        self.suffix = ""  # of instances in a round of `.repeat`
        self.is_broken = False

    def build(self, nodes: tuple[tree.Connection, ...], most_packet: int) -> tuple[list[typed.Instance], list[typed.Channel], int]:
        """Instances in topological order, channels, and the number of lanes."""
        self._connections(nodes)
        edges = self._through_groups()
        self._check_connected(edges)
        channels = [self._channel(edge, most_packet) for edge in edges if edge.source.kind != "idle"]
        self._check_loops(channels)
        lanes = [end.port + 1 for c in channels for end in (c.source, c.target) if not end.instance]
        return ordered(list(self.instances.values()), channels), channels, max(lanes, default=0)

    def _connections(self, nodes: tuple[tree.Connection, ...]) -> None:
        for node in nodes:
            try:
                if isinstance(node, tree.InstanceDeclaration):
                    self._declare_instance(node)
                elif isinstance(node, tree.Chain):
                    self._chain(node)
                else:
                    self._repeat_connections(node)
            except Bad:
                self.is_broken = True

    def _repeat_connections(self, node: tree.RepeatConnections) -> None:
        for number in self.repeats(node.low, node.high):
            outer_scope, self.scope = self.scope, Scope(self.scope)
            outer, self.level = self.level, Level(f"{self.level.prefix}", {}, self.level)
            try:
                self.declare(node.name, Number(number, None))
                self.suffix = f"_{number}"
                self._connections(node.body)
            finally:
                self.scope, self.level, self.suffix = outer_scope, outer, ""

    # Instances

    def _declare_instance(self, node: tree.InstanceDeclaration) -> Node:
        name = node.name.text
        if name in self.level.nodes:
            raise self.error("E0602", f"duplicate instance '{name}'", node.name.span, "rename one of them")
        if name in LANES or name in ("Drop", "Idle"):
            raise self.error("E0602", f"'{name}' is a built-in name", node.name.span, "choose another name")
        self.level.nodes[name] = None
        found = self._make(node.path, node.arguments, name + self.suffix, node.on_host, node.takes_signals, node.span)
        self.level.nodes[name] = found
        return found

    def _element(self, path: tuple[ast.Name, ...]) -> ElementName:
        found = self.find_element(path, self.scope)
        if found is not None:
            return found
        name = path[-1]
        known = [n for n, binding in self.scope.visible().items() if isinstance(binding, ElementName)] + self.level.known()
        near = closest(name.text, known) or self._library_name(closest(name.text.lower(), self.library))
        hint = f"did you mean '{near}'?" if near else "declare it with .element, or import the file that does"
        raise self.error("E0601", f"undefined element '{'::'.join(n.text for n in path)}'", name.span, hint)

    def _library_name(self, folder: str) -> str:
        """The element of a folder of the library, as it is written."""
        path = Path(__file__).parents[2] / "elements" / folder / f"{folder}.sl"
        text = path.read_text() if folder else ""
        return next((name for name in re.findall(r"\.element\s+(\w+)", text) if name.lower() == folder), "")

    def _make(
        self, path: tuple[ast.Name, ...], arguments: tuple[tree.Argument, ...], name: str, host: bool, signals: bool, span: Span
    ) -> Node:
        found = self._element(path)
        parameters = self.parameters_of(found.declaration, arguments, span)
        full = self.level.prefix + name
        if isinstance(found.declaration, tree.Group):
            return self._group(found, found.declaration, parameters, full, host, span)
        element = self.instantiate(found, parameters, span)
        if full in self.instances:
            note = (Note("the other instance", self.instances[full].span),)
            raise self.error("E0602", f"duplicate instance '{full}'", span, "rename one of them", note)
        self.instances[full] = typed.Instance(full, element, host or self.on_host, signals, span)
        node = Node(full, [point_of(full, p) for p in element.inputs], [point_of(full, p) for p in element.outputs])
        for points, ports in ((node.inputs, found.declaration.ports.inputs), (node.outputs, found.declaration.ports.outputs)):
            name_ports(node, points, ports, [p.name for p in (element.inputs if points is node.inputs else element.outputs)])
        return node

    def parameters_of(self, node: tree.Element | tree.Group, arguments: tuple[tree.Argument, ...], span: Span) -> Parameters:
        """The value of each parameter: given by name, by place, or the default."""
        given: dict[str, ast.Expression] = {}
        names = [parameter.name.text for parameter in node.parameters]
        shown = f"{node.name.text}<{', '.join(names)}>" if names else f"{node.name.text} has no parameters"
        for number, argument in enumerate(arguments):
            name = argument.name.text if argument.name else names[number] if number < len(names) else ""
            if name not in names:
                text = f"unknown parameter '{name}'" if name else f"too many parameters: {len(arguments)}"
                raise self.error("E0507", text, argument.span, shown)
            if name in given:
                raise self.error("E0507", f"'{name}' is given twice", argument.span, shown)
            given[name] = argument.value
        found: Parameters = {}
        for parameter in node.parameters:
            value = given.get(parameter.name.text, parameter.default)
            if value is None:
                raise self.error("E0507", f"'{node.name.text}' needs the parameter '{parameter.name.text}'", span, shown)
            found[parameter.name.text] = self._parameter(value)
        return found

    def _parameter(self, node: ast.Expression) -> Number | TypeName:
        if isinstance(node, ast.TypeValue):
            return self.channel_type(node.type)
        if isinstance(node, ast.Reference):
            found = self.find(node.name, node.span)
            if isinstance(found, TypeName):
                return found
        return Number(self.value(node), None)

    # Groups

    def _group(self, found: ElementName, node: tree.Group, parameters: Parameters, full: str, host: bool, span: Span) -> Node:
        if self.depth >= MAX_GROUPS:
            hint = f"groups nest at most {MAX_GROUPS} deep, and a group cannot contain itself"
            raise self.error("E0608", f"'{node.name.text}' is nested too deeply", span, hint)
        outer = (self.level, self.scope, self.suffix, self.on_host)
        self.level, self.scope, self.suffix, self.on_host = Level(f"{full}_"), Scope(found.scope), "", host or self.on_host
        self.depth += 1
        try:
            for name, value in parameters.items():
                self.declare(ast.Name(name, span), value)
            outside = self._group_ports(node.ports, full)
            self._connections(node.connections)
        finally:
            self.level, self.scope, self.suffix, self.on_host = outer
            self.depth -= 1
        return outside

    def _group_ports(self, ports: tree.Ports, full: str) -> Node:
        """The group's ports: seen from outside in the node, from inside as names."""
        outside = Node(full, [], [])
        if ports.is_numbered:
            assert ports.input_count is not None and ports.output_count is not None
            counts = (("begin", self.value(ports.input_count), True), ("end", self.value(ports.output_count), False))
            for name, count, is_input in counts:
                self._group_port(outside, name, self.packet, count, True, is_input)
            return outside
        for nodes, is_input in ((ports.inputs, True), (ports.outputs, False)):
            for port in nodes:
                count = 1 if port.count is None else self.positive(port.count, "the number of ports")
                self._group_port(outside, port.name.text, self.channel_type(port.type), count, port.count is not None, is_input)
        return outside

    def _group_port(self, outside: Node, name: str, kind: TypeName, count: int, is_array: bool, is_input: bool) -> None:
        points = outside.inputs if is_input else outside.outputs
        added: list[Point] = []
        for number in range(count):
            shown = f"{outside.name}.{name}" + (f"[{number}]" if is_array else "")
            added.append(Point("group", f"{outside.name}.{is_input}", len(points), not is_input, kind.type, kind.is_packet, shown))
            points.append(added[-1])
        outside.names[name] = (added, is_array)
        inside = [replace(point, is_source=is_input) for point in added]
        self.level.nodes[name] = Node(name, [] if is_input else inside, inside if is_input else [])

    # Connections

    def _chain(self, node: tree.Chain) -> None:
        ends = [self._node_of(end) for end in node.ends]
        for number, arrow in enumerate(node.arrows):
            left, right = node.ends[number], node.ends[number + 1]
            source = self._choose(ends[number], left, True)
            target = self._choose(ends[number + 1], right, False)
            depth = self._depth(arrow)
            self.edges.append(Edge(source, target, depth, arrow.lossy, left.span.to(right.span)))

    def _depth(self, arrow: tree.Arrow) -> int:
        if arrow.depth is None:
            return 0
        depth = self.value(arrow.depth)
        if not 1 <= depth <= MAX_DEPTH:
            raise self.error("E0606", f"channel depth {depth} is out of range", arrow.depth.span, f"use 1 to {MAX_DEPTH} tokens")
        return depth

    def _node_of(self, end: tree.End) -> Node:
        """The node that an end of a chain names; an element's name makes an instance without a name."""
        if end.declares:
            whole = (*end.declares.path, end.declares.name)
            if any(whole[0].text in scope.namespaces for scope in self.scope.chain()) and len(whole) == 2:
                return self._anonymous(whole, end.declares.arguments, end.span)  # namespace::Element
            return self._declare_instance(end.declares)
        name = end.path[0]
        if len(end.path) == 1 and not end.arguments:
            is_known, node = self.level.find(name.text)
            if is_known:
                if node is None:
                    raise Bad
                return node
            if name.text in LANES:
                return self._lane(end)
            if name.text == "Idle":
                idle = Point("idle", "", 0, True, self.packet.type, self.packet.is_packet, "Idle")
                return Node("Idle", [], [idle])
        return self._anonymous(end.path, end.arguments, end.span)

    def _anonymous(self, path: tuple[ast.Name, ...], arguments: tuple[tree.Argument, ...], span: Span) -> Node:
        """An instance that is named by its element."""
        number, base = 1, path[-1].text.lower()
        while self.level.prefix + f"{base}_{number}{self.suffix}" in self.instances:
            number += 1
        return self._make(path, arguments, f"{base}_{number}{self.suffix}", False, False, span)

    def _lane(self, end: tree.End) -> Node:
        name = end.path[0].text
        given = end.output or end.input
        number = 0
        if name.endswith("lane"):
            if given is None:
                raise self.error("E0607", f"'{name}' needs a lane number", end.span, f"{name}[0]")
            number = self.value(given)
        elif given is not None:
            raise self.error(
                "E0607", f"'{name}' is a single port, on lane 0", end.span, "for other lanes use from_lane[n], to_lane[n]"
            )
        if not 0 <= number < MAX_LANES:
            raise self.error("E0607", f"lane {number} is out of range", end.span, f"use 0 to {MAX_LANES - 1}")
        is_source = LANES[name]
        shown = f"lane {number}"
        point = Point("lane", "", number, is_source, self.packet.type, self.packet.is_packet, shown)
        return Node(shown, [] if is_source else [point], [point] if is_source else [])

    def _choose(self, node: Node, end: tree.End, is_source: bool) -> Point:
        """The port that a connection uses."""
        points = node.outputs if is_source else node.inputs
        what = "output" if is_source else "input"
        name = end.path[-1].text
        given = end.output if is_source else end.input
        if points and points[0].kind in ("lane", "idle"):
            return points[0]
        if not points:
            raise self.error("E0604", f"'{name}' has no {what}", end.span, self._ports_hint(node))
        if end.port is not None:
            chosen = self._by_name(node, end, end.port, is_source)
            if chosen is not None:
                return chosen
        if given is not None:
            return self._by_number(points, name, given, what)
        if len(points) > 1:
            hint = f"choose one: {name} [1]" if is_source else f"choose one: [1] {name}"
            raise self.error("E0604", f"'{name}' has {len(points)} {what}s", end.span, hint)
        return points[0]

    def _by_number(self, points: list[Point], name: str, given: ast.Expression, what: str) -> Point:
        number = self.value(given)
        if not 1 <= number <= len(points):
            hint = f"it has {len(points)}, numbered from 1"
            raise self.error("E0501", f"'{name}' has no {what} {number}", given.span, hint)
        return points[number - 1]

    def _by_name(self, node: Node, end: tree.End, port: ast.Name, is_source: bool) -> Point | None:
        """The named port; None where it is one of the other direction, and so belongs to the other arrow."""
        found = node.names.get(port.text)
        if found is None:
            near = closest(port.text, list(node.names))
            hint = f"did you mean '{near}'?" if near else self._ports_hint(node)
            raise self.error("E0501", f"'{end.path[-1].text}' has no port '{port.text}'", port.span, hint)
        points, is_array = found
        if points[0] not in (node.outputs if is_source else node.inputs):
            return None
        if not is_array:
            return points[0]
        if end.port_index is None:
            raise self.error("E0501", f"'{port.text}' is an array of {len(points)} ports", port.span, f"choose one: {port.text}[0]")
        number = self.value(end.port_index)
        if not 0 <= number < len(points):
            raise self.error(
                "E0501", f"port {port.text}[{number}] is out of range", end.port_index.span, f"use 0 to {len(points) - 1}"
            )
        return points[number]

    def _ports_hint(self, node: Node) -> str:
        shown = ", ".join(node.names)
        return f"its ports: {shown}" if shown else f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs"

    # The whole

    def _through_groups(self) -> list[Edge]:
        """Connections from element to element: ports of groups are taken out."""
        for edge in self.edges:
            self._check_types(edge)
        self._check_once()
        outgoing = {edge.source.key: edge for edge in self.edges}
        found: list[Edge] = []
        reached: set[tuple[str, str, int, bool]] = set()
        for edge in self.edges:
            if edge.source.kind == "group":
                continue
            steps = 0
            while edge.target.kind == "group":
                kind, instance, index, _ = edge.target.key
                following = outgoing.get((kind, instance, index, True))
                steps += 1
                if following is None or steps > len(self.edges):
                    self._unconnected(edge.target.shown, "has no outgoing connection", edge.span)
                    break
                depth = max(edge.depth, following.depth)
                reached.add(following.source.key)
                edge = replace(edge, target=following.target, depth=depth, lossy=edge.lossy or following.lossy)
            else:
                found.append(edge)
        for edge in self.edges:
            if edge.source.kind == "group" and edge.source.key not in reached:
                self._unconnected(edge.source.shown, "has no incoming connection", edge.span)
        return found

    def _unconnected(self, shown: str, verb: str, span: Span) -> None:
        if not self.is_broken:
            self.diagnostics.error("E0604", f"'{shown}' {verb}", span, "connect the port inside and outside the group")
        self.is_broken = True

    def _check_types(self, edge: Edge) -> None:
        source, target = edge.source, edge.target
        if source.kind == "idle" or (source.type, source.is_packet) == (target.type, target.is_packet):
            return
        text = f"'{source.shown}' sends {shown(source)}, '{target.shown}' expects {shown(target)}"
        self.diagnostics.error("E0605", text, edge.span, "both ends of a channel must have the same type")

    def _check_once(self) -> None:
        seen: dict[tuple[str, str, int, bool], Edge] = {}
        for edge in self.edges:
            for point in (edge.source, edge.target):
                if point.kind == "idle":
                    continue
                key = (*point.key[:3], point is edge.source)
                if key in seen:
                    what, element = ("to two places", "Tee") if point is edge.source else ("from two places", "Mux")
                    note = (Note("the other connection", seen[key].span),)
                    hint = f"insert a {element}"
                    self.diagnostics.error("E0603", f"'{point.shown}' is connected {what}", edge.span, hint, note)
                seen.setdefault(key, edge)

    def _check_connected(self, edges: list[Edge]) -> None:
        if self.is_broken:
            return
        used = {point.key for edge in edges for point in (edge.source, edge.target)}
        for instance in self.instances.values():
            for port in (*instance.element.inputs, *instance.element.outputs):
                point = point_of(instance.name, port)
                if point.key in used:
                    continue
                what, count = (
                    ("input", len(instance.element.inputs)) if port.is_input else ("output", len(instance.element.outputs))
                )
                number = f" [{port.index + 1}]" if count > 1 else ""
                fix = f"Idle ->{number} {instance.name}" if port.is_input else f"{instance.name}{number} -> Drop"
                hint = f"connect it; if it is not needed: {fix}"
                text = f"the {what} '{port.name}' of '{instance.name}' is not connected"
                self.diagnostics.error("E0604", text, instance.span, hint)

    def _check_loops(self, channels: list[typed.Channel]) -> None:
        """Loops into which no token can come; to be used where no error was reported."""
        if self.is_broken or self.diagnostics.errors:
            return
        for instance, loop in starved_loops(list(self.instances.values()), channels):
            text = f"no token can enter the loop {' -> '.join(loop)}"
            hint = "each element waits for the previous one; let one select() between the loop and a lane, or write before it reads"
            self.diagnostics.warning("W0604", text, instance.span, hint)

    def _channel(self, edge: Edge, most_packet: int) -> typed.Channel:
        source, target = edge.source, edge.target
        if edge.lossy and source.is_packet and 0 < edge.depth < most_packet:
            text = f"{edge.depth} flits are too few for the largest packet ({most_packet})"
            hint = f"use =>({most_packet}) or more: a packet that does not fit is dropped whole"
            self.diagnostics.error("E0606", text, edge.span, hint)
        ends = [typed.Endpoint(point.instance, point.index) for point in (source, target)]
        return typed.Channel(ends[0], ends[1], target.type, target.is_packet, edge.depth, edge.lossy, edge.span)
