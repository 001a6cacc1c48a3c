# SPDX-License-Identifier: Apache-2.0
"""Every program of the tests and of the library as RTL beside the interpreter, which replays its choices: all must agree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import SignalCall
from compiler.targets import rtl, rtl_outcome
from compiler.tests.differential import random_streams
from testing.slow import first

ROOT = rtl.ROOT
FOLDERS = (ROOT / "elements", ROOT / "compiler" / "tests" / "figures", Path(__file__).parent / "programs")
MOST_STATE = 1 << 16  # bits; what is larger is in `library.sl` with fewer entries
MOST_RULES = 64  # of a table, for the same reason
PROGRAMS = [path for folder in FOLDERS for path in sorted(folder.rglob("*.sl"))]


def all_elements() -> dict[str, typed.Element]:
    found: dict[str, typed.Element] = {}
    for path in PROGRAMS:
        diagnostics = Diagnostics()
        program = load(path, diagnostics)
        assert program is not None, "\n".join(error.render() for error in diagnostics.sorted())
        for element in program.elements:
            is_small = sum(state.type.bits for state in element.states) <= MOST_STATE
            if is_small and all(table.entries <= MOST_RULES for table in element.tables):
                found.setdefault(element.name, element)
    return found


ELEMENTS = all_elements()


@pytest.mark.parametrize("seed", first(1, [0, 1]))
def test_rtl_agrees_with_the_interpreter(seed: int) -> None:
    choose = random.Random(seed)
    program = typed.Program(tuple(ELEMENTS.values()), (), (), 0)
    streams = {name: random_streams(element, choose) for name, element in ELEMENTS.items()}
    calls = {name: signals(element.signals, choose) for name, element in ELEMENTS.items()}
    outcomes = rtl_outcome.run(program, streams, seed, calls)
    for name, element in ELEMENTS.items():
        assert disagreement(element, streams[name], outcomes[name]) == "", name


def signals(kinds: tuple[typed.Signal, ...], choose: random.Random) -> list[SignalCall]:
    """A few calls with random arguments."""
    picked = choose.choices(kinds, k=6) if kinds else []
    return [SignalCall(kind.name, tuple(choose.getrandbits(p.type.bits) for p in kind.parameters)) for kind in picked]
