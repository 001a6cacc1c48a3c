# SPDX-License-Identifier: Apache-2.0
"""From a checked program to hardware: every element on the device lowered, optimised and scheduled.

What a program has that hardware cannot is an error with its place, like those of the front end: `HardwareError`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from compiler import pace
from compiler.backends import sv_element, sv_graph, sv_shell
from compiler.frontend import typed
from compiler.frontend.source import Diagnostics, Span
from compiler.ir.ir import ElementIr
from compiler.ir.lower import lower_states
from compiler.ir.memories import LowerError
from compiler.ir.states import Layout
from compiler.passes import optimize
from compiler.passes.classify import StateUpdate, classify
from compiler.schedule.delays import delays
from compiler.schedule.plan import plan
from compiler.schedule.schedule import Schedule, ScheduleError
from compiler.schedule.tables import MOST_KEY_BITS

CLOCK = 5.0  # ns: 200 MHz
MICROSECOND = 1000  # ns
TARGET = "ecp5"


class HardwareError(Exception):
    """The program is right, and this target cannot have it."""

    def __init__(self, code: str, text: str, span: Span, hint: str) -> None:
        super().__init__(text)
        self.code, self.text, self.span, self.hint = code, text, span, hint

    def report(self, diagnostics: Diagnostics) -> None:
        """As an error among those of the front end."""
        diagnostics.error(self.code, self.text, self.span, self.hint)


@dataclass(frozen=True)
class Compiled:
    """An element: `ir` as lowered (its registers and memories are those of `layout`), `plan` of what the passes left of it."""

    element: typed.Element
    ir: ElementIr
    layout: Layout
    updates: dict[str, StateUpdate]
    plan: Schedule

    @property
    def module(self) -> str:
        """The name of its SystemVerilog module."""
        return sv_element.module_name(self.ir)

    @property
    def text(self) -> str:
        """Its SystemVerilog."""
        return sv_element.generate(self.plan)

    @property
    def text_in_shell(self) -> str:
        """Its SystemVerilog for the device, whose runs have no end."""
        return sv_element.generate(self.plan, stop="1'b0")

    @cached_property
    def token_cycles(self) -> dict[str, int | None]:
        """For each input, and for `pace.ANY` of them: the most cycles for a token in the runs that were tried, None where too many
        iterations took none."""
        found = pace.iterations(self.plan.pipeline.element)
        return {name: count and count * self.plan.interval for name, count in found.items()}

    @property
    def token_interval(self) -> int:
        """Cycles for a token: II, or what an element takes that iterates over a token."""
        worst = self.token_cycles[pace.ANY] or pace.LONGEST * self.plan.interval
        return worst if worst > pace.BETWEEN * self.plan.interval else self.plan.interval


def compile_element(element: typed.Element, clock: float = CLOCK, target: str = TARGET) -> Compiled:
    """One element for a clock of `clock` ns. Raises HardwareError."""
    for table in element.tables:
        if table.key.bits > MOST_KEY_BITS:
            text = f"the keys of '{table.name}' have {table.key.bits} bits; hardware tables support at most {MOST_KEY_BITS}"
            raise HardwareError("E0801", text, table.span, "use a shorter key, or run the program with --target cpu")
    try:
        ir, layout = lower_states(element)
        small = optimize.run(ir)
        found = plan(small, delays(target), clock)
        sv_element.generate(found)
    except LowerError as error:
        hint = error.hint or "make the program smaller, or run it with --target cpu"
        raise HardwareError("E0802", error.text, error.span or element.span, hint) from error
    except ScheduleError as error:
        raise HardwareError("E0803", str(error), element.span, error.hint) from error
    except sv_element.BackendError as error:
        raise HardwareError("E0804", str(error), element.span, "run the program with --target cpu") from error
    _refuse_long_timers(element, found)
    return Compiled(element, ir, layout, classify(small), found)


def _refuse_long_timers(element: typed.Element, found: Schedule) -> None:
    """Raises HardwareError for one that is due again before it has ended."""
    for number, timer in enumerate(element.signals):
        cycles = found.cycles_of(number)
        period = timer.every * MICROSECOND / found.clock
        if timer.every and cycles > period:
            text = f"timer '{timer.name}' takes {cycles:,} cycles, but is due every {period:,.0f} ({1000 / found.clock:g} MHz)"
            least = math.ceil(cycles * found.clock / MICROSECOND)
            hint = f"use a period of at least {least:,} microseconds, or do a part of the work in each run"
            raise HardwareError("E0811", text, timer.span, hint)


def compile_program(program: typed.Program, clock: float = CLOCK, target: str = TARGET) -> dict[str, Compiled]:
    """Every element that is on the device, by its name; all of them where the program has no configuration."""
    on_device = {i.element.name: i.element for i in program.instances if not i.on_host}
    elements = on_device if program.instances else {element.name: element for element in program.elements}
    return {name: compile_element(element, clock, target) for name, element in elements.items()}


def graph_of(name: str, program: typed.Program, compiled: dict[str, Compiled]) -> sv_graph.Graph:
    """The configuration's module. Raises HardwareError."""
    try:
        return sv_graph.generate(name, program, {kind: found.plan for kind, found in compiled.items()})
    except sv_element.BackendError as error:
        raise HardwareError("E0804", str(error), program.channels[0].span, "run the program with --target cpu") from error


def shell_of(
    name: str, program: typed.Program, compiled: dict[str, Compiled], flow_table: bool = False
) -> tuple[sv_graph.Graph, sv_shell.Top]:
    """The configuration's module with what the shell needs of it, and its top there, with the flow table behind it if asked for.
    Raises HardwareError."""
    plans = {kind: found.plan for kind, found in compiled.items()}
    graph_of(name, program, compiled)
    try:
        graph = sv_graph.generate(name, program, plans, in_shell=True)
        return graph, sv_shell.generate(graph, flow_table)
    except sv_element.BackendError as error:
        hint = "merge channels with elements, or move elements to one side"
        raise HardwareError("E0805", str(error), program.channels[0].span, hint) from error
