# SPDX-License-Identifier: Apache-2.0
"""One element on one target: tokens, calls of signals and pauses from a seed, against the interpreter; what differs is made small.

Packets are framed well: some of any contents, some with headers, or packets of a capture."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from compiler import native_cpp
from compiler.backends import cpp, cpp_build, cpp_run
from compiler.compile import Compiled
from compiler.frontend import typed
from compiler.fuzz import packet_body as packets_alone
from compiler.fuzz import tokens
from compiler.fuzz.compare import disagreement
from compiler.fuzz.targets import CPU_FLAGS
from compiler.interpreter.choices import SignalCall, host_calls
from compiler.interpreter.element import Outcome
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, from_flits, to_flits
from compiler.native import native as native_texts
from compiler.targets import rtl, rtl_outcome

TOKENS = 60  # of an input
PACKETS = 40  # of an input
CALLS = 3  # of a signal
SEEN_BEFORE = 0.3  # how often a token is one that came before: keys are found again
ATTEMPTS = 80  # at making a trial smaller
SHOWN_BYTES = 64  # of a packet


@dataclass(frozen=True)
class Trial:
    """What an element gets: tokens by input, and calls; `seed`: of choices and pauses."""

    seed: int
    streams: Mapping[str, Sequence[int]]
    calls: Sequence[SignalCall]


Runner = Callable[[Trial], Outcome]  # of one element, built for a target


class Judged(Enum):
    """How it is found whether a run is right."""

    WITH_STATE = "the interpreter replays its choices and comes to the same outputs, answers and states"
    BY_OUTPUTS = "the same without states, which a native body does not tell"
    BY_RUNNER = "the runner fails where it is not"


def trial(element: typed.Element, seed: int, captured: Sequence[Packet] = ()) -> Trial:
    """The trial of a seed; `captured`: packets for the inputs that take some, each from a place that the seed chooses."""
    streams = {port.name: _stream(port, random.Random(f"{seed} {port.name}"), captured) for port in element.inputs}
    choose = random.Random(f"{seed} signals")
    kinds = [signal for signal in element.signals for _ in range(CALLS)]
    choose.shuffle(kinds)
    return Trial(seed, streams, [tokens.call_of(choose, kind) for kind in kinds])


def _stream(port: typed.Port, choose: random.Random, captured: Sequence[Packet]) -> list[int]:
    if not port.is_packet:
        found: list[int] = []
        for _ in range(TOKENS):
            is_old = found and choose.random() < SEEN_BEFORE
            found.append(choose.choice(found) if is_old else tokens.value(choose, port.type.bits))
        return found
    if captured:
        start = choose.randrange(len(captured))
        packets = [captured[(start + n) % len(captured)] for n in range(min(PACKETS, len(captured)))]
        return [flit for packet in packets for flit in to_flits(port.type, packet, 0)]
    return [flit for _ in range(PACKETS) for flit in _packet(choose, port.type)]


def _packet(choose: random.Random, flit: typed.Type) -> list[int]:
    if choose.random() < 0.4:
        return tokens.packet(choose, flit)
    return to_flits(flit, Packet(tokens.with_headers(choose)), 0)


# The targets


def cpu(element: typed.Element) -> Runner:
    """The C++. Raises BuildError."""
    return _cpp_runner(element, cpp.generate(_alone(element)))


def native_body_cpp(element: typed.Element) -> Runner:
    """The native body in C++. Raises BuildError, and HardwareError where it does not fit."""
    return _cpp_runner(element, native_cpp.generate(_alone(element), CPU_FLAGS))


def packet_body(element: typed.Element) -> Runner:
    """The native body for whole packets, which the runner itself compares. Raises BuildError, and HardwareError where it does not
    fit."""
    run = packets_alone.runner(element)
    return lambda given: run(given.streams[element.inputs[0].name], given.calls)


def _alone(element: typed.Element) -> typed.Program:
    return typed.Program((element,), (), (), 0)


def _cpp_runner(element: typed.Element, text: str) -> Runner:
    binary, program = cpp_build.program(text, "cases", CPU_FLAGS), _alone(element)

    def run(given: Trial) -> Outcome:
        return cpp_run.run_built(binary, program, {element.name: given.streams}, [given.seed], {element.name: given.calls})[0][
            element.name
        ]

    return run


def simulated(compiled: Compiled) -> Runner:
    """The SystemVerilog that the compiler emits. Raises RtlError."""
    return _simulator(compiled, {f"{compiled.module}.sv": compiled.text})


def native(compiled: Compiled) -> Runner:
    """The native body in SystemVerilog. Raises RtlError, and HardwareError where it does not fit."""
    return _simulator(compiled, native_texts(compiled))


def _simulator(compiled: Compiled, texts: dict[str, str]) -> Runner:
    """Of the element's module, by the texts of it and of what is inside."""
    name = compiled.element.name
    built = rtl.Built(rtl.binary_of(texts, {name: rtl.design_of(compiled.plan)}, rtl.QUICK), {name: compiled.plan})

    def run(given: Trial) -> Outcome:
        outcomes = rtl_outcome.run_built(built, {name: compiled}, {name: given.streams}, given.seed, {name: given.calls})
        return outcomes[name]

    return run


