# SPDX-License-Identifier: Apache-2.0
"""A configuration on DPDK's ports: the packet engine of the CPU on a core that polls, and this process beside it, which starts and
stops it, sends signals and reads counters (`host/cpu/ports.cc` has the lines between them)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.backends import cpp_build, cpp_packets, cpp_run
from compiler.frontend import typed
from compiler.interpreter.element import Outcome
from host.program import InputError
from host.program.run import ProgramRun, call_of, rules_of, signal_text

KINDS = {
    "tap": "net_tap{n},iface={value}",
    "af_packet": "net_af_packet{n},iface={value}",
    "af_xdp": "net_af_xdp{n},iface={value}",
    "pcap": "net_pcap{n},rx_pcap={value}",
    "replay": "net_pcap{n},rx_pcap={value},infinite_rx=1",
    "null": "net_null{n}",
}
PORTS = "INTERFACE, tap:NAME, af_packet:IF, af_xdp:IF, pcap:IN,OUT, replay:IN, null, pci:ADDRESS"
FLAGS = ("-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror")
MEGABYTES = 512
PATIENCE = 30.0  # s for an answer
STOPPING = 10.0


@dataclass(frozen=True)
class Lane:
    """Packets of a port. `unsent`: the port took them not, or there was no memory; `errors`: dropped for their `error` bit; `lost`:
    nothing is connected to the lane."""

    received: int
    sent: int
    unsent: int
    errors: int
    lost: int


@dataclass(frozen=True)
class Stage:
    """Instances that run as one loop, and ticks of the core's counter that they took."""

    name: str
    ticks: int


@dataclass(frozen=True)
class Counters:
    """By lane, and iterations by instance: flits, or tokens, that it took. `unread`: tokens that wait. `switches`: to another
    program; `dropped`: packets that waited for something at one. Iterations and ticks are of the program that runs."""

    lanes: Sequence[Lane]
    iterations: dict[str, int]
    stages: Sequence[Stage]
    ticks_per_second: float
    unread: int
    switches: int
    dropped: int


@dataclass(frozen=True)
class Reload:
    """What a switch to another program kept, by INSTANCE.NAME; `refused`: rules that its tables did not take."""

    kept: list[str]
    cleared: list[str]
    dropped: int
    rules: int
    refused: int


@dataclass(frozen=True)
class LiveResult(Counters):
    """The whole run. `processor_seconds`: of the core that polls, from the first look at a port on; `whole`: why elements see every
    flit, by element, None where they see first flits alone."""

    seconds: float
    processor_seconds: float
    instances: dict[str, Outcome]
    answers: list[str]
    whole: dict[str, str | None]


def device_of(number: int, port: str) -> tuple[str, list[str]]:
    """The name of a port in DPDK, and the option that makes it. Raises InputError."""
    kind, _, value = port.partition(":")
    if kind not in ("pci", *KINDS) and not value:
        kind, value = "af_packet", port
    if kind == "pci" and value:
        return value, ["-a", value]
    if kind not in KINDS or bool(value) == (kind == "null"):
        raise InputError(f"unknown port '{port}'; choose from {PORTS}")
    if kind in ("pcap", "replay"):
        source, _, sink = value.partition(",")
        if not os.access(source, os.R_OK):
            raise InputError(f"port {port}: cannot read {source}")
        value = source + (f",tx_pcap={sink}" if sink else "")
    elif kind in ("af_packet", "af_xdp") and not Path("/sys/class/net", value).exists():
        raise InputError(f"port {port}: there is no interface '{value}'")
    option = KINDS[kind].format(n=number, value=value)
    return option.partition(",")[0], ["--vdev", option]


def build(program: typed.Program) -> tuple[Path, cpp_packets.PacketProgram]:
    """The library, and what it is made of. Raises InputError where channels lead back, BuildError without DPDK."""
    found = cpp_packets.generate(program)
    if found is None:
        raise InputError("the channels of this configuration lead back; the packet engine runs those that lead forward alone")
    return cpp_build.library(found.text, FLAGS), found


