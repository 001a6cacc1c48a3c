# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of compiled elements share: elements from files, and cycles an iteration in simulation of the RTL.

The simulator is Verilator's, with a token at every input and room at every output in every cycle. The cycles of an iteration are
counted between the first and the last iteration of a run, so that reset and sweeps of memories do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler.compile import Compiled, HardwareError, compile_element
from compiler.frontend import typed
from compiler.frontend.program import load_text, shown
from compiler.frontend.source import Diagnostics
from compiler.fuzz.compare import disagreement
from compiler.interpreter.packets import Packet, to_flits
from compiler.targets import rtl, rtl_outcome

CLOCKS_MHZ = (200.0, 195.0, 190.0, 185.0, 180.0, 170.0, 160.0, 150.0)
LIMIT = 400_000  # cycles of a run

Streams = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Rate:
    """Cycles an iteration, how many iterations were counted, and how the run differs from the interpreter's, or nothing."""

    cycles: float
    iterations: int
    disagreement: str


def elements(path: Path) -> list[typed.Element]:
    """The elements of a file, with their default parameters. Raises ValueError with its errors."""
    return elements_of(path.read_text(), path)


def elements_of(text: str, path: Path) -> list[typed.Element]:
    """The same of a text that takes the place of a file."""
    diagnostics = Diagnostics()
    program = load_text(text, shown(path), diagnostics)
    if program is None:
        raise ValueError("".join(error.render() for error in diagnostics.sorted()))
    return list(program.elements)


def fastest(element: typed.Element, clocks_mhz: Sequence[float] = CLOCKS_MHZ) -> Compiled:
    """The element for the fastest of some clocks at which its II is the smallest. Raises HardwareError."""
    tried: list[Compiled] = []
    for clock in clocks_mhz:
        tried.append(compile_element(element, 1000 / clock))
        if tried[-1].plan.interval == 1:
            break
    return min(tried, key=lambda one: one.plan.interval)


def compiled_or_error(element: typed.Element, clocks_mhz: Sequence[float] = CLOCKS_MHZ) -> tuple[Compiled | None, str]:
    """The same, or why the element cannot be hardware."""
    try:
        return fastest(element, clocks_mhz), ""
    except HardwareError as error:
        return None, f"{error.code}: {error.text}"


def flits(element: typed.Element, frames: Sequence[bytes]) -> list[int]:
    """Frames as tokens of the element's packet ports."""
    kind = next(port.type for port in (*element.inputs, *element.outputs) if port.is_packet)
    return [flit for frame in frames for flit in to_flits(kind, Packet(frame), 0)]


def rates(compiled: Mapping[str, Compiled], streams: Mapping[str, Streams]) -> dict[str, Rate]:
    """By name, each element over its streams; all of them in one simulator. An element needs two iterations or more."""
    built = rtl.build(rtl_outcome.plans(compiled))
    short = {name: {port: tokens[:1] for port, tokens in given.items()} for name, given in streams.items()}
    first = rtl.run(built, short, pauses=(0, 0), limit=LIMIT)
    runs = rtl.run(built, streams, pauses=(0, 0), limit=LIMIT)
    found = {}
    for name, one in compiled.items():
        run = runs[name]
        counted = run.iterations - first[name].iterations
        cycles = (run.last_cycle - first[name].last_cycle) / counted if counted else 0.0
        wrong = disagreement(one.element, streams[name], rtl_outcome.outcome(run, one.ir, one.layout))
        found[name] = Rate(round(cycles, 4), counted, wrong)
    return found
