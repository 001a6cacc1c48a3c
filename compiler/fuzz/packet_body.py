# SPDX-License-Identifier: Apache-2.0
"""One element with a native body for whole packets, against the interpreter: the same packets, metadata and error bits leave, and
signals get the same answers, before the packets and behind them. `packet_body.sl` is what stands around it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from compiler.backends import cpp_build, cpp_packets, cpp_run
from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.fuzz import tokens
from compiler.fuzz.targets import CPU_FLAGS
from compiler.interpreter.choices import SignalCall, round_robin
from compiler.interpreter.element import Outcome, run_element
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import from_flits
from compiler.native_cpp import bodies_blamed

AROUND = Path(__file__).with_suffix(".sl")
LANES = 3  # packets as they came, in shared frames, and made of flits
MOST = 64  # packets of a lane
INSTANCES = ("it", "it_behind")
DRESSED = ("dress", "dress_copies", "dress_flits")  # by lane
SOURCES = {"it": "dress", "it_behind": "mux"}  # what each instance gets

Left = list[tuple[bytes, bool, int]]  # packets: bytes, error bit, metadata


class PacketsDiffer(Exception):
    """What a body did wrong."""


class _AtEnds:
    """The choices of the plain run, with signals before the first token and behind the last."""

    def __init__(self, first: Sequence[SignalCall], last: Sequence[SignalCall]) -> None:
        self._first, self._last, self._is_at_end = [*first], [*last], False

    def available(self, iteration: int, port: int, has_token: bool, must: bool) -> bool:
        return has_token

    def select(self, iteration: int, ready: Sequence[int], after: int) -> int:
        return round_robin(ready, after)

    def now(self, iteration: int) -> int:
        return iteration

    def signal(self, iteration: int) -> SignalCall | None:
        if self._first:
            return self._first.pop(0)
        return self._last.pop(0) if self._is_at_end and self._last else None

    def pending(self) -> bool:
        self._is_at_end = True
        return bool(self._first or self._last)


def program_around(element: typed.Element) -> typed.Program:
    """The configuration of `packet_body.sl` with the element in it."""
    diagnostics = Diagnostics()
    around = load(AROUND, diagnostics)
    if around is None:
        raise RuntimeError(diagnostics.sorted()[0].render())
    instances = tuple(replace(i, element=element) if i.name in INSTANCES else i for i in around.instances)
    elements = tuple({i.element.name: i.element for i in instances}.values())
    return replace(around, instances=instances, elements=elements)


def runner(element: typed.Element, flags: Sequence[str] = CPU_FLAGS) -> Callable[[Sequence[int], Sequence[SignalCall]], Outcome]:
    """Takes flits and calls; the interpreter's outcome. Raises BuildError, HardwareError where the body does not fit, and when it
    runs PacketsDiffer where the body does something else."""
    program = program_around(element)
    made = cpp_packets.generate(program)
    assert made is not None
    with bodies_blamed(program):
        binary = cpp_build.program(made.text, "graphs", (*flags, "-DSLUICE_CHOICES"), "packets")

    def run(stream: Sequence[int], calls: Sequence[SignalCall]) -> Outcome:
        packets, dressing = _given(element.inputs[0].type, stream)
        around = [*dressing, *((name, call) for name in INSTANCES for call in calls)]
        behind = [(name, call) for name in INSTANCES for call in calls]
        ((instances, _),) = cpp_run.run_graph(binary, packets, [0], around, behind)
        outcomes = [_judged(element, name, instances, calls) for name in INSTANCES]
        return outcomes[0]

    return run


def _judged(element: typed.Element, name: str, instances: Mapping[str, Outcome], calls: Sequence[SignalCall]) -> Outcome:
    (source,), (output,) = element.inputs, element.outputs
    (sent,) = instances[SOURCES[name]].outputs.values()
    expected = run_element(element, {source.name: sent}, _AtEnds(calls, calls))
    got = instances[name]
    ours, theirs = _packets(output.type, expected.outputs[output.name]), _packets(output.type, got.outputs[output.name])
    if ours != theirs:
        at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
        raise PacketsDiffer(f"{name}: packet {at} that leaves: expected {_shown(ours, at)}, got {_shown(theirs, at)}")
    if expected.answers != got.answers:
        raise PacketsDiffer(f"{name}: answers: expected {expected.answers}, got {got.answers}")
    return expected


def _shown(packets: Left, at: int) -> str:
    if at >= len(packets):
        return "none"
    data, is_bad, meta = packets[at]
    return f"{len(data)} bytes {data[:64].hex()}, metadata {meta:#x}{', bad' if is_bad else ''}"


def _given(flit: typed.Type, stream: Sequence[int]) -> tuple[list[tuple[int, bytes]], list[tuple[str, SignalCall]]]:
    """The packets of a stream in turn over the lanes, and the signals that give each its metadata and error bit."""
    packets: list[tuple[int, bytes]] = []
    dressing: list[tuple[str, SignalCall]] = []
    for number, (data, is_bad, given) in enumerate(_packets(flit, stream)[: LANES * MOST]):
        lane, at, meta = number % LANES, number // LANES, _mixed(random.Random(number), flit, given)
        packets.append((lane, data))
        dressing.append((DRESSED[lane], SignalCall("set", (at, meta))))
        if DRESSED[lane] == "dress_flits":
            dressing.append(("spoil", SignalCall("set", (at, int(is_bad)))))
    return packets, dressing


def _mixed(choose: random.Random, flit: typed.Type, meta: int) -> int:
    """Metadata with some fields of any size, small ones more often: they are indices of tables."""
    assert isinstance(flit, typed.Struct)
    kind = next(field.type for field in flit.fields if field.name == "meta")
    for field in kind.fields if isinstance(kind, typed.Struct) else ():
        if choose.random() < 0.5:
            mask = (1 << field.type.bits) - 1
            meta = meta & ~(mask << field.low) | tokens.value(choose, field.type.bits) << field.low
    return meta


def _packets(flit: typed.Type, flits: Sequence[int]) -> Left:
    fields = fields_of(flit)
    (sop, _), (meta, bits) = fields["sop"], fields["meta"]
    metas = [token >> meta & (1 << bits) - 1 for token in flits if token >> sop & 1]
    return [(packet.data, is_bad, value) for (packet, is_bad), value in zip(from_flits(flit, flits), metas, strict=True)]
