# SPDX-License-Identifier: Apache-2.0
"""Captures through a configuration: compiled for the CPU, as RTL in the simulated device, on the overlay, or in the interpreter."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile

from compiler.backends import cpp, cpp_run
from compiler.frontend import typed
from compiler.frontend.source import Source
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.element import Outcome
from compiler.interpreter.packets import from_flits, to_flits
from compiler.interpreter.program import Graph
from compiler.overlay.rules import read_rules, signals, tables_of
from host.program import InputError, device_run, overlay_run, timers
from host.program.captures import read_capture, write_capture
from host.program.device_run import Call, Signals
from host.python.device import SluiceError
from toolchain import ROOT

ROUNDS = 1 << 17  # of the interpreter's instances, for one packet of each lane; as in host/cpu/captures.cc
ENDLESS = "the program does not terminate: an element keeps writing tokens"


@dataclass(frozen=True)
class ProgramRun:
    """Captures and outputs by lane; `signals` as INSTANCE, INSTANCE.NAME or INSTANCE.NAME:ARGUMENT,..., served at the end, or with
    @N behind it when N packets have been sent.

    `rules`: a file of rules of the program's tables (`compiler/overlay/rules.py`), which are inserted before the first packet.

    What a PktLogger takes goes to INSTANCE.pcap beside the first output, else in `build/run`."""

    path: Path
    inputs: Sequence[Path]
    outputs: Sequence[Path]
    signals: Sequence[str]
    seed: int
    rules: Path | None = None

    def log(self, instance: str) -> Path:
        """The capture of a logger."""
        folder = self.outputs[0].parent if self.outputs else ROOT / "build" / "run"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{instance}.pcap"


@dataclass
class ProgramResult:
    """`lanes`: packets that left; `errors`: dropped there for their `error` bit; `lost`: sent to lanes that lead nowhere."""

    lanes: list[int]
    errors: int
    lost: int
    unread: int
    instances: Mapping[str, Outcome]
    sent: int = 0
    cycles: int = 0  # of the simulated device, 0 elsewhere
    notes: list[str] = field(default_factory=list)


def call_of(program: typed.Program, text: str) -> Call:
    """`instance.name:argument,...@packets`, as options give a signal. Raises InputError where there is no such one."""
    asked, _, after = text.partition("@")
    if after and not after.isdigit():
        raise InputError(f"--signal {text}: '@' must be followed by the number of packets to send first")
    where, _, values = asked.partition(":")
    instance, _, name = where.partition(".")
    found = next((i for i in program.instances if i.name == instance), None)
    if found is None:
        raise InputError(f"unknown instance '{instance}'; choose from {', '.join(i.name for i in program.instances)}")
    timer = next((t for t in found.element.timers if t.name == name), None)
    if timer is not None:
        raise InputError(f"'{where}' is a timer: it runs by itself, every {timer.every:,} microseconds")
    signal = next((s for s in found.element.host_signals if s.name == name), None)
    if signal is None:
        shown = ", ".join(s.name or "the unnamed signal" for s in found.element.host_signals) or "none"
        raise InputError(f"'{instance}' has no signal '{name}'; it has {shown}")
    try:
        arguments = [int(value, 0) for value in values.split(",")] if values else []
    except ValueError as error:
        raise InputError(f"--signal {text}: {error}") from error
    if not name:  # the paper's form: what read_signal() gives, 0 where nothing is said
        arguments = arguments or [0]
    if len(arguments) != len(signal.parameters):
        raise InputError(f"'{where}' expects {len(signal.parameters)} arguments, got {len(arguments)}")
    masked = [value & (1 << p.type.bits) - 1 for value, p in zip(arguments, signal.parameters, strict=True)]
    return Call(instance, SignalCall(name, tuple(masked)), int(after) if after else None)


def rules_of(what: ProgramRun, program: typed.Program) -> list[str]:
    """The signals that insert the rules. Raises HardwareError where a rule is wrong, InputError where the file is."""
    if what.rules is None:
        return []
    try:
        source = Source(str(what.rules), what.rules.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {what.rules}: {error}") from error
    tables = tables_of(program.instances)
    return signals(tables, read_rules(source, {name: table for name, (_, table) in tables.items()}))


def calls_of(what: ProgramRun, program: typed.Program) -> list[Call]:
    """The signals of a run: those of rules and timers, and those that were asked for."""
    captures = [read_capture(path) for path in what.inputs] if timers.has_timers(program) else []
    due = [Call(found.instance.name, found.call, found.after) for found in timers.due(program, captures)]
    return [
        *(call_of(program, text) for text in rules_of(what, program)),
        *due,
        *(call_of(program, text) for text in what.signals),
    ]


def on_cpu(what: ProgramRun, program: typed.Program, progress: Callable[[str], None], exact: bool = False) -> ProgramResult:
    """The configuration in C++: on the packet engine, or flit by flit where `exact`, channels lead back, or a seed decides."""
    arguments = [word for path in what.inputs for word in ("--in", str(path))]
    arguments += [word for path in what.outputs for word in ("--out", str(path))]
    arguments += [word for i in cpp.loggers(program) for word in ("--log", f"{i.name}={what.log(i.name)}")]
    calls = calls_of(what, program)
    lines = [signal_text(call) + ("" if call.after is None else f"@{call.after}") for call in calls]
    with NamedTemporaryFile("w", suffix=".signals") as signals:
        signals.write("".join(f"{line}\n" for line in lines))
        signals.flush()
        arguments += ["--seed", str(what.seed), "--signals", signals.name]
        found = cpp_run.run_captures(program, arguments, progress, exact or what.seed != 0)
    return ProgramResult(found["lanes"], found["errors"], found["lost"], found["unread"], found["instances"])


def signal_text(call: Call) -> str:
    """A signal as the programs of `host/cpu` read it."""
    return "/".join([call.instance, call.signal.name, *(f"{value:x}" for value in call.signal.arguments)])


def interpreted(what: ProgramRun, program: typed.Program, progress: Callable[[str], None]) -> ProgramResult:
    """The configuration in the interpreter: packets in the same order as on the CPU."""
    choices: dict[str, Signals] = {}

    def chosen(name: str) -> Signals:
        choices[name] = Signals(what.seed and what.seed + 1000003 * (1 + len(choices)))
        return choices[name]

    calls = calls_of(what, program)
    graph = Graph(program, chosen)

    def run() -> None:
        if not graph.run(ROUNDS):
            raise RuntimeError(ENDLESS)

    captures = [read_capture(path) for path in what.inputs]
    kinds = {c.source.port: c.type for c in program.channels if not c.source.instance and c.source.port >= 0}
    lost, sent = 0, 0
    due = deque(sorted((call for call in calls if call.after is not None), key=lambda call: call.after or 0))
    for number in range(max(map(len, captures), default=0)):
        for lane, packets in enumerate(captures):
            if due and (due[0].after or 0) <= sent:  # behind what is under way
                run()
                while due and (due[0].after or 0) <= sent:
                    choices[due[0].instance].add(due.popleft().signal)
                run()
            if number < len(packets):
                lost += lane not in kinds
                sent += 1
                graph.send(lane, to_flits(kinds[lane], packets[number], lane) if lane in kinds else ())
        run()
        if number % 1000 == 999:
            progress(f"{number + 1} packets of each lane")
    for call in [*due, *(call for call in calls if call.after is None)]:
        choices[call.instance].add(call.signal)
    run()
    outcome = graph.finish()
    for logger in cpp.loggers(program):
        streams = zip(program.channels, outcome.streams, strict=True)
        taken = [(c.type, flits) for c, flits in streams if c.target.instance == logger.name]
        write_capture(what.log(logger.name), [packet for kind, flits in taken for packet, _ in from_flits(kind, flits)])
    lanes, errors = _write_lanes(what, program, outcome.lanes)
    return ProgramResult(lanes, errors, lost, outcome.unread, outcome.instances)


def simulated(what: ProgramRun, program: typed.Program, progress: Callable[[str], None]) -> ProgramResult:
    """The configuration as RTL inside the simulated shell; each lane sends as fast as it can. Raises HardwareError."""
    calls = [call_of(program, text) for text in [*rules_of(what, program), *what.signals]]
    captures = [read_capture(path) for path in what.inputs]
    try:
        ran = device_run.run(what.path.stem, program, captures, calls, what.seed, progress)
    except SluiceError as error:
        raise RuntimeError(error.strerror) from error
    for logger in cpp.loggers(program):
        taken = [(c.type, ran.tokens.get(c.target, [])) for c in program.channels if c.target.instance == logger.name]
        packets = [ran.time_of(packet) for kind, flits in taken for packet, _ in from_flits(kind, flits)]
        write_capture(what.log(logger.name), packets)
    for lane, path in enumerate(what.outputs):
        write_capture(path, ran.left[lane] if lane < len(ran.left) else [])
    if not ran.is_quiet:
        raise RuntimeError(ENDLESS)
    lanes = [len(packets) for packets in ran.left]
    notes = [f"dropped, {name}: {count:,}" for name, count in ran.drops.items()]
    if ran.is_stuck:
        notes.append(
            f"elements wait for tokens that never arrive: tokens remain in the device, and {ran.unsent:,} packets were not sent"
        )
    return ProgramResult(lanes, ran.errors, ran.lost, 0, ran.instances, cycles=ran.cycles, notes=notes)


def on_overlay(what: ProgramRun, program: typed.Program, progress: Callable[[str], None]) -> ProgramResult:
    """The configuration in a simulated device of the programmable pipeline. Raises HardwareError where it does not fit,
    RuntimeError where the device fails."""
    if what.signals:
        raise InputError("--signal: a program on the overlay takes none; give rules of its tables with --rules")
    captures = [read_capture(path) for path in what.inputs]
    try:
        ran = overlay_run.run(program, what.rules, captures, progress)
    except SluiceError as error:
        raise RuntimeError(error.strerror) from error
    for lane, path in enumerate(what.outputs):
        write_capture(path, ran.left[lane])
    for logger in cpp.loggers(program):
        write_capture(what.log(logger.name), ran.uploaded)
    loaded = f"loaded in {ran.loaded.cycles:,} cycles, {ran.loaded.writes:,} register writes"
    return ProgramResult([len(packets) for packets in ran.left], 0, 0, 0, {}, cycles=ran.cycles, notes=[loaded])


Execute = Callable[[ProgramRun, typed.Program, Callable[[str], None]], ProgramResult]
EXECUTE: dict[str, Execute] = {
    "overlay": on_overlay,
    "cpu": on_cpu,
    "cpu-exact": partial(on_cpu, exact=True),
    "sim": simulated,
    "interpreter": interpreted,
}


def _write_lanes(what: ProgramRun, program: typed.Program, flits: Mapping[int, Sequence[int]]) -> tuple[list[int], int]:
    """The captures of what left; packets by lane, and how many were dropped for their `error` bit."""
    targets = {c.target.port: c.type for c in program.channels if not c.target.instance and c.target.port >= 0}
    left = {lane: from_flits(targets[lane], tokens) for lane, tokens in flits.items() if lane in targets}
    for lane, path in enumerate(what.outputs):
        write_capture(path, [packet for packet, is_error in left.get(lane, ()) if not is_error])
    counts = [sum(not is_error for _, is_error in left.get(lane, ())) for lane in range(max(left, default=-1) + 1)]
    return counts, sum(is_error for packets in left.values() for _, is_error in packets)
