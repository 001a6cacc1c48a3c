# SPDX-License-Identifier: Apache-2.0
"""II, stages and clock of every element of the library are those of `golden.json`; no more stages than ClickNP."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bench.compiled import elements, elements_of, fastest
from bench.elements import CLICKNP, CLOCKS_MHZ, EMPTY, golden, library
from toolchain import ROOT


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, float]]:
    every = [element for path in library() for element in elements(path) if element.source_name.lower() == path.stem]
    every += elements_of(EMPTY, ROOT / "empty.sl")
    plans = {element.source_name: fastest(element, CLOCKS_MHZ).plan for element in every}
    return {
        name: {"ii": plan.interval, "depth": plan.depth, "clock_mhz": round(1000 / plan.clock, 1)} for name, plan in plans.items()
    }


def test_the_library_is_as_it_is_to_be(found: dict[str, dict[str, float]]) -> None:
    if os.environ.get("SLUICE_BLESS"):
        golden.write(found)
    wanted = {name: {kind: row[kind] for kind in found[name]} for name, row in golden.read().items()}
    assert found == wanted, "if that is as it should be: SLUICE_BLESS=1 pytest bench/elements/test_golden.py"


@pytest.mark.parametrize("name", CLICKNP)
def test_no_element_is_deeper_than_that_of_clicknp(found: dict[str, dict[str, float]], name: str) -> None:
    assert found[name]["depth"] <= CLICKNP[name]["delay_cycles"]


def test_manual_pages_say_the_same() -> None:
    said = {}
    for name, row in golden.read().items():
        page = ROOT / "elements" / name.lower() / "README.md"
        found = re.search(r"(\d+) stages by", page.read_text()) if page.exists() else None
        if found:
            said[name] = (int(found[1]), row["depth"])
    assert len(said) > 8
    assert {name: pair for name, pair in said.items() if pair[0] != pair[1]} == {}


def test_an_area_that_has_changed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "FILE", tmp_path / "golden.json")
    golden.write({"Count": {"ii": 1, "depth": 1, "xcup": {"lut": 1000, "ff": 100, "lutram": 0, "bram": 2}}})
    golden.write({"Count": {"ii": 1, "depth": 2}})
    assert golden.read()["Count"]["depth"] == 2
    assert golden.compared("Count", {"lut": 1040, "ff": 115, "lutram": 0, "bram": 2}) == []
    assert golden.compared("Count", {"lut": 1060, "ff": 130, "lutram": 0, "bram": 2.5}) == [
        "Count: 1060 LUT instead of 1000",
        "Count: 130 FF instead of 100",
        "Count: 2.5 BRAM instead of 2",
    ]


def test_a_clock_that_has_fallen_or_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "FILE", tmp_path / "golden.json")
    golden.write({"Count": {"ii": 1, "depth": 1, "fmax_mhz": 200}})
    golden.write({"Count": {"ii": 1, "depth": 2}})
    assert golden.read()["Count"] == {"ii": 1, "depth": 2, "fmax_mhz": 200}
    assert golden.compared("Count", {}) == [] == golden.compared("Count", {}, {"fmax_mhz": 181})
    assert golden.compared("Count", {}, {"fmax_mhz": 179}) == ["Count: 179 MHz instead of 200"]
    assert golden.compared("Count", {}, {"fmax_missing": "no route"}) == ["Count: no clock: no route"]
    assert golden.compared("Count", {"missing": "out of memory"}) == ["Count: no area: out of memory"]
