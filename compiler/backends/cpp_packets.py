# SPDX-License-Identifier: Apache-2.0
"""C++ of a configuration for the packet engine (`host/cpu/packets`): instances in the order of their channels, and elements that
only act on first flits marked as such. A configuration whose channels lead back runs on the exact engine alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from compiler import native_cpp
from compiler.backends import cpp
from compiler.backends.cpp_paths import is_step
from compiler.frontend import typed
from compiler.passes.headers_only import why_not


@dataclass(frozen=True)
class PacketProgram:
    """`text` of the program; `whole`: for each element why it sees every flit, None where it sees first flits alone."""

    text: str
    whole: Mapping[str, str | None]


def forward(program: typed.Program) -> typed.Program | None:
    """The program with each instance behind those that it gets tokens from; None where channels lead back."""
    before: dict[str, set[str]] = {instance.name: set() for instance in program.instances}
    for channel in program.channels:
        if channel.source.instance in before and channel.target.instance in before:
            before[channel.target.instance].add(channel.source.instance)
    try:
        names = list(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    return replace(program, instances=tuple(sorted(program.instances, key=lambda i: names.index(i.name))))


def generate(program: typed.Program, headers_only: bool = True, paths: bool = True) -> PacketProgram | None:
    """None where channels lead back. `headers_only`: whether proved elements may see first flits alone; `paths`: whether those may
    be steps of paths. Neither changes what a configuration does. With both, bodies for whole packets are taken. Raises
    HardwareError where one does not fit."""
    ordered = forward(program)
    if ordered is None:
        return None
    bodies = native_cpp.packet_bodies(program) if headers_only and paths else {}
    asked = {e.name: None if e.name in bodies else _why_not(e, headers_only) for e in program.elements}
    proved = frozenset(name for name, why in asked.items() if why is None)
    steps = frozenset(e.name for e in program.elements if paths and e.name in proved and (e.name in bodies or is_step(e)))
    return PacketProgram(cpp.generate(ordered, headers_only=proved, steps=steps, packet_bodies=bodies), asked)


def _why_not(element: typed.Element, headers_only: bool) -> str | None:
    return why_not(element) if headers_only else "it was not asked for"
