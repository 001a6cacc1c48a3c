# SPDX-License-Identifier: Apache-2.0
"""The graph of a configuration for the packet engine: instances that see first flits alone become steps of paths
(`host/cpu/packets/paths.h`), the others run alone; all in the order of the channels."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping

from compiler.backends.cpp_ahead import keys_ahead
from compiler.backends.cpp_analysis import functions, nodes, waiting
from compiler.backends.cpp_types import quoted
from compiler.frontend import typed

PortName = Callable[[str, bool, int], str | None]  # instance, whether an input, index


def is_step(element: typed.Element) -> bool:
    """Whether an element that sees first flits alone can be a step of a path: it takes a packet whenever it runs, and only its
    handler itself has to do with ports."""
    in_functions = [node for function in functions(element.handler) for node in nodes(function.body)]
    uses_ports = any(isinstance(node, typed.Read | typed.Peek | typed.Write) for node in in_functions)
    return len(element.inputs) == 1 and not element.numbered and not waiting(element).may_wait and not uses_ports


class Paths:
    """The lines of `build` that say what runs. `name`: the member of a port, None of ends; `steps`: elements that are steps;
    `own`: the C++ name of each instance; `flit`: the C++ type of a lane's flits."""

    def __init__(
        self, program: typed.Program, steps: Container[str], own: Mapping[str, str], name: PortName, flit: Callable[..., str]
    ) -> None:
        self.program, self.own, self.name, self.flit = program, own, name, flit
        self.elements = {instance.name: instance.element for instance in program.instances}
        self.steps = {name for name, one in self.elements.items() if one.name in steps}
        self.sources = {(c.target.instance, c.target.port): c.source for c in program.channels}
        self.targets = {(c.source.instance, c.source.port): c.target for c in program.channels}

    def _goes_on(self, instance: str) -> bool:
        """Whether it is a step behind another. Keys are looked up ahead where a path begins."""
        source = self.sources.get((instance, 0))
        return (
            instance in self.steps
            and source is not None
            and source.instance in self.steps
            and not keys_ahead(self.elements[instance])
        )

    def is_in_path(self, channel: typed.Channel) -> bool:
        """Whether the lines here are all that connects it."""
        source, target = channel.source.instance, channel.target.instance
        if not channel.is_packet:
            return False
        return source in self.steps or (target in self.steps and source not in self.elements)

    def lines(self) -> Iterator[str]:
        """In the order of the instances."""
        for instance in self.program.instances:
            own, source = self.own[instance.name], self.sources.get((instance.name, 0))
            name = quoted(" ".join(self._names(instance.name)))
            if instance.name not in self.steps:
                yield f"graph.alone({quoted(instance.name)}, {own});"
            elif source is not None and source.instance not in self.elements and source.port >= 0:
                port = self.elements[instance.name].inputs[0]
                yield f"graph.path_from_lane<{self.flit(port.type)}>({name}, {source.port}, {self._step(instance.name)});"
            elif not self._goes_on(instance.name):
                yield f"graph.path_from({name}, {self.name(instance.name, True, 0)}, {self._step(instance.name)});"

    def _names(self, instance: str) -> Iterator[str]:
        """Of the path that begins there."""
        yield instance
        for port in self.elements[instance].outputs:
            target = self.targets.get((instance, port.index))
            if instance in self.steps and port.is_packet and target and self._goes_on(target.instance):
                yield from self._names(target.instance)

    def _step(self, instance: str) -> str:
        ends = [self._end(instance, port) for port in self.elements[instance].outputs if port.is_packet]
        return f"sluice::Step({', '.join([self.own[instance], *ends])})"

    def _end(self, instance: str, port: typed.Port) -> str:
        target = self.targets.get((instance, port.index))
        if target is None or (target.instance not in self.elements and target.port < 0):
            return "Nowhere{}"
        if target.instance not in self.elements:
            return f"Out(graph.outlet<{self.flit(port.type)}>({target.port}))"
        return (
            self._step(target.instance)
            if self._goes_on(target.instance)
            else f"Into({self.name(target.instance, True, target.port)})"
        )
