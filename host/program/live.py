# SPDX-License-Identifier: Apache-2.0
"""A configuration on DPDK's ports: the packet engine of the CPU on cores that poll, and this process beside it, which starts and
stops it, sends signals and reads counters (`host/cpu/ports.cc` has the lines between them)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.backends import cpp_build, cpp_packets, cpp_run
from compiler.frontend import typed
from compiler.interpreter.element import Outcome
from compiler.native_cpp import bodies_blamed
from compiler.passes import replicable
from host.program import InputError
from host.program.live_ports import LivePort
from host.program.run import ProgramRun, call_of, rules_of, signal_text

FLAGS = ("-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror")
MEGABYTES = 512
PATIENCE = 30.0  # s for an answer
STOPPING = 10.0
AT_ONCE = 256  # signals under way; their answers are in a pipe meanwhile


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
    """The whole run. `processor_seconds`: of the cores that poll, from the first look at a port on; `instances`: what they
    said, by thread; `whole`: why elements see every flit, by element, None where they see first flits alone."""

    seconds: float
    processor_seconds: float
    instances: list[dict[str, Outcome]]
    answers: list[str]
    whole: dict[str, str | None]


def build(program: typed.Program) -> tuple[Path, cpp_packets.PacketProgram]:
    """The library, and what it is made of. Raises InputError where channels lead back, BuildError without DPDK."""
    found = cpp_packets.generate(program)
    if found is None:
        raise InputError("the channels of this configuration lead back; the packet engine runs those that lead forward alone")
    with bodies_blamed(program):
        return cpp_build.library(found.text, FLAGS), found


class Engine:
    """The running process, on the last so many cores. Any thread may ask it. `close` ends it, whatever it does."""

    def __init__(self, library: Path, ports: Sequence[str], limits: Sequence[str] = (), threads: int = 1) -> None:
        self.lock = threading.Lock()
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-ports-")
        self.ports = [LivePort(number, text, threads, Path(self.folder.name)) for number, text in enumerate(ports)]
        names, options = [], []
        for port in self.ports:
            name, made = port.options()
            names += ["--port", name]
            options += made
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[-threads:]))
        eal = f"--no-huge -m {MEGABYTES} -l {cores} --log-level error --no-telemetry --file-prefix sluice-{os.getpid()}".split()
        eal += [] if any(text.startswith("pci:") for text in ports) else ["--no-pci"]
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
        return self._ask_all([line])[0] if answers else self._ask_all([line], 0)

    def _ask_all(self, lines: Sequence[str], answers: int | None = None) -> list[Any]:
        """What comes back: a line for each, or so many."""
        assert self.process.stdin and self.process.stdout
        with self.lock:
            try:
                self.process.stdin.write("".join(f"{line}\n" for line in lines))
                self.process.stdin.flush()
            except BrokenPipeError:
                raise RuntimeError(self._why()) from None
            found = [self.process.stdout.readline() for _ in range(len(lines) if answers is None else answers)]
        return [self._told(line) for line in found]

    def _told(self, found: str) -> Any:
        if not found.startswith("{"):
            raise RuntimeError(self._why())
        told = json.loads(found)
        if "error" in told:
            raise RuntimeError(told["error"])
        return told

    def signal(self, text: str) -> str:
        """The answer, in hex, or those of the threads where they differ."""
        return self.signals([text])[0]

    def signals(self, texts: Sequence[str]) -> list[str]:
        """The same of many, which takes a fraction of the time."""
        found: list[str] = []
        for begin in range(0, len(texts), AT_ONCE):
            for told in self._ask_all([f"signal {text}" for text in texts[begin : begin + AT_ONCE]]):
                answers: list[str] = told["answers"]
                found.append(answers[0] if len(set(answers)) == 1 else " ".join(answers))
        return found

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
        for port in self.ports:
            port.finish()
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
        self.folder.cleanup()


def counters_of(told: Any) -> Counters:
    """An answer to `stats`, of all threads together."""
    cores = told["cores"]
    lanes = [Lane(*map(sum, zip(*(lane.values() for lane in same), strict=True))) for same in _together(cores, "lanes")]
    names = cores[0]["instances"]
    stages = [Stage(same[0]["name"], sum(stage["ticks"] for stage in same)) for same in _together(cores, "stages")]
    return Counters(
        lanes,
        {name: sum(core["instances"][name] for core in cores) for name in names},
        stages,
        told["ticks_per_second"],
        sum(core["unread"] for core in cores),
        told["switches"],
        sum(core["dropped"] for core in cores),
    )


def _together(cores: Sequence[Any], name: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(core[name] for core in cores), strict=True)


def not_in_threads(program: typed.Program) -> str | None:
    """Why threads cannot have this program each; None where they can."""
    for instance in program.instances:
        if why := replicable.why_not(instance.element):
            return f"{instance.name} ({instance.element.source_name}): {why}"
    return None


class Run:
    """A program on its ports, from the first packet on, in `threads`, each with states and tables of its own; `partitioned`: even
    where packets then meet other states than in one. Raises InputError, BuildError, and RuntimeError with a sentence where it does
    not start."""

    def __init__(
        self,
        what: ProgramRun,
        program: typed.Program,
        ports: Sequence[str],
        say: Callable[[str], None],
        threads: int = 1,
        partitioned: bool = False,
    ) -> None:
        self.what, self.program = what, program
        self.is_replicated = threads > 1 and not partitioned
        if threads > len(os.sched_getaffinity(0)):
            raise InputError(f"--threads {threads}: there are {len(os.sched_getaffinity(0))} cores")
        self._check(program)
        rules = self._rules()
        for text in what.signals:
            call_of(program, text)
        for number, port in enumerate(ports):
            LivePort(number, port, threads)  # before the build, which takes long
        say("compiling")
        library, self.made = build(program)
        self.engine = Engine(library, ports, threads=threads)
        try:
            answers = self.engine.signals(rules)
            if refused := [f"{text}: {answer}" for text, answer in zip(rules, answers, strict=True) if answer != "0"]:
                say(f"{len(refused)} of {len(rules)} rules are refused; the first, and the errno in hex: {refused[0]}")
            self.engine.start()
        except BaseException:
            self.engine.close()
            raise

    def _check(self, program: typed.Program) -> None:
        why = not_in_threads(program) if self.is_replicated else None
        if why:
            raise InputError(f"{why}. Use --threads 1, or --partitioned, which gives each thread a state for its own flows")

    def _rules(self) -> list[str]:
        return [signal_text(call_of(self.program, text)) for text in rules_of(self.what, self.program)]

    def reload(self, program: typed.Program, keeps: bool = True) -> Reload:
        """Go on with another program, compiled and filled with the rules of the file while the old one runs. States are taken over
        where `keeps`, tables where there is no file of rules. Raises the same; the old one then goes on."""
        old, self.program = self.program, program
        try:
            self._check(program)
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
            answers = self.engine.signals(signals)
            told = self.engine.end()
        finally:
            self.engine.close()
        outcomes = [{n: cpp_run.outcome({"outputs": {}, **found}) for n, found in c["outcomes"].items()} for c in told["cores"]]
        return LiveResult(
            **vars(counters_of(told)),
            seconds=told["seconds"],
            processor_seconds=sum(core["processor_seconds"] for core in told["cores"]),
            instances=outcomes,
            answers=answers,
            whole=dict(self.made.whole),
        )
