# SPDX-License-Identifier: Apache-2.0
"""The report as one page of HTML that needs nothing else: the graph as SVG, and the figures of elements and channels as tables.

The graph is drawn in layers from top to bottom, so that it fits the width of a page. Each element is one layer below the last of
its predecessors; a channel that crosses layers bends through a place of its own in each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from compiler.certificate import verdict
from compiler.report import alike, bits_text, clock_text, flows_text, pause_text, state_rows, table_lines, turns_text
from compiler.report_graph import loop_text

NODE_WIDTH, NODE_HEIGHT = 170, 58  # all sizes in pixels
BEND_WIDTH = 14
GAP_X, GAP_Y, MARGIN = 34, 52, 16  # between boxes of a layer, between layers
ROUNDS = 4  # of sorting layers
STYLE = """
:root { --ink: #1c2733; --soft: #5b6b7b; --line: #9fb0c0; --box: #eef3f8; --slow: #fbe3c8; --slow-line: #c9741a; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4ebf2; --soft: #9fb0c0; --line: #5d7186; --box: #22303d; --slow: #4d3517; --slow-line: #e0973f; --page: #141c24;
  }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 2em auto;
  max-width: 72em; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
.graph svg { max-width: 100%; height: auto; }
details { margin: .6em 0; } summary { cursor: pointer; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .25em .9em .25em 0; vertical-align: top; }
th { color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--line); } td.n { text-align: right; }
tr.slow td { background: var(--slow); }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg .soft { fill: var(--soft); font-size: 11px; }
svg .label { paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
svg rect { fill: var(--box); stroke: var(--line); } svg .slow rect { fill: var(--slow); stroke: var(--slow-line); }
svg .end rect { fill: none; } svg .host rect { stroke-dasharray: 5 4; }
svg path { fill: none; stroke: var(--line); stroke-width: 1.6; } svg marker path { fill: var(--line); stroke: none; }
svg .longest path { stroke-width: 3.2; } svg .longest rect { stroke-width: 2.4; } svg .slow path { stroke: var(--slow-line); }
"""

Row = Sequence[object]


@dataclass
class _Node:
    """A box, or (`text` empty) a place through which a channel bends; `place`: its order in the layer."""

    text: list[str]
    kind: str  # class of its style: "", "end", "host", "slow"
    layer: int = 0
    place: float = 0
    before: list[_Node] = field(default_factory=list)
    after: list[_Node] = field(default_factory=list)
    x: float = 0
    y: float = 0

    @property
    def size(self) -> tuple[int, int]:
        return (NODE_WIDTH if self.text else BEND_WIDTH, NODE_HEIGHT)


def page(name: str, elements: Sequence[dict[str, Any]], graph: dict[str, Any] | None) -> str:
    """The whole page; `graph` is that of `report_graph.configuration`."""
    parts = [f"<h1>{escape(name)}</h1>"]
    if graph:
        parts += [_summary(graph), f'<div class="graph">{_svg(elements, graph)}</div>', _legend(graph), _channels(graph)]
    parts.append("<h2>Elements</h2>")
    parts += [_element(found) for found in elements]
    head = f'<meta charset="utf-8"><title>{escape(name)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _table(head: Row, rows: Iterable[tuple[Row, bool]]) -> str:
    """Rows, each with whether it is a slow one."""
    lines = ["<table><tr>" + "".join(f"<th>{escape(str(cell))}</th>" for cell in head) + "</tr>"]
    for row, slow in rows:
        cells = "".join(f"<td{' class=n' if isinstance(cell, int | float) else ''}>{escape(str(cell))}</td>" for cell in row)
        lines.append(f"<tr{' class=slow' if slow else ''}>{cells}</tr>")
    return "\n".join(lines) + "</table>"


def _summary(graph: dict[str, Any]) -> str:
    slowest, latency, is_slow = graph["slowest"], graph["latency"], graph["cycles_per_token"] > 1
    path = " → ".join(latency["path"])
    stored = f", plus the length of a packet for each of {latency['packets_stored']} '=>'" if latency["packets_stored"] else ""
    rows: list[Row] = [
        ("cycles per token, if each token visits every element", str(graph["cycles_per_token"])),
        ("million tokens per second", f"{graph['mtokens_per_second']:g}"),
        (
            "slowest element",
            f"{slowest['instance']} ({slowest['element']})" if is_slow else "none: every element takes one token per cycle",
        ),
        ("latency", f"{latency['cycles']} cycles ({latency['ns']:g} ns){stored}: {path}"),
    ]
    rows += [("loop", loop_text(loop)) for loop in graph["loops"]]
    return _table(("", "configuration"), ((row, False) for row in rows))


def _legend(graph: dict[str, Any]) -> str:
    slow = "Orange: the most cycles per token. " if graph["cycles_per_token"] > 1 else ""
    return f"<p>Beside a channel: cycles per token, and the store that holds its tokens. {slow}Thick: the longest path.</p>"


def _channels(graph: dict[str, Any]) -> str:
    rows = [
        (
            (c["from"], c["to"], c["bits"], c["cycles_per_token"], c["store"], c["depth"] or "", c["latency_cycles"]),
            c["cycles_per_token"] > 1,
        )
        for c in graph["channels"]
    ]
    head = ("from", "to", "bits", "cycles per token", "stored in", "tokens", "added cycles")
    return "<h2>Channels</h2>" + _table(head, rows)


def _element(found: dict[str, Any]) -> str:
    is_slow = bool(found["limits"] or found["turns"])
    head = f"<b>{escape(found['element'])}</b>: {escape(found['pace'])}, latency {found['depth']} cycles"
    parts = [f"<details{' open' if is_slow else ''}><summary>{head}</summary>"]
    parts.append(f"<p>{escape(bits_text(found))}, {escape(clock_text(found))}</p>")
    if "certificate" in found:
        parts.append(f"<p>certified: {escape(verdict(found['certificate'], found['ii']))}</p>")
    states = [((row.name, row.size, row.place, row.update), False) for row in state_rows(found["states"])]
    if states:
        parts.append(_table(("state", "bits", "lives in", "update"), states))
    parts += [f"<p>{escape(' '.join(table_lines(table)))}</p>" for table in found["tables"]]
    parts += [f"<p>{escape(flows_text(flows))}</p>" for flows in found["flow_tables"]]
    parts += [f"<p>{escape(flows_text(flows))}</p>" for flows in found["flow_tables"]]
    parts += [f"<p>{escape(technique)}</p>" for technique in found["techniques"]]
    parts += [f"<p>{escape(pause_text(pause))}</p>" for pause in found["pauses"]]
    for name, limit, _ in alike(found["limits"], "state"):
        steps = " → ".join(f"{step['operator']} {step['name']} (line {step['line']})" for step in limit["cycle"])
        parts.append(
            f"<p><b>Slowed by {escape(name)}</b>, {limit['extra_stages']} stages too many from read to write: {escape(steps)}.<br>"
        )
        parts += [f"Tried: {escape(tried)}.<br>" for tried in limit["tried"]]
        parts.append(f"Try: {escape(limit['suggestion'])}.</p>")
    for name, turns, _ in alike(found["turns"], "state"):
        parts.append(f"<p><b>Slowed by {escape(name)}</b>: {escape(turns_text(turns))}.<br>")
        parts.append(f"Try: {escape(turns['suggestion'])}.</p>")
    return "\n".join([*parts, "</details>"])


def _svg(elements: Sequence[dict[str, Any]], graph: dict[str, Any]) -> str:
    """The graph, drawn; channels that close a loop go back up at its right."""
    nodes = _nodes({found["element"]: found for found in elements}, graph)
    ways = [_bent(nodes[c["source"]], nodes[c["target"]]) for c in graph["channels"]]
    every = [*nodes.values(), *(node for way in ways for node in way[1:-1])]
    right = _placed(every) + GAP_X
    height = 2 * MARGIN + max(node.y + NODE_HEIGHT for node in every)
    longest = set(pairwise(graph["latency"]["path"]))
    lines = []
    for way, channel in zip(ways, graph["channels"], strict=True):
        (start, end), kind = _ends(way, ways), _edge_kind(channel, graph, longest)
        if channel["closes_loop"]:
            lines.append(_edge(_back(start, end, right), (right + 5, (start[1] + end[1]) / 2), kind, channel))
            right += 3 * GAP_X
        else:
            bends = [(n.x + BEND_WIDTH / 2, n.y + y) for n in way[1:-1] for y in (0, NODE_HEIGHT)]
            points = [start, *bends, end]
            middle = ((points[0][0] + points[1][0]) / 2 + 5, (points[0][1] + points[1][1]) / 2 + 4)
            lines.append(_edge(_curve(points), middle, kind, channel))
    width = right + 2 * GAP_X
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    tip = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"'
    marker = f'<marker id="tip" {tip}><path d="M0 0L8 4L0 8z"/></marker>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<defs>{marker}</defs>'
    return "\n".join([head, *lines, *(_box(node) for node in nodes.values())]) + "</svg>"


def _edge_kind(channel: dict[str, Any], graph: dict[str, Any], longest: set[tuple[str, str]]) -> str:
    is_slow = channel["cycles_per_token"] == graph["cycles_per_token"] > 1
    is_longest = (channel["source"], channel["target"]) in longest
    return " ".join(kind for kind, holds in (("slow", is_slow), ("longest", is_longest)) if holds)


def _nodes(elements: dict[str, dict[str, Any]], graph: dict[str, Any]) -> dict[str, _Node]:
    """Instances and lanes, each in its layer."""
    nodes: dict[str, _Node] = {}
    names = [i["name"] for i in graph["instances"]]
    ends = {c["source"]: None for c in graph["channels"] if c["source"] not in names}
    for name in ends:
        nodes[name] = _Node([name], "end")
    for instance in graph["instances"]:
        found = elements.get(instance["element"])
        figures = f"II {found['ii']}, latency {found['depth']}" if found else "on the host"
        slow = found is not None and graph["cycles_per_token"] > 1 and instance["element"] == graph["slowest"]["element"]
        kind = "slow" if slow else "" if found else "host"
        longest = " longest" if instance["name"] in graph["latency"]["path"] else ""
        nodes[instance["name"]] = _Node([instance["name"], instance["element"], figures], kind + longest)
    for channel in graph["channels"]:
        nodes.setdefault(channel["target"], _Node([channel["target"]], "end"))
    forward = [c for c in graph["channels"] if not c["closes_loop"]]
    for _ in nodes:  # as many rounds as the longest way has nodes, at most
        for channel in forward:
            source, target = nodes[channel["source"]], nodes[channel["target"]]
            target.layer = max(target.layer, source.layer + 1)
    return nodes


def _bent(source: _Node, target: _Node) -> list[_Node]:
    """The way of a channel: its ends, and a place in each layer between them."""
    between = [_Node([], "", layer) for layer in range(source.layer + 1, target.layer)]
    way = [source, *between, target]
    for first, second in pairwise(way):
        first.after.append(second)
        second.before.append(first)
    return way


def _placed(nodes: Sequence[_Node]) -> float:
    """Set coordinates: layers from top to bottom, each sorted by the middle of its neighbours. Returns the width."""
    layers = [[node for node in nodes if node.layer == layer] for layer in range(1 + max(node.layer for node in nodes))]
    for round_ in range(ROUNDS):
        for layer in layers if round_ % 2 == 0 else layers[::-1]:
            for node in layer:
                neighbours = node.before if round_ % 2 == 0 else node.after
                if neighbours:
                    node.place = sum(other.place for other in neighbours) / len(neighbours)
            layer.sort(key=lambda node: node.place)
            for index, node in enumerate(layer):
                node.place = index - (len(layer) - 1) / 2
    widest = max(sum(node.size[0] + GAP_X for node in layer) for layer in layers)
    for number, layer in enumerate(layers):
        x = MARGIN + (widest - sum(node.size[0] + GAP_X for node in layer)) / 2
        for node in layer:
            node.x, node.y = x, MARGIN + number * (NODE_HEIGHT + GAP_Y)
            x += node.size[0] + GAP_X
    return MARGIN + widest


def _box(node: _Node) -> str:
    width, height = node.size
    lines = [f'<g class="{node.kind}"><rect x="{node.x:g}" y="{node.y:g}" width="{width}" height="{height}" rx="6"/>']
    first = node.y + height / 2 - 8 * (len(node.text) - 1) + 4
    for number, text in enumerate(node.text):
        kind = ' class="soft"' if number else ""
        short = text if len(text) <= 26 else f"{text[:25]}…"
        lines.append(
            f'<text{kind} x="{node.x + width / 2:g}" y="{first + 16 * number:g}" text-anchor="middle">{escape(short)}</text>'
        )
    return "".join(lines) + "</g>"


Point = tuple[float, float]


def _ends(way: list[_Node], ways: Sequence[list[_Node]]) -> tuple[Point, Point]:
    """Where a channel leaves its source and enters its target: in the order of where it goes to and comes from."""
    leaving = sorted((w for w in ways if w[0] is way[0]), key=lambda w: w[1].x)
    entering = sorted((w for w in ways if w[-1] is way[-1]), key=lambda w: w[-2].x)
    return (_port(way[0], leaving, way), way[0].y + NODE_HEIGHT), (_port(way[-1], entering, way), way[-1].y)


def _port(node: _Node, ways: Sequence[list[_Node]], way: list[_Node]) -> float:
    return node.x + node.size[0] * (next(i for i, other in enumerate(ways) if other is way) + 1) / (len(ways) + 1)


def _curve(points: Sequence[Point]) -> str:
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f"C{x0:g} {middle:g} {x1:g} {middle:g} {x1:g} {y1:g}"
    return path


def _back(start: Point, end: Point, right: float) -> str:
    (x0, y0), (x1, y1), reach = start, end, GAP_Y / 2
    down = f"M{x0:g} {y0:g}C{x0:g} {y0 + reach:g} {right:g} {y0 + reach:g} {right:g} {y0:g}"
    return f"{down}L{right:g} {y1:g}C{right:g} {y1 - reach:g} {x1:g} {y1 - reach:g} {x1:g} {y1:g}"


def _label(channel: dict[str, Any]) -> str:
    return f"{channel['cycles_per_token']}" + (f", {channel['store']} {channel['depth']}" if channel["depth"] else "")


def _edge(path: str, middle: Point, kind: str, channel: dict[str, Any]) -> str:
    """A channel, with cycles per token and its store beside it."""
    title = f"{channel['from']} → {channel['to']}: {channel['bits']} bits, {channel['cycles_per_token']} cycles per token"
    text = f'<text class="soft label" x="{middle[0]:g}" y="{middle[1]:g}">{escape(_label(channel))}</text>'
    return f'<g class="{kind}"><title>{escape(title)}</title><path marker-end="url(#tip)" d="{path}"/>{text}</g>'
