# SPDX-License-Identifier: Apache-2.0
"""Runs the C++ of elements over given tokens: the CPU as a target of the differential tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.backends import cpp, cpp_build, cpp_packets
from compiler.frontend import typed
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.element import Outcome
from compiler.native_cpp import bodies_blamed

LIMIT_SECONDS = 120


def _case(
    element: typed.Element,
    name: str,
    streams: Mapping[str, Sequence[int]],
    seed: int,
    signals: Sequence[SignalCall],
) -> str:
    lines = [f"element {name} {seed}"]
    lines += [f"token {port.index} {token:x}" for port in element.inputs for token in streams.get(port.name, ())]
    lines += [" ".join(["signal", call.name or "-", *(f"{a:x}" for a in call.arguments)]) for call in signals]
    return "\n".join([*lines, "run"]) + "\n"


def outcome(found: Mapping[str, Any]) -> Outcome:
    """What `cases` printed, as the interpreter's own outcome."""
    return Outcome(
        {port: [int(token, 16) for token in tokens] for port, tokens in found["outputs"].items()},
        {name: int(value, 16) for name, value in found["state"].items()},
        found["log"],
        found["iterations"],
        [int(answer, 16) for answer in found["answers"]],
        found["lines"],
        found["failures"],
        found["discarded"],
        found["mended"],
    )


def run(
    program: typed.Program,
    streams: Mapping[str, Mapping[str, Sequence[int]]],
    seed: int,
    signals: Mapping[str, Sequence[SignalCall]] | None = None,
) -> dict[str, Outcome]:
    """Every element named in `streams` over its tokens, by its own choices from `seed`. Raises BuildError where g++ refuses, and
    RuntimeError where the program fails."""
    return run_built(cpp_build.program(cpp.generate(program), "cases"), program, streams, [seed], signals)[0]


def run_built(
    binary: Path,
    program: typed.Program,
    streams: Mapping[str, Mapping[str, Sequence[int]]],
    seeds: Sequence[int],
    signals: Mapping[str, Sequence[SignalCall]] | None = None,
) -> list[dict[str, Outcome]]:
    """As `run`, with each of the seeds in one process, by an executable of the program."""
    classes = cpp.class_names(program)
    elements = {element.name: element for element in program.elements}
    text = "".join(
        _case(elements[name], classes[name], found, seed, (signals or {}).get(name, ()))
        for seed in seeds
        for name, found in streams.items()
    )
    done = subprocess.run([str(binary)], input=text, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{binary.name} ended with {done.returncode}: {done.stderr[-2000:]}")
    lines = iter(done.stdout.splitlines())
    return [{name: outcome(json.loads(next(lines))) for name in streams} for _ in seeds]


def run_graph(
    binary: Path,
    packets: Sequence[tuple[int, bytes]],
    seeds: Sequence[int],
    calls: Sequence[tuple[str, SignalCall]],
    last: Sequence[tuple[str, SignalCall]] = (),
) -> list[tuple[dict[str, Outcome], dict[int, list[tuple[bytes, bool]]]]]:
    """For each seed: what every instance of a configuration did, and the packets with their `error` bit that left, by lane.
    `packets`: lane and bytes; `calls`: instance and signal; `last`: those when all has come to rest. RuntimeError where the program
    fails."""
    lines = [f"packet {lane} {data.hex()}" for lane, data in packets]
    for command, found in (("signal", calls), ("last", last)):
        lines += [" ".join([command, name, call.name, *(f"{a:x}" for a in call.arguments)]) for name, call in found]
    text = "\n".join([*lines, *(f"run {seed}" for seed in seeds)]) + "\n"
    done = subprocess.run([str(binary)], input=text, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{binary.name} ended with {done.returncode}: {done.stderr[-2000:]}")
    runs = []
    for line in done.stdout.splitlines():
        found = json.loads(line)
        left = {int(lane): [(bytes.fromhex(p.lstrip("!")), p[:1] == "!") for p in given] for lane, given in found["lanes"].items()}
        runs.append(({name: outcome(told) for name, told in found["instances"].items()}, left))
    return runs


def run_captures(
    program: typed.Program, arguments: Sequence[str], progress: Callable[[str], None], exact: bool = False
) -> dict[str, Any]:
    """The configuration over captures (`host/cpu/captures.cc` has the arguments); what it printed, and its outcome by instance as
    `instances`. `exact`: on the engine that moves flits, which also runs where channels lead back. Raises BuildError, and
    RuntimeError with a sentence where it fails."""
    progress("compiling")
    packets = None if exact else cpp_packets.generate(program)
    if packets:
        with bodies_blamed(program):
            binary = cpp_build.program(packets.text, "captures", engine="packets")
    else:
        binary = cpp_build.program(cpp.generate(program), "captures")
    done = subprocess.run([str(binary), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"{binary.name} ended with {done.returncode}")
    if done.stderr:
        progress(done.stderr.strip())
    found: dict[str, Any] = json.loads(done.stdout)
    found["instances"] = {name: outcome({"outputs": {}, **told}) for name, told in found["instances"].items()}
    return found
