# SPDX-License-Identifier: Apache-2.0
"""Every program of the tests and of the library as RTL beside the interpreter, which replays its choices: all must agree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Replay
from compiler.interpreter.element import run_element
from compiler.ir.lower import lower_states
from compiler.ir.states import Layout
from compiler.targets import rtl
from compiler.tests.differential import random_streams

ROOT = rtl.ROOT
FOLDERS = (ROOT / "elements", ROOT / "tests" / "programs", Path(__file__).parent / "programs")
PROGRAMS = [path for folder in FOLDERS for path in sorted(folder.rglob("*.sl"))]


def all_elements() -> dict[str, typed.Element]:
    found: dict[str, typed.Element] = {}
    for path in PROGRAMS:
        diagnostics = Diagnostics()
        program = load(path, diagnostics)
        assert program is not None, "\n".join(error.render() for error in diagnostics.sorted())
        for element in program.elements:
            if not element.tables:  # rule tables have no hardware from this compiler yet
                found.setdefault(element.name, element)
    return found


ELEMENTS = all_elements()


@pytest.fixture(scope="module")
def built() -> tuple[rtl.Built, dict[str, Layout]]:
    lowered = {name: lower_states(element) for name, element in ELEMENTS.items()}
    return rtl.build({name: ir for name, (ir, _) in lowered.items()}), {name: layout for name, (_, layout) in lowered.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_rtl_agrees_with_the_interpreter(built: tuple[rtl.Built, dict[str, Layout]], seed: int) -> None:
    simulator, layouts = built
    choose = random.Random(seed)
    streams = {name: random_streams(element, choose) for name, element in ELEMENTS.items()}
    calls = {name: signals(simulator.elements[name].signals, choose) for name in ELEMENTS}
    runs = rtl.run(simulator, streams, calls, seed=seed)
    for name, element in ELEMENTS.items():
        found = runs[name]
        expected = run_element(element, streams[name], Replay(found.log), found.iterations)
        assert found.outputs == expected.outputs, name
        assert found.answers == expected.answers, name
        memories = {
            memory.name: [found.memories.get(memory.name, {}).get(i, 0) for i in range(memory.entries)]
            for memory in simulator.elements[name].memories.values()
        }
        registers = {
            r: found.registers.get(r, simulator.elements[name].registers[r].reset) for r in simulator.elements[name].registers
        }
        assert layouts[name].values(registers, memories) == expected.state, name
        assert found.messages == expected.lines and len(found.failures) == len(expected.failures), name


def signals(kinds: tuple, choose: random.Random) -> list[rtl.Signal]:
    """A few calls with random arguments."""
    bits = max([1, *(sum(width for _, width in kind.arguments) for kind in kinds)])
    return [rtl.Signal(choose.randrange(len(kinds)), choose.getrandbits(bits)) for _ in range(6) if kinds]
