# SPDX-License-Identifier: Apache-2.0
"""Runs a program in the element language over packets, for the tests of elements: in the interpreter, as C++, or as RTL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from host.program.captures import read_capture, write_capture
from host.program.run import EXECUTE, ProgramRun


@dataclass(frozen=True)
class Ran:
    """Packets that left, by lane; states by instance and name, as bit patterns; answers of signals by instance, in order."""

    left: list[list[bytes]]
    states: Mapping[str, Mapping[str, int]]
    answers: Mapping[str, Sequence[int]]


def run(
    text: str,
    packets: Sequence[Sequence[bytes]],
    folder: Path,
    target: str = "interpreter",
    signals: Sequence[str] = (),
    lanes: int = 1,
) -> Ran:
    """A configuration over `packets`, by lane; `lanes`: how many to look at afterwards. `folder` is for the files in between.

    `target` and `signals` are those of `sluice run`. An error in the program fails the test and is its message."""
    program = folder / "program.sl"
    program.write_text(text)
    inputs = [folder / f"in{lane}.pcap" for lane in range(len(packets))]
    outputs = [folder / f"out{lane}.pcap" for lane in range(lanes)]
    for path, given in zip(inputs, packets, strict=True):
        write_capture(path, [Packet(data) for data in given])
    diagnostics = Diagnostics()
    loaded = load(program, diagnostics)
    assert loaded, "".join(error.render() for error in diagnostics.sorted())
    found = EXECUTE[target](ProgramRun(program, inputs, outputs, signals, seed=0), loaded, lambda _: None)
    left = [[packet.data for packet in read_capture(path)] for path in outputs]
    states = {name: outcome.state for name, outcome in found.instances.items()}
    return Ran(left, states, {name: outcome.answers for name, outcome in found.instances.items()})
