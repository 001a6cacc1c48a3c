# SPDX-License-Identifier: Apache-2.0
"""`sluice run FILE.sl --target sim`: the configuration's RTL, cycle by cycle; host elements get what leaves the device for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.compile import HardwareError, compile_program
from compiler.frontend.typed import Endpoint, Program
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Outcome, run_element
from compiler.targets import rtl
from compiler.targets.rtl_outcome import outcome, signal_of

MAX_CYCLES = 1 << 31


@dataclass(frozen=True)
class Ran:
    """Flits that left by lane, what every instance did, tokens by the channel end that took them, and cycles."""

    left: dict[int, list[int]]
    instances: dict[str, Outcome]
    tokens: dict[Endpoint, list[int]]
    cycles: int


def run(
    name: str,
    program: Program,
    lanes: Mapping[int, Sequence[int]],
    calls: Sequence[tuple[str, SignalCall]],
    seed: int,
    progress: Callable[[str], None],
) -> Ran:
    """The flits `lanes`, by lane, through the configuration. Signals come when the packets are through.

    Raises HardwareError where the program cannot be hardware, RtlError where the simulation does not end."""
    on_device = {instance.name for instance in program.instances if not instance.on_host}
    for channel in program.channels:
        if channel.target.instance in on_device and channel.source.instance and channel.source.instance not in on_device:
            text = f"host element '{channel.source.instance}' sends to the device, which the simulation cannot yet"
            raise HardwareError("E0805", text, channel.span, "run it on cpu, or place it on the device")
    compiled = compile_program(program)
    progress("building the simulator")
    built = rtl.build_program(name, program, {kind: found.plan.pipeline.element for kind, found in compiled.items()})
    kinds = {instance.name: compiled[instance.element.name] for instance in built.graph.instances}
    progress("running")
    edges = {edge.name: lanes.get(edge.end.port, ()) for edge in built.graph.edges if edge.is_input}
    signals = [(instance, signal_of(kinds[instance].ir, call)) for instance, call in calls if instance in kinds]
    ran = rtl.run_program(built, edges, signals, seed + 1, limit=MAX_CYCLES, signals_last=True)
    instances = {instance: outcome(ran.instances[instance], found.ir, found.layout) for instance, found in kinds.items()}
    tokens = {edge.end: ran.edges[edge.name] for edge in built.graph.edges if not edge.is_input}
    instances |= _host(program, on_device, tokens, calls)
    straight = [c for c in program.channels if not c.source.instance and not c.target.instance]
    left = {end.port: found for end, found in tokens.items() if not end.instance}
    left |= {c.target.port: list(lanes.get(c.source.port, ())) for c in straight if c.target.port >= 0}
    return Ran(left, instances, tokens, ran.cycles)


def _host(
    program: Program, on_device: set[str], tokens: dict[Endpoint, list[int]], calls: Sequence[tuple[str, SignalCall]]
) -> dict[str, Outcome]:
    """The host elements, in topological order, over what the device sent them; `tokens` gets what they send to each other."""
    found: dict[str, Outcome] = {}
    for instance in program.instances:
        if instance.name in on_device:
            continue
        element = instance.element
        streams = {port.name: tokens.get(Endpoint(instance.name, port.index), []) for port in element.inputs}
        ran = run_element(element, streams, Decide(0, [call for name, call in calls if name == instance.name]))
        for channel in program.channels:
            if channel.source.instance == instance.name:
                tokens[channel.target] = ran.outputs[element.outputs[channel.source.port].name]
        found[instance.name] = ran
    return found
