# SPDX-License-Identifier: Apache-2.0
"""Configurations on the targets, many in one build: each keeps its instances, elements and lanes apart by a name in front and lanes
of its own."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from compiler.backends import cpp, cpp_build, cpp_packets, cpp_run
from compiler.frontend import typed
from compiler.fuzz.targets import CPU_FLAGS, hardware
from compiler.interpreter.choices import SignalCall, host_calls
from compiler.interpreter.element import Outcome
from compiler.interpreter.packets import Packet, to_flits
from compiler.targets import rtl, rtl_outcome

LANES = 8  # of each configuration
LIMIT = 100_000  # cycles
INSIDE = "__"  # between the name of a configuration and one in it


@dataclass(frozen=True)
class Job:
    """A configuration, its packets (lane and bytes) and signals (instance and call)."""

    name: str
    program: typed.Program
    packets: Sequence[tuple[int, bytes]]
    calls: Sequence[tuple[str, SignalCall]]

    def inputs(self, number: int) -> dict[int, list[int]]:
        """Flits by lane, of lanes that are connected; for the n-th of the configurations that are run as one."""
        kinds = {c.source.port: c.type for c in self.program.channels if not c.source.instance}
        flits: dict[int, list[int]] = {lane: [] for lane in kinds}
        for lane, data in self.packets:
            if lane in kinds:
                flits[lane] += to_flits(kinds[lane], Packet(data), lane + LANES * number)
        return flits


@dataclass(frozen=True)
class GraphOutcome:
    """What one configuration did: its instances, flits that each input of theirs took (by instance and index; None: all that was
    sent), flits or packets that left at lanes. `whole_packets`: a packet goes on when it has ended."""

    instances: Mapping[str, Outcome]
    taken: Mapping[tuple[str, int], list[int]] | None = None
    left: Mapping[int, list[int]] | None = None
    packets: Mapping[int, list[tuple[bytes, bool]]] | None = None
    whole_packets: bool = False


@dataclass(frozen=True)
class GraphRan:
    """`outcomes` by name of the job, for each seed; jobs that it does not take, and why; files that only it needed."""

    outcomes: Sequence[Mapping[str, GraphOutcome]]
    refused: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


GraphRun = Callable[[Sequence[Job], Sequence[int]], GraphRan]


def joined(jobs: Sequence[Job], without: Container[str] = ()) -> typed.Program:
    """All configurations but some as one; each has its lanes by its place."""
    elements: list[typed.Element] = []
    instances: list[typed.Instance] = []
    channels: list[typed.Channel] = []
    for number, job in enumerate(jobs):
        if job.name in without:
            continue
        used = {i.element.name: replace(i.element, name=job.name + INSIDE + i.element.name) for i in job.program.instances}
        elements += used.values()
        instances += [replace(i, name=job.name + INSIDE + i.name, element=used[i.element.name]) for i in job.program.instances]
        for channel in job.program.channels:
            channels.append(replace(channel, source=_end(channel.source, job, number), target=_end(channel.target, job, number)))
    return typed.Program(tuple(elements), tuple(instances), tuple(channels), LANES * len(jobs))


def _end(end: typed.Endpoint, job: Job, number: int) -> typed.Endpoint:
    if end.instance:
        return replace(end, instance=job.name + INSIDE + end.instance)
    return replace(end, port=end.port + LANES * number)


def _calls(jobs: Sequence[Job]) -> list[tuple[str, SignalCall]]:
    return [(job.name + INSIDE + name, call) for job in jobs for name, call in job.calls]


def cpu(jobs: Sequence[Job], seeds: Sequence[int]) -> GraphRan:
    """The C++, flit by flit. Raises BuildError and RuntimeError."""
    return _in_cpp(jobs, seeds, cpp.generate(joined(jobs)), CPU_FLAGS, "exact")


def packets(
    jobs: Sequence[Job], seeds: Sequence[int], headers_only: bool = True, paths: bool = True, flags: Sequence[str] = CPU_FLAGS
) -> GraphRan:
    """The C++ on the packet engine, which makes the choices of the plain run: one run for all seeds. Raises BuildError and
    RuntimeError."""
    refused = {job.name: "its channels lead back" for job in jobs if cpp_packets.forward(job.program) is None}
    found = cpp_packets.generate(joined(jobs, refused), headers_only, paths)
    assert found is not None
    if len(refused) == len(jobs):
        return GraphRan([{} for _ in seeds], refused)
    ran = _in_cpp(jobs, seeds[:1], found.text, (*flags, "-DSLUICE_CHOICES"), "packets", refused)
    return replace(ran, outcomes=[*ran.outcomes] * len(seeds), refused=refused)


def _in_cpp(
    jobs: Sequence[Job], seeds: Sequence[int], text: str, flags: Sequence[str], engine: str, without: Container[str] = ()
) -> GraphRan:
    binary = cpp_build.program(text, "graphs", flags, engine)
    made = cpp_build.object_of(text, flags, engine)
    numbered = [(n, job) for n, job in enumerate(jobs) if job.name not in without]
    sent = [(lane + LANES * n, data) for n, job in numbered for lane, data in job.packets]
    outcomes = []
    for instances, left in cpp_run.run_graph(binary, sent, seeds, _calls([job for _, job in numbered])):
        outcomes.append(
            {
                job.name: GraphOutcome(
                    _own(job, instances),
                    packets={lane - LANES * n: p for lane, p in left.items() if lane // LANES == n},
                    whole_packets=engine == "packets",
                )
                for n, job in numbered
            }
        )
    return GraphRan(outcomes, {}, (binary, made, made.with_suffix(".cc")))


def _own(job: Job, instances: Mapping[str, Outcome]) -> dict[str, Outcome]:
    return {i.name: instances[job.name + INSIDE + i.name] for i in job.program.instances}


def rtl_simulation(jobs: Sequence[Job], seeds: Sequence[int]) -> GraphRan:
    """The RTL under Verilator. Raises RtlError, and BackendError where the channels cannot be."""
    refused = {}
    for job in jobs:
        names = {instance.element.name: None for instance in job.program.instances}
        _, why = hardware(replace(job.program, elements=tuple(i.element for i in job.program.instances)), names)
        if why:
            refused[job.name] = next(iter(why.values()))
    if len(refused) == len(jobs):
        return GraphRan([{} for _ in seeds], refused)
    numbers = {job.name: number for number, job in enumerate(jobs)}
    whole = joined(jobs, refused)
    jobs = [job for job in jobs if job.name not in refused]
    compiled, _ = hardware(whole, {element.name: None for element in whole.elements})
    built = rtl.build_program("fuzz", whole, rtl_outcome.plans(compiled), rtl.QUICK)
    kinds = {i.name: compiled[i.element.name] for i in whole.instances}
    calls = [
        (name, rtl_outcome.signal_of(kinds[name].ir, call))
        for name, asked in _calls(jobs)
        for call in host_calls(kinds[name].element, [asked])
    ]
    lanes = {lane + LANES * n: flits for job in jobs for n in [numbers[job.name]] for lane, flits in job.inputs(n).items()}
    edges = {edge.name: lanes.get(edge.end.port, []) for edge in built.graph.edges if edge.is_input}
    outcomes = []
    for seed in seeds:
        pauses = rtl_outcome.PAUSES[seed % len(rtl_outcome.PAUSES)]
        ran = rtl.run_program(built, edges, calls, seed + 1, pauses, LIMIT)
        instances = {name: rtl_outcome.outcome(ran.instances[name], found.ir, found.layout) for name, found in kinds.items()}
        taken = {
            (channel.target.instance, channel.target.port): ran.seen[_port(whole, channel.target)]
            for channel in whole.channels
            if channel.target.instance
        }
        left = {edge.end.port: ran.edges[edge.name] for edge in built.graph.edges if not edge.is_input}
        outcomes.append({job.name: _share(job, numbers[job.name], instances, taken, left) for job in jobs})
    return GraphRan(outcomes, refused, (built.binary.parent,))


def _port(program: typed.Program, end: typed.Endpoint) -> tuple[str, str]:
    element = next(i.element for i in program.instances if i.name == end.instance)
    return end.instance, element.inputs[end.port].name


def _share(
    job: Job,
    number: int,
    instances: Mapping[str, Outcome],
    taken: Mapping[tuple[str, int], list[int]],
    left: Mapping[int, list[int]],
) -> GraphOutcome:
    front = job.name + INSIDE
    return GraphOutcome(
        _own(job, instances),
        {(name.removeprefix(front), port): flits for (name, port), flits in taken.items() if name.startswith(front)},
        {lane - LANES * number: flits for lane, flits in left.items() if lane // LANES == number},
    )


GRAPH_TARGETS: dict[str, GraphRun] = {
    "cpu": cpu,
    "packets": packets,
    "packets-queued": partial(packets, paths=False),
    "packets-by-flit": partial(packets, headers_only=False),
    "rtl": rtl_simulation,
}
