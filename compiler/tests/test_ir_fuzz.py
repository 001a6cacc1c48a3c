# SPDX-License-Identifier: Apache-2.0
"""Random programs: what lowering and every pass make of them does what the interpreter does.

`SLUICE_FUZZ_MINUTES` sets how long to go on (default: a few programs).
"""

import os

import pytest

from compiler.fuzz import generate
from compiler.ir.lower import lower_states
from compiler.ir.memories import LowerError
from compiler.ir.verify import verify
from compiler.passes import recurrences
from compiler.passes.optimize import stages
from compiler.tests.differential import agrees, elements

PROGRAMS_PER_MINUTE = 60
PROGRAMS = int(os.environ.get("SLUICE_FUZZ_MINUTES", "0")) * PROGRAMS_PER_MINUTE or 16
PARTS = 4


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
def test_every_stage_agrees_on_random_programs(part: int) -> None:
    lowered = 0
    for seed in range(part, PROGRAMS, PARTS):
        element = elements(generate.element(seed, "E"))["E"]
        try:
            made, layout = lower_states(element)
        except LowerError:
            continue  # too large for hardware
        lowered += 1
        changed = [("lower", made), *stages(made)]
        for name, after in (*changed, ("recurrences", verify(recurrences.run(changed[-1][1])))):
            try:
                agrees(element, after, layout, seed + 1)
            except AssertionError as error:
                raise AssertionError(f"program {seed} differs behind {name}") from error
    assert lowered > 0
