# SPDX-License-Identifier: Apache-2.0
"""The benchmark of rule operations through the library at small sizes, and its table of the docs."""

from __future__ import annotations

from bench import every, rules
from bench.rules.library import measure as measure_library
from shell.sim.build import SMALL


def test_rule_operations_through_the_library_reach_every_table() -> None:
    found = measure_library(SMALL)
    assert sorted(found) == ["exact 104x512", "exact 296x64", "lpm 128x32", "lpm 32x64"]
    for figures in found.values():
        assert set(figures) == set(rules.KINDS)
        assert all(one["operations"] >= 28 and one["cycles"] > 0 for one in figures.values())


def test_table_of_the_docs() -> None:
    sizes = {name: {f"{kind}_cycles": {"average": 28.0} for kind in rules.KINDS} for name in ("32x512", "128x512")}
    library = {"lpm 32x512": {kind: {"cycles": 32.1} for kind in rules.KINDS}}
    result = {"rate_clock_mhz": 200.0, **{name: {"tables": sizes} for name in rules.OFUS}, "library": library}
    written = rules.tables(result)
    assert set(written) == every.places("rules") and "| lpm 32x512 | 28.0 (7.1) | 28.0 (7.1) | 28.0 (7.1) |" in written["rules"]
