# SPDX-License-Identifier: Apache-2.0
"""Chains of hundreds of `else if` and `case`: read, run, and made into C++ and hardware."""

import pytest

from compiler.backends import cpp
from compiler.compile import compile_element
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element

ARMS = 400
ELSE_IF = "\n".join(f"{'else ' if n else ''}if (x == {n}) y = {n * 7 + 1};" for n in range(ARMS))
SWITCH = "switch (x) {\n" + "\n".join(f"case {n}: y = {n * 7 + 1}; break;" for n in range(ARMS)) + "\n}"
PROGRAM = """.element Chain (uint in -> uint out) {{
    .handler {{
        uint x = read(in);
        uint y = 0;
        {chain}
        write(out, y);
    }}
}}
"""


@pytest.mark.parametrize("chain", [ELSE_IF, SWITCH], ids=["else if", "switch"])
def test_hundreds_of_arms_work_on_every_target(chain: str) -> None:
    diagnostics = Diagnostics()
    program = load_text(PROGRAM.format(chain=chain), "chain.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    element = program.elements[0]
    outcome = run_element(element, {"in": [0, 1, ARMS - 1, ARMS]}, Decide())
    assert outcome.outputs == {"out": [1, 8, (ARMS - 1) * 7 + 1, 0]}
    assert compile_element(element).text
    assert cpp.generate(program)


def test_too_many_arms_are_one_error() -> None:
    diagnostics = Diagnostics()
    chain = "\n".join(f"{'else ' if n else ''}if (x == {n}) y = 1;" for n in range(600))
    assert load_text(PROGRAM.format(chain=chain), "chain.sl", diagnostics) is None
    assert [error.code for error in diagnostics.errors] == ["E0203"]
