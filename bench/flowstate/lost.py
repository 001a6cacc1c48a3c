# SPDX-License-Identifier: Apache-2.0
"""Updates that one target lost: tokens and words of the state that differ from what another target has."""

from __future__ import annotations

from compiler.backends import cpp_run
from compiler.frontend import typed
from compiler.interpreter.choices import Replay
from compiler.interpreter.element import Outcome, run_element

IN = "in"  # the only input of a program


def interpreted(element: typed.Element, tokens: list[int], got: Outcome) -> Outcome:
    """What the interpreter does with all tokens, where its timers run as they did in another run."""
    return run_element(element, {IN: tokens}, Replay(got.log))


def on_cpu(program: typed.Program, tokens: list[int]) -> Outcome:
    """What the C++ does with a program of one element."""
    (element,) = program.elements
    return cpp_run.run(program, {element.name: {IN: tokens}}, 0)[element.name]


def updates(element: typed.Element, expected: Outcome, got: Outcome) -> int:
    """How many tokens and words differ; where each flow is kept is seen in the values alone."""
    found = abs(expected.iterations - got.iterations)
    for port in element.outputs:
        tokens, others = expected.outputs[port.name], got.outputs.get(port.name, [])
        found += abs(len(tokens) - len(others)) + sum(one != other for one, other in zip(tokens, others, strict=False))
    hidden = {state.name for state in element.placement}
    for state in element.states:
        if state.name not in hidden:
            found += _words(state.type, expected.state[state.name] ^ got.state.get(state.name, 0))
    return found


def _words(kind: typed.Type, difference: int) -> int:
    """Entries in which two values of a state differ."""
    if not isinstance(kind, typed.Array):
        return int(difference != 0)
    text = f"{difference:b}"[::-1]
    return sum("1" in text[low : low + kind.element.bits] for low in range(0, len(text), kind.element.bits)) if difference else 0
