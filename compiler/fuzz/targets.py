# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer compares with the interpreter: the elements of many programs in one build, run with every seed of choices."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compiler.backends import cpp, cpp_build, cpp_run
from compiler.compile import Compiled, HardwareError, compile_element
from compiler.frontend import typed
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Outcome, run_element
from compiler.ir import execute
from compiler.ir.lower import lower_states
from compiler.ir.memories import LowerError
from compiler.passes import optimize
from compiler.schedule.pipeline import merge
from compiler.schedule.schedule import ScheduleError
from compiler.targets import rtl, rtl_outcome

CPU_FLAGS = ("-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror")  # compiling takes longer than running
CYCLES = 3_000  # of RTL: enough for all tokens; elements that iterate without any are cut there, and the interpreter replays it all
MOST_NODES = 300  # of an element as RTL: above, it takes the time of ten others
LARGE_NODES, LARGE = 2_000, 8  # one generated element in LARGE may have so many
# Of generated elements, by their number: the clock in ns, and the device whose delays count. The first is for all others.
SETTINGS = ((5.0, "ecp5"), (5.0, "ecp5"), (5.0, "xcup"), (4.0, "ecp5"), (8.0, "ecp5"), (2.5, "xcup"), (20.0, "ecp5"))


@dataclass(frozen=True)
class Ran:
    """`outcomes` by element, for each seed; elements that the target does not take, and why; files that only this run needed."""

    outcomes: Sequence[Mapping[str, Outcome]]
    refused: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def forget(files: Iterable[Path]) -> None:
    """Remove what a run needed."""
    for path in files:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


Streams = Mapping[str, Mapping[str, Sequence[int]]]
Signals = Mapping[str, Sequence[SignalCall]]
Run = Callable[[typed.Program, Streams, Sequence[int], Signals], Ran]


def cpu(program: typed.Program, streams: Streams, seeds: Sequence[int], signals: Signals) -> Ran:
    """The C++. Raises BuildError and RuntimeError."""
    text = cpp.generate(program)
    binary = cpp_build.program(text, "cases", CPU_FLAGS)
    made = cpp_build.object_of(text, CPU_FLAGS)
    return Ran(cpp_run.run_built(binary, program, streams, seeds, signals), {}, (binary, made, made.with_suffix(".cc")))


class _Same:
    """A key that equals only that of the very same element."""

    def __init__(self, element: typed.Element) -> None:
        self.element = element

    def __hash__(self) -> int:
        return id(self.element)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.element is other.element


@functools.lru_cache(maxsize=256)  # a batch: two targets ask, and halves of a batch that failed
def _compiled(one: _Same) -> Compiled:
    """For a clock and a device that its number says; others for the usual ones."""
    number = _number(one.element)
    clock, device = SETTINGS[(number or 0) % len(SETTINGS)]
    return compile_element(one.element, clock, device)


def _number(element: typed.Element) -> int | None:
    """Of an element that a seed made."""
    found = re.fullmatch(r"E(\d+)", element.name)
    return int(found[1]) if found else None


@functools.lru_cache(maxsize=256)
def _nodes(one: _Same) -> int:
    """That its plan has at least; to plan thousands takes a minute."""
    try:
        return len(merge(optimize.run(lower_states(one.element)[0])).nodes)
    except (LowerError, ScheduleError):
        return 0


def _most_nodes(element: typed.Element) -> int:
    number = _number(element)
    return LARGE_NODES if number is not None and number % LARGE == 0 else MOST_NODES


def hardware(program: typed.Program, names: Mapping[str, object]) -> tuple[dict[str, Compiled], dict[str, str]]:
    """The elements that hardware can have, compiled, and why it cannot have the others."""
    compiled, refused = {}, {}
    for element in program.elements:
        if element.name in names:
            most = _most_nodes(element)
            try:
                found = _compiled(_Same(element)) if _nodes(_Same(element)) <= most else None
            except HardwareError as error:
                refused[element.name] = f"{error.code}: {error}"
                continue
            if found is None or len(found.plan.pipeline.nodes) > most:
                refused[element.name] = f"more than {most} nodes"
            else:
                compiled[element.name] = found
    return compiled, refused


def rtl_simulation(program: typed.Program, streams: Streams, seeds: Sequence[int], signals: Signals) -> Ran:
    """The RTL under Verilator. Raises RtlError."""
    compiled, refused = hardware(program, streams)
    if not compiled:
        return Ran([{} for _ in seeds], refused)
    built = rtl.build(rtl_outcome.plans(compiled), rtl.QUICK)
    outcomes = [rtl_outcome.run_built(built, compiled, streams, seed, signals, CYCLES) for seed in seeds]
    return Ran(outcomes, refused, (built.binary.parent,))


def ir(program: typed.Program, streams: Streams, seeds: Sequence[int], signals: Signals) -> Ran:
    """What the passes made of it, run by Python with the interpreter's own choices: nothing to build, so the first to ask."""
    elements = {element.name: element for element in program.elements}
    compiled, refused = hardware(program, streams)
    outcomes = []
    for seed in seeds:
        found = {}
        for name, one in compiled.items():
            log = run_element(elements[name], streams[name], Decide(seed, signals.get(name, ())))
            ran = execute.run_element(one.plan.pipeline.element, streams[name], log.log, log.iterations)
            found[name] = Outcome(
                outputs=ran.outputs,
                state=one.layout.values(ran.state.registers, ran.state.memories),
                log=log.log,
                iterations=ran.iterations,
                answers=ran.answers,
                lines=ran.messages,
                failures=ran.failures,
                discarded=ran.discarded,
                mended=ran.mended,
                was_cut=True,
            )
        outcomes.append(found)
    return Ran(outcomes, refused)


TARGETS: dict[str, Run] = {"ir": ir, "cpu": cpu, "rtl": rtl_simulation}