class Engine:
    """The running process. Any thread may ask it. `close` ends it, whatever it does."""

    def __init__(self, library: Path, ports: Sequence[str], limits: Sequence[str] = (), core: int | None = None) -> None:
        self.lock = threading.Lock()
        names, options = [], []
        for number, port in enumerate(ports):
            name, made = device_of(number, port)
            names += ["--port", name]
            options += made
        core = max(os.sched_getaffinity(0)) if core is None else core
        eal = f"--no-huge -m {MEGABYTES} -l {core} --log-level error --no-telemetry --file-prefix sluice-{os.getpid()}".split()
        eal += [] if any(port.startswith("pci:") for port in ports) else ["--no-pci"]
        self.process = subprocess.Popen(
            [str(cpp_build.ports(FLAGS)), "--program", str(library), *names, *limits, "--", *eal, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for this process, which stops the other
        )

    def ask(self, line: str, answers: bool = True) -> Any:
        """The answer to a line. Raises RuntimeError where the process has ended or refuses."""
        assert self.process.stdin and self.process.stdout
        with self.lock:
            try:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                raise RuntimeError(self._why()) from None
            if not answers:
                return None
            found = self.process.stdout.readline()
        if not found.startswith("{"):
            raise RuntimeError(self._why())
        told = json.loads(found)
        if "error" in told:
            raise RuntimeError(told["error"])
        return told

    def start(self) -> None:
        """Take packets, from the moment on that this returns."""
        self.ask("stats")
        self.ask("start", answers=False)

    def counters(self) -> Counters:
        """As they are now."""
        return counters_of(self.ask("stats"))

    def reload(self, library: Path, rules: Sequence[str], parts: str) -> Reload:
        """Go on with another program. `rules`: its first signals; `parts`: what it takes over where instance, name and type are the
        same: `states`, `all` (rules, too), or `nothing`. Raises RuntimeError where it does not load; the old one then goes on."""
        with tempfile.NamedTemporaryFile("w", suffix=".signals") as file:
            file.write("".join(f"{text}\n" for text in rules))
            file.flush()
            answers = self.ask(f"load {library} {file.name}")["answers"]
        done = self.ask(f"switch {parts}")
        return Reload(done["kept"], done["cleared"], done["dropped"], len(rules), sum(answer != "0" for answer in answers))

    def end(self) -> Any:
        """Stop it; the last line."""
        assert self.process.stdout
        if self.process.poll() is None:
            with suppress(RuntimeError):
                self.ask("stop", answers=False)
        lines = [line for line in self.process.stdout.read().splitlines() if line.startswith("{")]
        if self.process.wait(STOPPING) != 0 or not lines:
            raise RuntimeError(self._why())
        return json.loads(lines[-1])

    def _why(self) -> str:
        assert self.process.stderr
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOPPING)
        self.close()
        said = self.process.stderr.read().strip()
        return said or f"the engine ended with status {self.process.returncode}"

    def close(self) -> None:
        """Also where it hangs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def counters_of(told: Any) -> Counters:
    """An answer to `stats`."""
    return Counters(
        [Lane(**lane) for lane in told["lanes"]],
        told["instances"],
        [Stage(**stage) for stage in told["stages"]],
        told["ticks_per_second"],
        told["unread"],
        told["switches"],
        told["dropped"],
    )


class Run:
    """A program on its ports, from the first packet on. Raises InputError, BuildError, and RuntimeError with a sentence where it
    does not start."""

    def __init__(self, what: ProgramRun, program: typed.Program, ports: Sequence[str], say: Callable[[str], None]) -> None:
        self.what, self.program = what, program
        rules = self._rules()
        for text in what.signals:
            call_of(program, text)
        for number, port in enumerate(ports):
            device_of(number, port)  # before the build, which takes long
        say("compiling")
        library, self.made = build(program)
        self.engine = Engine(library, ports)
        try:
            for text in rules:
                self.engine.ask(f"signal {text}")
            self.engine.start()
        except BaseException:
            self.engine.close()
            raise

    def _rules(self) -> list[str]:
        return [signal_text(call_of(self.program, text)) for text in rules_of(self.what, self.program)]

    def reload(self, program: typed.Program, keeps: bool = True) -> Reload:
        """Go on with another program, compiled and filled with the rules of the file while the old one runs. States are taken over
        where `keeps`, tables where there is no file of rules. Raises the same; the old one then goes on."""
        old, self.program = self.program, program
        try:
            rules = self._rules()
            library, self.made = build(program)
            return self.engine.reload(library, rules, ("states" if self.what.rules else "all") if keeps else "nothing")
        except BaseException:
            self.program = old
            raise

    def end(self) -> LiveResult:
        """Send the signals, stop, and report."""
        signals = [signal_text(call_of(self.program, text)) for text in self.what.signals]
        try:
            answers = [self.engine.ask(f"signal {text}")["answer"] for text in signals]
            told = self.engine.end()
        finally:
            self.engine.close()
        outcomes = {name: cpp_run.outcome({"outputs": {}, **found}) for name, found in told["outcomes"].items()}
        return LiveResult(
            **vars(counters_of(told)),
            seconds=told["seconds"],
            processor_seconds=told["processor_seconds"],
            instances=outcomes,
            answers=answers,
            whole=dict(self.made.whole),
        )
