# SPDX-License-Identifier: Apache-2.0
"""Random programs on the CPU against the interpreter, a fixed number of them; and a mistake is found and made small.

`./sluice fuzz` runs as many as one likes.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from compiler.frontend import typed
from compiler.fuzz import driver, graph_driver, targets, tokens
from compiler.fuzz.compare import disagreement
from compiler.fuzz.generate import Elements
from compiler.fuzz.graph_targets import GRAPH_TARGETS, GraphOutcome, Job
from compiler.fuzz.reduce import reduced, smallest
from compiler.fuzz.writer import MOST_REPEATS, UINT
from compiler.interpreter import values
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element
from compiler.interpreter.program import run_program

PROGRAMS = 16
FEW = 6  # of what takes longer
SEED = 1000


def interpreted(program: typed.Program, streams: targets.Streams, seeds: Sequence[int], signals: targets.Signals) -> targets.Ran:
    """The interpreter as a target of its own: right by definition, unless something is broken in it for the time."""
    elements = {element.name: element for element in program.elements}
    return targets.Ran(
        [
            {name: run_element(elements[name], given, Decide(seed, signals[name])) for name, given in streams.items()}
            for seed in seeds
        ]
    )


def test_the_cpu_agrees_on_random_programs() -> None:
    for report in driver.fuzz(PROGRAMS, SEED, {"cpu": targets.cpu}):
        assert [(failure.case.name, failure.target, failure.message) for failure in report.failures] == []


def test_the_rtl_agrees_on_random_programs() -> None:
    (report,) = driver.fuzz(FEW, SEED, {"rtl": targets.rtl_simulation})
    assert [(failure.case.name, failure.target, failure.message) for failure in report.failures] == []
    assert report.compared["rtl"] >= FEW // 2


def test_random_configurations_agree() -> None:
    (report,) = graph_driver.fuzz(FEW, SEED, GRAPH_TARGETS)
    assert [(failure.case.name, failure.target, failure.message) for failure in report.failures] == []
    assert all(count >= FEW // 2 for count in report.compared.values())


CHAIN = """
.element Add (packet in -> packet out) {
    .handler { flit x = read(in); x.meta.mark += 1; write(out, x); }
}
Add :: first
Add :: second
from_lane[0] -> first => second -> to_lane[0]
"""


def chain() -> tuple[Job, GraphOutcome]:
    """A configuration, and what the interpreter makes of it."""
    case = driver.Case("chain", CHAIN, SEED)
    program, message = driver.loaded(case)
    assert program is not None, message
    job = graph_driver.job_of(case, program)
    ran = run_program(program, job.inputs(0))
    streams = zip(program.channels, ran.streams, strict=True)
    taken = {(c.target.instance, c.target.port): list(found) for c, found in streams if c.target.instance}
    return job, GraphOutcome(ran.instances, taken, ran.lanes)


def test_a_right_configuration_is_right() -> None:
    job, outcome = chain()
    assert outcome.left and len(outcome.left[0]) > 3
    assert graph_driver.disagreement(job, 0, outcome) == ""


@pytest.mark.parametrize("instance", ["first", "second"])
def test_finds_a_flit_that_a_channel_lost(instance: str) -> None:
    job, outcome = chain()
    assert outcome.taken is not None
    del outcome.taken[instance, 0][0]
    assert graph_driver.disagreement(job, 0, outcome).startswith("channel")


def test_finds_what_a_lane_lost() -> None:
    job, outcome = chain()
    assert outcome.left is not None
    outcome.left[0].pop()
    assert graph_driver.disagreement(job, 0, outcome).startswith("channel")


def test_finds_an_element_that_stops() -> None:
    job, outcome = chain()
    element, first = job.program.instances[0].element, outcome.instances["first"]
    stopped = replace(first, iterations=1, outputs={"out": first.outputs["out"][:1]}, state={})
    assert "although another one can run" in disagreement(element, {"in": job.inputs(0)[0]}, stopped)


def test_the_interpreter_agrees_with_its_own_replay() -> None:
    report = driver.check(driver.cases(PROGRAMS, SEED, driver.FEATURES), {"interpreter": interpreted})
    assert [(failure.case.name, failure.message) for failure in report.failures] == []


def test_a_target_that_raises_names_the_program_and_runs_the_others() -> None:
    def raising(program: typed.Program, streams: targets.Streams, seeds: Sequence[int], signals: targets.Signals) -> targets.Ran:
        if f"E{SEED + 3}" in streams:
            raise RuntimeError("too hard")
        return interpreted(program, streams, seeds, signals)

    report = driver.check(driver.cases(FEW, SEED, driver.FEATURES), {"raising": raising})
    failures = [(failure.case.name, failure.target, failure.message) for failure in report.failures]
    assert failures == [(f"E{SEED + 3}", "raising", "RuntimeError: too hard")]
    assert report.compared == {"raising": FEW - 1}


def test_random_programs_do_something() -> None:
    busy = 0
    for case in driver.cases(PROGRAMS, SEED, driver.FEATURES):
        program, message = driver.loaded(case)
        assert program is not None, message
        streams, signals = tokens.streams(program, case.seed), tokens.signals(program, case.seed)
        outcome = interpreted(program, streams, [0], signals).outcomes[0][case.name]
        busy += outcome.iterations > 3 and any(len(set(found)) > 1 for found in outcome.outputs.values())
    assert busy > PROGRAMS // 2


def test_random_programs_read_constant_arrays_and_change_arguments() -> None:
    texts = [case.text for case in driver.cases(10 * PROGRAMS, SEED, driver.FEATURES)]
    for found in (r"^ .*_C0\[", r"^ .*\bf\d+\(.*&\w"):
        assert sum(bool(re.search(found, text, re.MULTILINE)) for text in texts) > PROGRAMS // 2, found


def test_no_index_is_a_constant_behind_the_last_entry() -> None:
    writer = Elements(random.Random(1), "E", driver.FEATURES)
    writer.know("k0", UINT, False)
    for count in range(1, 2 * MOST_REPEATS):
        assert any("k0" in writer.index(count) for _ in range(100)) == (count >= MOST_REPEATS)


SUSPECT = """
struct S_pair_t {
    uint<5> a;
    int<11> b;
}
.element S (uint<8> in0, uint<8> in1 -> uint<8> out0) {
    .state {
        uint<8> total;
        S_pair_t pairs[4];
    }
    .handler {
        uint<8> x = read(in0);
        uint<8> y = read(in1);
        for (uint i = 0; i < 4; i++) {
            pairs[i].b += (int<11>) x;
        }
        if ((pairs[1].b > (int<11>) 100)) {
            total = (uint<8>) ((total + x) ^ ((uint<8>) (x + 1) % (uint<8>) (y | 1)));
        }
        else {
            total++;
        }
        write(out0, total);
    }
}
"""


def test_finds_a_wrong_operator_and_reduces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    right = values.binary

    def wrong(operator: str, left: int, right_value: int, kind: typed.Type) -> int:
        return right(operator, left, right_value, kind) ^ (operator == "%")

    def broken(program: typed.Program, streams: targets.Streams, seeds: Sequence[int], signals: targets.Signals) -> targets.Ran:
        with monkeypatch.context() as patch:
            patch.setattr(values, "binary", wrong)
            return interpreted(program, streams, seeds, signals)

    (failure,) = driver.check([driver.Case("S", SUSPECT, SEED)], {"broken": broken}).failures
    small = reduced(failure, {"broken": broken}).case.text
    assert "%" in small
    assert len(small.splitlines()) <= 14, small


def test_reduces_to_the_line_that_matters() -> None:
    text = ".element E {\n    a;\n    if (b) {\n        c;\n        keep(x + (y * 2));\n    }\n    d;\n}\n"
    assert smallest(text, lambda texts: ["keep" in found for found in texts]).strip() == "keep0;"
    assert smallest(text, lambda texts: [True] * len(texts), seconds=0) == text, "no time to try"


def test_random_configurations_are_right() -> None:
    for seed in (77028, 77047, *range(78000, 78030)):  # the first two asked for bits that a token does not have
        program, message = driver.loaded(graph_driver.case(seed))
        assert program, message
