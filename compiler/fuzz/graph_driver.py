# SPDX-License-Identifier: Apache-2.0
"""Random configurations through the targets: every instance against the interpreter, every channel against its ends.

Channels keep all tokens in their order; a lossy one may leave out whole packets."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from compiler.frontend import typed
from compiler.fuzz import compare, graphs, tokens
from compiler.fuzz.driver import Case, Kind, Report, checked
from compiler.fuzz.graph_targets import GraphOutcome, GraphRan, GraphRun, Job
from compiler.interpreter.choices import host_calls
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import from_flits

BATCH = 16  # configurations in one build
CHOICES = (0, 1, 2)
MOST_PACKETS = 16


def case(seed: int) -> Case:
    """The configuration of a seed."""
    return Case(f"G{seed}", graphs.graph(seed, f"G{seed}"), seed)


def job_of(one: Case, program: typed.Program) -> Job:
    """What comes in: packets of some sizes, some with headers; signals of every instance that takes some."""
    choose = random.Random(f"{one.seed} packets")
    lanes = sorted({c.source.port for c in program.channels if not c.source.instance and c.source.port >= 0})
    packets = []
    for _ in range(choose.randint(4, MOST_PACKETS) if lanes else 0):
        head = choose.randbytes(12) + choose.choice([b"\x08\x00\x45", b"\x81\x00", b""])
        packets.append((choose.choice(lanes), head + choose.randbytes(choose.choice([1, 20, 46, 51, 52, 60, 116, 200]))))
    calls = []
    for instance in program.instances:
        for signal in instance.element.signals if instance.takes_signals else ():
            calls += [(instance.name, tokens.call_of(choose, signal))] * choose.randint(0, 2)
    return Job(one.name, program, packets, calls)


def _refused(job: Job, ran: GraphRan) -> str:
    return ran.refused.get(job.name, "")


def _wrong(job: Job, number: int, ran: GraphRan) -> str:
    judged: list[GraphOutcome] = []
    for seed, outcomes in zip(CHOICES, ran.outcomes, strict=True):
        if any(outcomes[job.name] is other for other in judged):  # of a target that does not choose
            continue
        judged.append(outcomes[job.name])
        message = disagreement(job, number, outcomes[job.name])
        if message:
            return f"choices {seed}: {message}"
    return ""


def check(batch: Sequence[Case], targets: Mapping[str, GraphRun], keep: bool = True) -> Report:
    """Random packets through every configuration, on every target; otherwise as `driver.checked`."""
    runs = {name: partial(_together, run) for name, run in targets.items()}
    return checked(Kind(job_of, _refused, _wrong), batch, runs, keep)


def _together(run: GraphRun, jobs: Sequence[Job]) -> GraphRan:
    return run(jobs, CHOICES)


def disagreement(job: Job, number: int, got: GraphOutcome) -> str:
    """What is wrong with a run of a configuration, or nothing."""
    lanes = job.inputs(number)
    elements = {instance.name: instance.element for instance in job.program.instances}
    streams: dict[str, dict[str, Sequence[int]]] = {name: {} for name in elements}
    stuck, held = set[str](), set[str]()  # whose tokens have nowhere to go; all of them, and those that wait for room
    for channel in job.program.channels:
        source, target = channel.source, channel.target
        if source.port < 0:
            continue
        sent = got.instances[source.instance].outputs[_name(elements, source, False)] if source.instance else lanes[source.port]
        if got.whole_packets and channel.is_packet:
            sent = _ended(channel.type, sent)
        taken = _taken(channel, got, sent)
        if wrong := _lost(channel, sent, taken, channel.is_packet and channel.lossy):
            return f"channel {source} to {target}: {wrong}"
        if len(sent) != len(taken):
            (stuck if channel.lossy else held).add(source.instance)
        if target.instance:
            streams[target.instance][_name(elements, target, True)] = taken if channel.lossy else sent
        elif got.packets is not None and (wrong := _other_packets(channel, taken, got.packets.get(target.port, []))):
            return f"lane {target.port}: {wrong}"
    blocked = _before(job.program, held)
    for instance in job.program.instances:
        outcome = got.instances[instance.name]
        calls = len(host_calls(instance.element, (call for name, call in job.calls if name == instance.name)))
        outcome = replace(outcome, was_cut=outcome.was_cut or instance.name in stuck | held)
        is_blocked = instance.name in blocked
        if wrong := compare.disagreement(instance.element, streams[instance.name], outcome, calls=calls, is_blocked=is_blocked):
            return f"instance {instance.name}: {wrong}"
    return ""


def _before(program: typed.Program, held: set[str]) -> set[str]:
    """Those that wait for room, and all that lossless channels lead from to them: their pipelines may stand still."""
    sources = {c.target.instance: set[str]() for c in program.channels}
    for channel in program.channels:
        if not channel.lossy:
            sources[channel.target.instance].add(channel.source.instance)
    found, waiting = set[str](), list(held)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += sources.get(name, ())
    return found


def _name(elements: Mapping[str, typed.Element], end: typed.Endpoint, is_input: bool) -> str:
    element = elements[end.instance]
    return (element.inputs if is_input else element.outputs)[end.port].name


def _ended(flit: typed.Type, sent: list[int]) -> list[int]:
    """The flits without those of a packet that has not ended."""
    low = fields_of(flit)["eop"][0]
    count = next((i for i in range(len(sent), 0, -1) if sent[i - 1] >> low & 1), 0)
    return sent[:count]


def _taken(channel: typed.Channel, got: GraphOutcome, sent: list[int]) -> list[int]:
    """What came out of a channel."""
    if channel.target.instance:
        return sent if got.taken is None else got.taken[channel.target.instance, channel.target.port]
    return sent if got.left is None else got.left.get(channel.target.port, [])


def _lost(channel: typed.Channel, sent: Sequence[int], taken: Sequence[int], lossy: bool) -> str:
    """What is wrong with the tokens behind a channel."""
    if not lossy:
        ends = not channel.target.instance and len(taken) != len(sent)  # lanes take everything
        return (
            f"{len(sent)} tokens sent, but {len(taken)} different tokens received"
            if ends or list(sent[: len(taken)]) != list(taken)
            else ""
        )
    rest = iter(_packets(channel.type, sent))
    missing = [packet for packet in _packets(channel.type, taken) if not any(packet == other for other in rest)]
    return f"{len(missing)} received packets were never sent" if missing else ""


def _packets(flit: typed.Type, flits: Sequence[int]) -> list[list[int]]:
    """Flits of each packet."""
    low = fields_of(flit)["eop"][0]
    found: list[list[int]] = [[]]
    for token in flits:
        found[-1].append(token)
        if token >> low & 1:
            found.append([])
    return found if found[-1] else found[:-1]


def _other_packets(channel: typed.Channel, flits: Sequence[int], packets: Sequence[tuple[bytes, bool]]) -> str:
    """Whether the packets of a lane are not what its flits say."""
    expected = [(packet.data, is_error) for packet, is_error in from_flits(channel.type, flits)]
    return "" if expected == list(packets) else f"expected {len(expected)} packets, got {len(packets)}, or packets that differ"


def fuzz(count: int, seed: int, targets: Mapping[str, GraphRun], keep: bool = True) -> Iterator[Report]:
    """Batch by batch."""
    for start in range(seed, seed + count, BATCH):
        yield check([case(number) for number in range(start, min(start + BATCH, seed + count))], targets, keep)
