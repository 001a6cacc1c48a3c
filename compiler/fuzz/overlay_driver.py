# SPDX-License-Identifier: Apache-2.0
"""Random programs of the programmable pipeline: what leaves, packet by packet, against the interpreter. What `deploy` refuses must
be refused at a place, with a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.source import Diagnostics, Source
from compiler.fuzz import overlay_flows, overlays
from compiler.fuzz.driver import BATCH, Case, Failure, Kind, Report, checked
from compiler.fuzz.overlay_packets import LANES
from compiler.fuzz.reduce import reduced_by
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, from_flits, to_flits
from compiler.interpreter.program import Graph
from compiler.overlay.assignments import part_of
from compiler.overlay.bits import OverlayError
from compiler.overlay.deploy import Deployment, deployed
from compiler.overlay.place import Sizes

HOST = L.HOST_PORT
INSERT = re.compile(r"# (\w+)\.(\w+) (\S+)$")
SHOWN_BYTES = 24


@dataclass(frozen=True, order=True)
class Left:
    """A packet that left, by a lane or to the host. `meta`: verdict (to the host), queue, mark; None where nobody sees them."""

    where: int
    data: bytes
    meta: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        shown = self.data[:SHOWN_BYTES].hex() + ("…" if len(self.data) > SHOWN_BYTES else "")
        meta = "" if self.meta is None else " verdict {}, queue {}, mark {:#x}".format(*self.meta)
        return f"{'host' if self.where == HOST else f'lane {self.where}'} {len(self.data)} bytes {shown}{meta}"


@dataclass(frozen=True)
class Job:
    """A program, its rules as a file and as signals by instance, packets (lane and bytes) and their times, and the units of the
    pipeline."""

    name: str
    program: typed.Program
    rules: Source
    inserts: Mapping[str, Sequence[SignalCall]]
    packets: Sequence[tuple[int, bytes]]
    times: Sequence[int]
    units: int

    @cached_property
    def deployment(self) -> Deployment | str:
        """The program as one of the pipeline, or why there is none. Raises what must not be raised."""
        try:
            return deployed(self.program, self.rules, Sizes(units=self.units), LANES)
        except OverlayError as error:
            return reason_of(error)

    @cached_property
    def expected(self) -> list[list[Left]]:
        """What becomes of each packet in the interpreter."""
        return interpreted(self)


@dataclass(frozen=True)
class OverlayRan:
    """What became of each packet, by name of the job; jobs that were not taken, and why."""

    left: Mapping[str, list[list[Left]]]
    refused: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


OverlayRun = Callable[[Deployment, Job], list[list[Left]]]


def reason_of(error: OverlayError) -> str:
    """Code and text of a refusal, alike for all programs. Raises ValueError where it lacks a place or a hint."""
    diagnostics = Diagnostics()
    error.report(diagnostics)
    (message,) = diagnostics.sorted()
    span = message.span
    if span is None or not message.hint or not 0 <= span.start < span.end <= len(span.source.text):
        raise ValueError(f"refused without a place and a hint: {message.render()}")
    text = re.sub(r"'[^']*'", "'…'", re.sub(r"^\w+: ", "", message.text))
    return f"{message.code} {re.sub(r'[0-9]+', 'N', text).replace(':', ',')}"


def case(seed: int) -> Case:
    """The program of a seed."""
    return Case(f"O{seed}", overlay_flows.overlay(seed, f"O{seed}"), seed)


def job_of(one: Case, program: typed.Program) -> Job:
    """The program with what stands behind it."""

    def lines(mark: str) -> list[str]:
        return [line.removeprefix(mark) for line in one.text.splitlines() if line.startswith(mark)]

    rules = lines(overlays.RULE)
    found = [match for line in rules if (match := INSERT.search(line))]
    inserts: dict[str, list[SignalCall]] = {}
    for match in found:
        call = SignalCall(match[2], tuple(int(word, 0) for word in match[3].split(",")))
        inserts.setdefault(match[1], []).append(call)
    sent = [(*line.split(), "0")[:3] for line in lines(overlays.PACKET)]
    packets, times = [(int(lane), bytes.fromhex(data)) for lane, data, _ in sent], [int(time) for _, _, time in sent]
    units = next((int(line) for line in lines(overlays.UNITS)), Sizes.units)
    return Job(one.name, program, Source(f"{one.name}.rules", "\n".join(rules) + "\n"), inserts, packets, times, units)


def interpreted(job: Job) -> list[list[Left]]:
    """What leaves in the interpreter, packet by packet."""
    graph = Graph(job.program, lambda name: Decide(0, job.inserts.get(name, ())))
    graph.run()
    ends = [(c, k) for c, k in zip(job.program.channels, graph.kept, strict=True) if _is_end(job.program, c)]
    kinds = {c.source.port: c.type for c in job.program.channels if not c.source.instance}
    left = []
    for (lane, data), time in zip(job.packets, job.times, strict=True):
        before = [len(kept.passed) for _, kept in ends]
        if lane in kinds:
            graph.send(lane, to_flits(kinds[lane], Packet(data, time), lane))
            graph.run()
        found = [_left(c, kept.passed[start:]) for (c, kept), start in zip(ends, before, strict=True)]
        left.append(sorted(one for some in found for one in some))
    return left


def _is_end(program: typed.Program, channel: typed.Channel) -> bool:
    """Whether packets leave the overlay by the channel."""
    hosts = {i.name for i in program.instances if i.on_host}
    return not channel.target.instance or channel.target.instance in hosts


def _left(channel: typed.Channel, flits: Sequence[int]) -> list[Left]:
    """The packet that went through a channel, if one did."""
    places = fields_of(channel.type)
    where = HOST if channel.target.instance else channel.target.port
    packets = from_flits(channel.type, flits)
    if not flits:
        return []
    if len(packets) != 1 or packets[0][1]:
        return [Left(where, b"not one whole packet")]
    low, _ = places["meta"]
    meta = fields_of(part_of(channel.type, "meta"))

    def part(name: str) -> int:
        return flits[0] >> low + meta[name][0] & (1 << meta[name][1]) - 1

    is_controller = part("verdict") == L.VERDICT_TO_CONTROLLER
    verdict = 0 if where != HOST else int(L.VERDICT_TO_CONTROLLER if is_controller else L.VERDICT_TO_HOST)
    return [Left(where, packets[0][0].data, (verdict, part("queue"), part("mark")))]


def _together(run: OverlayRun, jobs: Sequence[Job]) -> OverlayRan:
    left, refused = {}, {}
    for job in jobs:
        if isinstance(job.deployment, str):
            refused[job.name] = job.deployment
            continue
        assert len(job.expected) == len(job.packets)
        try:
            left[job.name] = run(job.deployment, job)
        except OverlayError as error:
            refused[job.name] = reason_of(error)
    return OverlayRan(left, refused)


def _refused(job: Job, ran: OverlayRan) -> str:
    return ran.refused.get(job.name, "")


def _wrong(job: Job, _number: int, ran: OverlayRan) -> str:
    found = ran.left[job.name]
    for number, (expected, got) in enumerate(zip(job.expected, found, strict=True)):
        if not _agree(expected, got):
            lane, data = job.packets[number]
            shown = "; ".join(map(str, expected)) or "nothing"
            return f"packet {number}, lane {lane}, {data.hex()}: expected {shown}, got {'; '.join(map(str, got)) or 'nothing'}"
    return ""


def _agree(expected: Sequence[Left], got: Sequence[Left]) -> bool:
    seen = [one if got_one.meta is not None else replace(one, meta=None) for one, got_one in zip(expected, got, strict=False)]
    return len(expected) == len(got) and seen == list(got)


def check(batch: Sequence[Case], targets: Mapping[str, OverlayRun], keep: bool = True) -> Report:
    """Every program with its packets, on every target; otherwise as `driver.checked`."""
    return checked(Kind(job_of, _refused, _wrong), batch, {name: partial(_together, run) for name, run in targets.items()}, keep)


def fuzz(count: int, seed: int, targets: Mapping[str, OverlayRun], keep: bool = True) -> Iterator[Report]:
    """Batch by batch."""
    for start in range(seed, seed + count, BATCH):
        yield check([case(number) for number in range(start, min(start + BATCH, seed + count))], targets, keep)


def reduced(failure: Failure, targets: Mapping[str, OverlayRun]) -> Failure:
    """The failure with the smallest program found, of one packet where one is enough."""
    chosen = {name: run for name, run in targets.items() if name == failure.target}
    text = failure.case.text
    rest = [line for line in text.splitlines() if not line.startswith(overlays.PACKET)]
    for packet in (line for line in text.splitlines() if line.startswith(overlays.PACKET)):
        alone = replace(failure.case, text="\n".join([*rest, packet]) + "\n")
        if found := check([alone], chosen).failures:
            failure = found[0]
            break
    return reduced_by(failure, lambda cases: check(cases, chosen))