# Whether it is right


def fault(element: typed.Element, run: Runner, given: Trial, judged: Judged = Judged.WITH_STATE) -> tuple[str, int]:
    """What is wrong with a run, or nothing; and its iterations."""
    try:
        got = run(given)
    except Exception as error:  # a target that fails is wrong, whatever it raises
        return f"{type(error).__name__}: {error}", 0
    if judged is Judged.BY_RUNNER:
        return "", got.iterations
    has_state = judged is Judged.WITH_STATE
    calls = len(host_calls(element, given.calls))
    return disagreement(element, given.streams, got, calls=calls, has_state=has_state), got.iterations


def smaller(element: typed.Element, run: Runner, given: Trial, judged: Judged = Judged.WITH_STATE) -> Trial:
    """A trial that still fails, with as little in it as a few attempts find."""
    pieces = _pieces(element, given)
    size, attempts = len(pieces) // 2, 0
    while size and attempts < ATTEMPTS:
        at = 0
        while at < len(pieces) and attempts < ATTEMPTS:
            left = pieces[:at] + pieces[at + size :]
            attempts += 1
            if fault(element, run, _of(given, left), judged)[0]:
                pieces = left
            else:
                at += size
        size //= 2
    return _of(given, pieces)


Piece = tuple[str, tuple[int, ...]] | SignalCall  # tokens of an input that belong together, or a call


def _pieces(element: typed.Element, given: Trial) -> list[Piece]:
    found: list[Piece] = [*given.calls]
    for port in element.inputs:
        whole = packets_of(port, given.streams[port.name])
        found += [(port.name, part) for part in whole]
    return found


def packets_of(port: typed.Port, stream: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The flits of each packet, where the port has packets; else each token."""
    last = 1 << fields_of(port.type)["eop"][0] if port.is_packet else 0
    start = 0
    for end, token in enumerate(stream, 1):
        if not last or token & last or end == len(stream):
            yield tuple(stream[start:end])
            start = end


def _of(given: Trial, pieces: Sequence[Piece]) -> Trial:
    streams: dict[str, list[int]] = {name: [] for name in given.streams}
    for piece in pieces:
        if not isinstance(piece, SignalCall):
            streams[piece[0]] += piece[1]
    return replace(given, streams=streams, calls=[piece for piece in pieces if isinstance(piece, SignalCall)])


def shown(element: typed.Element, given: Trial) -> list[str]:
    """The tokens and calls of a trial, a line each."""
    lines = []
    for port in element.inputs:
        for part in packets_of(port, given.streams[port.name]):
            lines.append(f"{port.name}: {_packet_text(port.type, part) if port.is_packet else _value_text(port.type, part[0])}")
    calls = [f"signal {call.name}({', '.join(f'{argument:#x}' for argument in call.arguments)})" for call in given.calls]
    return [*lines, *calls] or ["no tokens"]


def _packet_text(flit: typed.Type, flits: Sequence[int]) -> str:
    low, bits = fields_of(flit)["meta"]
    meta = next(field.type for field in flit.fields if field.name == "meta") if isinstance(flit, typed.Struct) else flit
    ((packet, is_error),) = from_flits(flit, flits) or [(Packet(b""), False)]
    size = f"{len(packet.data)} bytes{', error flag set' if is_error else ''}"
    data = packet.data[:SHOWN_BYTES].hex() + ("…" if len(packet.data) > SHOWN_BYTES else "")
    return f"packet of {size}: {data}; meta {_value_text(meta, flits[0] >> low & (1 << bits) - 1)}"


def _value_text(kind: typed.Type, value: int) -> str:
    """Of a structure, the fields that are not 0."""
    if not isinstance(kind, typed.Struct):
        return f"{value:#x}"
    found = {field.name: value >> field.low & (1 << field.type.bits) - 1 for field in kind.fields}
    return "{" + ", ".join(f"{name} {part:#x}" for name, part in found.items() if part) + "}"
