# SPDX-License-Identifier: Apache-2.0
"""The elements of a configuration that run in the overlay, and where their packets come from and go to. A Mux only joins: what is
behind it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.overlay.bits import OverlayError
from toolchain import ROOT

MUX = ROOT / "elements" / "mux" / "mux.sl"
HOST = L.HOST_PORT
Lead = str | int  # an instance, a lane, or HOST


@dataclass(frozen=True)
class Graph:
    """Instances by name; the lanes that each takes packets from; where each output leads (by instance and name of the port)."""

    instances: Mapping[str, typed.Instance]
    entries: Mapping[str, frozenset[int]]
    leads: Mapping[tuple[str, str], Lead]


def is_from(item: typed.Function | typed.Element, file: Path) -> bool:
    """Whether a file of the library declares it; the name of a source is from the working folder, or from the checkout."""
    path = Path(item.span.source.name)
    return (path if path.exists() else ROOT / path).resolve() == file


def graph_of(program: typed.Program, lanes: int) -> Graph:
    """What a configuration is on a device of so many lanes. Raises OverlayError."""
    if not program.channels:
        span = program.elements[-1].span if program.elements else None
        raise OverlayError("E0807", "no configuration", span, "add one: from_tor -> … -> to_tor")  # type: ignore[arg-type]
    found = _Graph(program)
    if not found.mains:
        raise OverlayError(
            "E0807", "no element", program.channels[0].span, "lead packets through an element that decides where they go"
        )
    found.check_lanes(lanes)
    made = Graph(found.mains, found.entries(), found.leads())
    _check_loops(made)
    return made


class _Graph:
    def __init__(self, program: typed.Program) -> None:
        self.program = program
        self.hosts = {i.name for i in program.instances if i.on_host}
        self.merges = {i.name for i in program.instances if not i.on_host and is_from(i.element, MUX)}
        self.mains = {i.name: i for i in program.instances if i.name not in self.hosts | self.merges}
        self.from_merge = {c.source.instance: c for c in program.channels if c.source.instance in self.merges}

    def check_lanes(self, lanes: int) -> None:
        """Lanes that the device has not, and channels from the host."""
        for channel in self.program.channels:
            for end in (channel.source, channel.target):
                if not end.instance and end.port >= lanes:
                    raise OverlayError("E0807", f"lane {end.port}; the device has {lanes}", channel.span, f"lanes 0 to {lanes - 1}")
            if channel.source.instance in self.hosts:
                raise _no_channel(channel, "elements on the host take packets; they send none back to the overlay")

    def entries(self) -> dict[str, frozenset[int]]:
        """The lanes that each element takes packets from, of elements that do."""
        found: dict[str, frozenset[int]] = {}
        for channel in self.program.channels:
            if channel.source.instance:
                continue
            target = self._behind(channel).target.instance
            if target not in self.mains:
                raise _no_channel(channel, "lead lanes to an element, directly or through a Mux")
            found[target] = found.get(target, frozenset()) | {channel.source.port}
        return found

    def leads(self) -> dict[tuple[str, str], Lead]:
        """Where the outputs of elements lead."""
        found: dict[tuple[str, str], Lead] = {}
        uploads: set[typed.Endpoint] = set()
        for channel in self.program.channels:
            if (instance := self.mains.get(channel.source.instance)) is None:
                continue
            target = self._behind(channel).target
            if target.instance in self.hosts:
                uploads.add(target)
            if len(uploads) > 1:
                hint = "lead one output, or a Mux, to one element on the host; meta.mark can say why a packet goes there"
                raise OverlayError("E0807", "two channels to the host; the overlay has one", channel.span, hint)
            port = instance.element.outputs[channel.source.port].name
            found[instance.name, port] = HOST if target.instance in self.hosts else target.instance or target.port
        return found

    def _behind(self, channel: typed.Channel) -> typed.Channel:
        """The channel by which its packets leave the Muxes that it leads to."""
        passed = [channel]
        while passed[-1].target.instance in self.merges:
            passed.append(self.from_merge[passed[-1].target.instance])
            if passed[-1] in passed[:-1]:
                raise _loop(passed[-1].span)
        return passed[-1]


def _check_loops(graph: Graph) -> None:
    """No packet may come to an element twice."""
    behind: dict[str, list[str]] = {name: [] for name in graph.instances}
    for (name, _), lead in graph.leads.items():
        if isinstance(lead, str):
            behind[name].append(lead)
    done: set[str] = set()

    def visit(name: str, passed: frozenset[str]) -> None:
        if name in passed:
            raise _loop(graph.instances[name].span)
        if name not in done:
            for other in behind[name]:
                visit(other, passed | {name})
            done.add(name)

    for name in graph.instances:
        visit(name, frozenset())


def _loop(span: Span) -> OverlayError:
    return OverlayError("E0807", "packets come to this element again", span, "a packet passes each element once in the overlay")


def _no_channel(channel: typed.Channel, hint: str) -> OverlayError:
    return OverlayError("E0807", "a channel that the overlay does not have", channel.span, hint)
