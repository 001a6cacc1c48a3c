# SPDX-License-Identifier: Apache-2.0
"""The initiation interval is the least that fits, and is found without trying those below it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from compiler.compile import compile_element
from compiler.schedule import schedule as module
from compiler.schedule.delays import delays
from compiler.schedule.schedule import ScheduleError, schedule
from compiler.tests.differential import elements

SLOW = """
.element Slow (uint<24> in -> uint<24> out) {
    .state { uint<24> a = 1; uint<24> b = 1; }
    .handler {
        a = a / (b | 1) + read(in);
        b = b % (a | 1) + 3;
        write(out, a ^ b);
    }
}
"""
CLOCK = 5.0  # ns


def test_the_interval_is_the_least_and_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = compile_element(elements(SLOW)["Slow"], CLOCK).plan
    assert plan.interval > 20, "two divisions, one behind the other"
    table, solved = delays("ecp5"), list[int]()
    with pytest.raises(ScheduleError, match=f"no initiation interval up to {plan.interval - 1} meets"):
        schedule(plan.pipeline, table, CLOCK, plan.interval - 1)
    solve = module._Problem.solve

    def counted(problem: module._Problem, *slack: Mapping[str, str]) -> object:
        solved.append(1)
        return solve(problem, *slack)

    monkeypatch.setattr(module._Problem, "solve", counted)
    assert schedule(plan.pipeline, table, CLOCK).interval == plan.interval
    assert len(solved) == 4, "not even 1; which states; how much is lacking; the stages"
