# SPDX-License-Identifier: Apache-2.0
"""`sluice run FILE.sl`: captures through a configuration, compiled for the CPU, as RTL, or in the interpreter."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from compiler.backends import cpp, cpp_run
from compiler.compile import HardwareError
from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.element import Outcome
from compiler.interpreter.packets import Packet, from_flits, to_flits
from compiler.interpreter.program import Graph
from host.python.device import SluiceError
from testing.simulate import ROOT
from tools.cli import run_sim
from tools.cli.run_sim import Call, Signals

ROUNDS = 1 << 17  # of the interpreter's instances, for one packet of each lane; as in host/cpu/captures.cc
ENDLESS = "the program does not come to rest: an element writes without end"


@dataclass(frozen=True)
class ProgramRun:
    """Captures and outputs by lane; `signals` as INSTANCE, INSTANCE.NAME or INSTANCE.NAME:ARGUMENT,..., served at the end, or with
    @N behind it when N packets have been sent.

    What a PktLogger takes goes to INSTANCE.pcap beside the first output, else in `build/run`."""

    path: Path
    inputs: Sequence[Path]
    outputs: Sequence[Path]
    signals: Sequence[str]
    seed: int

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


def loaded(path: Path) -> typed.Program:
    """The program of a file. Ends the command with exit status 1 where it has errors."""
    diagnostics = Diagnostics()
    program = load(path, diagnostics)
    if program is None:
        for error in diagnostics.sorted():
            print(error.render(), end="", file=sys.stderr)
        raise typer.Exit(1)
    if not program.channels:
        raise typer.BadParameter(f"{path} has no configuration: from_tor -> … -> to_tor")
    return program


def call_of(program: typed.Program, text: str) -> Call:
    """`instance.name:argument,...@packets`, as options give a signal. Raises typer.BadParameter where there is no such one."""
    asked, _, after = text.partition("@")
    if after and not after.isdigit():
        raise typer.BadParameter(f"--signal {text}: behind '@' is the number of packets that have been sent before it")
    where, _, values = asked.partition(":")
    instance, _, name = where.partition(".")
    found = next((i for i in program.instances if i.name == instance), None)
    if found is None:
        raise typer.BadParameter(f"there is no instance '{instance}'; there are {', '.join(i.name for i in program.instances)}")
    signal = next((s for s in found.element.signals if s.name == name), None)
    if signal is None:
        shown = ", ".join(s.name or "the one without a name" for s in found.element.signals) or "none"
        raise typer.BadParameter(f"'{instance}' has no signal '{name}'; it has {shown}")
    try:
        arguments = [int(value, 0) for value in values.split(",")] if values else []
    except ValueError as error:
        raise typer.BadParameter(f"--signal {text}: {error}") from error
    if not name:  # the paper's form: what read_signal() gives, 0 where nothing is said
        arguments = arguments or [0]
    if len(arguments) != len(signal.parameters):
        raise typer.BadParameter(f"'{where}' takes {len(signal.parameters)} arguments, {len(arguments)} are given")
    masked = [value & (1 << p.type.bits) - 1 for value, p in zip(arguments, signal.parameters, strict=True)]
    return Call(instance, SignalCall(name, tuple(masked)), int(after) if after else None)


def read_capture(path: Path) -> list[Packet]:
    """The packets of a pcap or pcapng file of Ethernet."""
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    try:
        with RawPcapReader(str(path)) as reader:
            return [Packet(data, _microseconds(meta)) for data, meta in reader]
    except (Scapy_Exception, OSError, EOFError) as error:
        raise typer.BadParameter(f"{path}: {error}") from error


def _microseconds(meta: Any) -> int:
    if hasattr(meta, "sec"):
        return int(meta.sec) * 1_000_000 + int(meta.usec)
    ticks = int(meta.tshigh or 0) << 32 | int(meta.tslow or 0)
    return ticks * 1_000_000 // int(meta.tsresol or 1_000_000)


def write_capture(path: Path, packets: Sequence[Packet]) -> None:
    """A pcap of Ethernet, written whole or not at all; what is no regular file is written as it is."""
    from scapy.utils import RawPcapWriter

    is_file = path.is_file() or not path.exists()
    unfinished = path.with_name(f"{path.name}.unfinished") if is_file else path
    with RawPcapWriter(str(unfinished), linktype=1, sync=False) as writer:
        writer.write_header(None)
        for packet in packets:
            writer.write_packet(packet.data, sec=packet.time // 1_000_000, usec=packet.time % 1_000_000)
    if is_file:
        unfinished.replace(path.resolve())


def on_cpu(what: ProgramRun, program: typed.Program, progress: Callable[[str], None]) -> ProgramResult:
    """The configuration in C++."""
    arguments = [word for path in what.inputs for word in ("--in", str(path))]
    arguments += [word for path in what.outputs for word in ("--out", str(path))]
    arguments += [word for i in cpp.loggers(program) for word in ("--log", f"{i.name}={what.log(i.name)}")]
    for text in what.signals:
        call = call_of(program, text)
        words = [call.instance, call.signal.name, *(f"{value:x}" for value in call.signal.arguments)]
        arguments += ["--signal", "/".join(words) + ("" if call.after is None else f"@{call.after}")]
    found = cpp_run.run_captures(program, [*arguments, "--seed", str(what.seed)], progress)
    return ProgramResult(found["lanes"], found["errors"], found["lost"], found["unread"], found["instances"])


def interpreted(what: ProgramRun, program: typed.Program, progress: Callable[[str], None]) -> ProgramResult:
    """The configuration in the interpreter: packets in the same order as on the CPU."""
    choices: dict[str, Signals] = {}

    def chosen(name: str) -> Signals:
        choices[name] = Signals(what.seed and what.seed + 1000003 * (1 + len(choices)))
        return choices[name]

    calls = [call_of(program, text) for text in what.signals]
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
    """The configuration as RTL inside the simulated shell; each lane sends as fast as it can."""
    calls = [call_of(program, text) for text in what.signals]
    captures = [read_capture(path) for path in what.inputs]
    try:
        ran = run_sim.run(what.path.stem, program, captures, calls, what.seed, progress)
    except HardwareError as error:
        diagnostics = Diagnostics()
        error.report(diagnostics)
        print(diagnostics.sorted()[0].render(), end="", file=sys.stderr)
        raise typer.Exit(1) from error
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
        notes.append(f"elements wait for tokens that do not come: some are left in the device, {ran.unsent:,} packets before it")
    return ProgramResult(lanes, ran.errors, ran.lost, 0, ran.instances, cycles=ran.cycles, notes=notes)


EXECUTE = {"cpu": on_cpu, "sim": simulated, "interpreter": interpreted}


def _write_lanes(what: ProgramRun, program: typed.Program, flits: Mapping[int, Sequence[int]]) -> tuple[list[int], int]:
    """The captures of what left; packets by lane, and how many were dropped for their `error` bit."""
    targets = {c.target.port: c.type for c in program.channels if not c.target.instance and c.target.port >= 0}
    left = {lane: from_flits(targets[lane], tokens) for lane, tokens in flits.items() if lane in targets}
    for lane, path in enumerate(what.outputs):
        write_capture(path, [packet for packet, is_error in left.get(lane, ()) if not is_error])
    counts = [sum(not is_error for _, is_error in left.get(lane, ())) for lane in range(max(left, default=-1) + 1)]
    return counts, sum(is_error for packets in left.values() for _, is_error in packets)


def figures(result: ProgramResult) -> dict[str, Any]:
    """The result as it is printed with --json; states, answers as bit patterns in hex."""
    return {
        "sent": result.sent,
        "lanes": result.lanes,
        "errors": result.errors,
        "lost": result.lost,
        "unread": result.unread,
        **({"cycles": result.cycles} if result.cycles else {}),
        "instances": {
            name: {
                "iterations": outcome.iterations,
                "state": {state: hex(value) for state, value in outcome.state.items()},
                "answers": [hex(answer) for answer in outcome.answers],
                "lines": outcome.lines,
                "failures": outcome.failures,
                "discarded_flits": outcome.discarded,
                "mended_flits": outcome.mended,
            }
            for name, outcome in result.instances.items()
        },
    }


def _short(value: int) -> str:
    text = f"{value:,}" if value < 1 << 64 else hex(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def table(result: ProgramResult) -> Table:
    """The result for people."""
    rows = Table(show_header=False, box=None, pad_edge=False)
    rows.add_row("packets", f"{result.sent:,} sent, {sum(result.lanes):,} left")
    rows.add_row("by lane", ", ".join(f"{lane}: {count:,}" for lane, count in enumerate(result.lanes)))
    for what, count in (("dropped for error", result.errors), ("lost", result.lost), ("tokens unread", result.unread)):
        if count:
            rows.add_row(what, f"{count:,}")
    if result.cycles:
        rows.add_row("cycles", f"{result.cycles:,}, {result.cycles / max(result.sent, 1):.2f} a packet")
    for name, outcome in result.instances.items():
        states = "; ".join(f"{state} = {_short(value)}" for state, value in outcome.state.items())
        rows.add_row(name, f"{outcome.iterations:,} iterations" + (f"; {states}" if states else ""))
        for answer in outcome.answers:
            rows.add_row("", f"answer {_short(answer)}")
        if outcome.discarded or outcome.mended:
            rows.add_row("", f"packet guard: {outcome.mended} packets ended with error, {outcome.discarded} flits discarded")
    return rows


def run_program(what: ProgramRun, target: str, json_output: bool) -> None:
    """Run and print. Exit status 1 where the program has errors, an assertion fails, or it does not come to rest."""
    console = Console(stderr=True)
    if target not in EXECUTE:
        raise typer.BadParameter(f"no target '{target}'; there are {', '.join(EXECUTE)}")
    program = loaded(what.path)
    sent = sum(len(read_capture(path)) for path in what.inputs)  # first: building takes longer than saying what is wrong with one
    try:
        result = EXECUTE[target](what, program, lambda text: console.log(f"{target}: {text}"))
    except RuntimeError as error:
        print(f"run: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    result.notes += [f"{i.name}: packets in {what.log(i.name)}" for i in cpp.loggers(program)]
    result.sent = sent
    if json_output:
        print(json.dumps(figures(result), indent=1))
    else:
        for name, outcome in result.instances.items():
            for line in outcome.lines:
                print(f"{name}: {line}")
        for note in result.notes:
            print(note)
        Console().print(table(result))
    failures = [f"{name}: {text}" for name, outcome in result.instances.items() for text in outcome.failures]
    for text in failures:
        print(f"failed: {text}", file=sys.stderr)
    raise typer.Exit(1 if failures else 0)
