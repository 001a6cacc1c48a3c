# SPDX-License-Identifier: Apache-2.0
"""The initiation interval is the least that fits, and is found without trying those below it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from compiler.compile import HardwareError, compile_element
from compiler.passes import recurrences
from compiler.schedule import schedule as module
from compiler.schedule.delays import delays
from compiler.schedule.pipeline import Pipeline
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
LARGE = """
.element Large (uint<64> in -> uint<4> out) {
    .state { uint<4> a; uint<4> b; uint<4> c; uint<4> d; }
    .handler {
        ulong x = read(in);
        for (uint i = 0; i < 8; i++) {
            if (((x >> i) & 1) == 1) {
                a = b + (uint<4>) i;
                b = c ^ a;
                c = d + b;
                d = a - c;
            }
        }
        write(out, a);
    }
}
"""
CHOICE = """
.element Choice (uint<BITS> in[2] -> uint<BITS> out) {
    .handler { write(out, select(in)); }
}
"""
CLOCK = 5.0  # ns


@pytest.mark.parametrize(("bits", "later"), [(8, 0), (660, 1)])
def test_a_wide_token_that_is_chosen_late_has_a_register_in_front_of_the_output(bits: int, later: int) -> None:
    plan = compile_element(elements(CHOICE.replace("BITS", str(bits)))["Choice"], CLOCK).plan
    chosen = plan.pipeline.puts["out"].data
    assert chosen.op == "mux" and plan.port["out"] - plan.stage[chosen] == later


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


@pytest.mark.slow
def test_what_is_tried_for_the_interval_does_not_make_an_element_many_times_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    last = "selecting the next value last"
    plan = compile_element(elements(LARGE)["Large"], CLOCK).plan
    assert plan.interval > 1 and plan.tried[0] == last
    monkeypatch.setattr(recurrences, "MOST_COPIES", 1 << 30)  # each next value for each of 16 present ones
    whole = compile_element(elements(LARGE)["Large"], CLOCK).plan
    assert re.fullmatch(last + r": too large, \d,\d{3} operators", whole.tried[0])
    assert len(whole.pipeline.nodes) == len(plan.pipeline.nodes) < 300


@pytest.mark.slow
def test_a_plan_that_is_too_large_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made, tried = module._constraints, list[tuple[int, int]]()

    def counted(pipeline: Pipeline, *given: object) -> module._Problem:
        problem = made(pipeline, *given)  # type: ignore[arg-type]
        tried.append((len(pipeline.nodes), len(problem.rows)))
        return problem

    monkeypatch.setattr(module, "_constraints", counted)
    plan = compile_element(elements(LARGE)["Large"], CLOCK).plan
    small = max(rows for nodes, rows in tried if nodes <= len(plan.pipeline.nodes))
    monkeypatch.setattr(module, "MOST_CONSTRAINTS", small)
    assert max(rows for _, rows in tried) > small, "the second plan has more"
    found = compile_element(elements(LARGE)["Large"], CLOCK).plan
    assert found.interval == plan.interval and "operators with" in found.tried[0]


def test_an_element_that_is_too_large_to_be_scheduled_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONSTRAINTS", 100)
    with pytest.raises(
        HardwareError, match=r"^Slow: \d+ operators with [\d,]+ constraints of time; at most 100 are scheduled$"
    ) as error:
        compile_element(elements(SLOW)["Slow"], CLOCK)
    assert error.value.code == "E0803" and "make the program smaller" in error.value.hint
