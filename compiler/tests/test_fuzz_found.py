# SPDX-License-Identifier: Apache-2.0
"""Programs on which a target once disagreed with the interpreter, made small: every target agrees now.

A new one: a file `found/NAME.sl`, whose element or configuration the fuzzer's reducer left. All elements share one build for each
target, and so do all configurations."""

from pathlib import Path

from compiler.fuzz import driver, graph_driver
from compiler.fuzz.graph_targets import GRAPH_TARGETS
from compiler.fuzz.targets import TARGETS

SEED = 3
FOUND = sorted((Path(__file__).parent / "found").glob("*.sl"))
CASES = [driver.Case(path.stem, path.read_text(), SEED) for path in FOUND]
IS_GRAPH = {case.name: " -> to_lane[" in case.text for case in CASES}


def failures(report: driver.Report) -> list[tuple[str, str, str]]:
    return [(failure.case.name, failure.target, failure.message) for failure in report.failures]


def test_elements() -> None:
    cases = [case for case in CASES if not IS_GRAPH[case.name]]
    report = driver.check(cases, TARGETS)
    assert failures(report) == []
    assert report.compared == dict.fromkeys(TARGETS, len(cases))


def test_configurations() -> None:
    cases = [case for case in CASES if IS_GRAPH[case.name]]
    report = graph_driver.check(cases, GRAPH_TARGETS)
    assert failures(report) == []
    assert report.compared == dict.fromkeys(GRAPH_TARGETS, len(cases))
