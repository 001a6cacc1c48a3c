# SPDX-License-Identifier: Apache-2.0
"""The C++ of elements against the interpreter: same tokens, states, answers and messages, by the choices that C++ made."""

from functools import cache

import pytest

from compiler.backends import cpp, cpp_run
from compiler.frontend import typed as t
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Outcome, run_element
from compiler.tests import trees
from compiler.tests.test_interpreter import PACKET, masked, merge, passes

SEEDS = range(6)
STREAMS = {
    "Count": {"PORT_1": PACKET * 8},
    "Tee": {"in": PACKET},
    "Join": {"a": [2, 3, 5, 4, 1], "b": [10, 20]},
    "Merge": {"a": PACKET * 3, "b": PACKET * 2},
    "Masked": {"PORT_1": [10, 20, 30], "PORT_2": [100]},
    "Passes": {"in": [2, *PACKET, PACKET[0], *PACKET, trees.flit(4, sop=True, empty=1), *PACKET]},
}
SIGNALS = {"Count": [SignalCall("", (0,)), SignalCall("", (1,))]}


@cache
def program() -> t.Program:
    return t.Program((trees.count(), trees.tee(), trees.join(), merge(), masked(), passes()), (), (), 0)


@cache
def outcomes(seed: int) -> dict[str, Outcome]:
    return cpp_run.run(program(), STREAMS, seed, SIGNALS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("element", program().elements, ids=lambda element: element.name)
def test_agrees_with_the_interpreter(element: t.Element, seed: int) -> None:
    assert disagreement(element, STREAMS[element.name], outcomes(seed)[element.name]) == ""


@pytest.mark.parametrize("element", program().elements, ids=lambda element: element.name)
def test_the_plain_run_makes_the_same_choices(element: t.Element) -> None:
    plain = run_element(element, STREAMS[element.name], Decide(0, SIGNALS.get(element.name, ())))
    assert outcomes(0)[element.name] == plain


def test_seeds_make_other_choices() -> None:
    assert len({str(outcomes(seed)["Merge"].log) for seed in SEEDS}) > 2
    assert len({str(outcomes(seed)["Masked"].outputs) for seed in SEEDS}) > 1
    assert len({str(outcomes(seed)["Count"].answers) for seed in SEEDS}) > 1


def test_a_wrong_outcome_is_told() -> None:
    outcome = outcomes(0)["Join"]
    wrong = Outcome({"out": [2, 14, *outcome.outputs["out"][2:]]}, outcome.state, [], outcome.iterations)
    assert disagreement(trees.join(), STREAMS["Join"], wrong).startswith(
        "output out: 1 tokens differ: token 1: expected 0xd, got 0xe"
    )
    late = Outcome(outcome.outputs, outcome.state, [], outcome.iterations + 1)
    assert "iterations" in disagreement(trees.join(), STREAMS["Join"], late)
    other = Outcome(outcome.outputs, {"tries": 9}, [], outcome.iterations)
    assert "state tries" in disagreement(trees.join(), STREAMS["Join"], other)


def test_names_stay_and_lines_are_told() -> None:
    text = cpp.generate(program())
    assert "state.count = state.count + Uint<64>(1);" in text
    assert "flit_t x = in.PORT_1.read();" in text
    assert "// tree.sl:1" in text
