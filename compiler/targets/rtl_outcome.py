# SPDX-License-Identifier: Apache-2.0
"""The RTL as a target of the fuzzer: elements of a program, each alone, and what came out in the interpreter's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.compile import Compiled, compile_element
from compiler.frontend import typed
from compiler.interpreter.choices import SignalCall, host_calls
from compiler.interpreter.element import Outcome
from compiler.ir.ir import ElementIr
from compiler.ir.states import Layout
from compiler.schedule.schedule import Schedule
from compiler.targets import rtl

LIMIT = 20_000  # cycles behind the sweep of memories, for elements that need no token
PAUSES = ((0, 0), (64, 64), (16, 160), (160, 16))  # by seed


def run(
    program: typed.Program,
    streams: Mapping[str, Mapping[str, Sequence[int]]],
    seed: int,
    signals: Mapping[str, Sequence[SignalCall]],
) -> dict[str, Outcome]:
    """Every element that has streams."""
    compiled = {element.name: compile_element(element) for element in program.elements if element.name in streams}
    return run_built(rtl.build(plans(compiled)), compiled, streams, seed, signals)


def plans(compiled: Mapping[str, Compiled]) -> dict[str, Schedule]:
    """What is built of them."""
    return {name: found.plan for name, found in compiled.items()}


def run_built(
    built: rtl.Built,
    compiled: Mapping[str, Compiled],
    streams: Mapping[str, Mapping[str, Sequence[int]]],
    seed: int,
    signals: Mapping[str, Sequence[SignalCall]],
    limit: int = LIMIT,
) -> dict[str, Outcome]:
    """Every element of a simulator; timers go by the tick of the test bench, not by `signals`.

    `seed` is for pauses of what surrounds them, `limit` in cycles behind the sweep."""
    known = {name: (compiled[name], given) for name, given in signals.items() if name in compiled}
    calls = {
        name: [signal_of(found.ir, call) for call in host_calls(found.element, given)] for name, (found, given) in known.items()
    }
    limit += rtl.sweep(built.elements) + max((_searches(compiled[name], calls[name]) for name in calls), default=0)
    runs = rtl.run(built, streams, calls, seed + 1, PAUSES[seed % len(PAUSES)], limit)
    return {name: outcome(runs[name], found.ir, found.layout) for name, found in compiled.items()}


def _searches(compiled: Compiled, calls: Sequence[rtl.Signal]) -> int:
    """Cycles in which updates of tables look for their rules, at most."""
    return len(calls) * max((table.entries for table in compiled.ir.tables.values()), default=0)


def signal_of(element: ElementIr, call: SignalCall) -> rtl.Signal:
    """A call by its name, as the chain has it."""
    number = [signal.name for signal in element.signals].index(f"signal {call.name}")
    value, low = 0, 0
    for argument, (_, width) in zip(call.arguments, element.signals[number].arguments, strict=True):
        value |= argument << low
        low += width
    return rtl.Signal(number, value)


def outcome(found: rtl.RtlRun, element: ElementIr, layout: Layout) -> Outcome:
    """A run in the interpreter's terms; registers that the hardware does not have keep the value of the reset."""
    registers = {name: found.registers.get(name, register.reset) for name, register in element.registers.items()}
    memories = {
        name: [_word(found, element, name, index) for index in range(memory.entries)] for name, memory in element.memories.items()
    }
    return Outcome(
        outputs=found.outputs,
        state=layout.values(registers, memories),
        log=found.log,
        iterations=found.iterations,
        answers=found.answers,
        lines=found.messages,
        failures=found.failures,
        discarded=found.discarded,
        mended=found.mended,
        was_cut=found.was_cut,
    )


def _word(found: rtl.RtlRun, element: ElementIr, memory: str, index: int) -> int:
    if memory in found.dumped:
        return found.memories.get(memory, {}).get(index, 0)
    return element.memories[memory].reset.get(index, 0)
