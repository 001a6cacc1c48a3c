# SPDX-License-Identifier: Apache-2.0
"""The harness finds the figures of small runs, and counts lost updates and wrong order; the tables of the docs, of figures made up
here."""

from __future__ import annotations

import pytest

from bench import every, stateful
from bench.simulator import QUICK
from bench.stateful import SCHEDULERS, TRAFFIC

BY_NAME = {scheduler.name: scheduler for scheduler in SCHEDULERS}
MIXES = {traffic.name: traffic for traffic in TRAFFIC}


@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=BY_NAME)
def test_figures_of_small_runs(scheduler: stateful.Scheduler) -> None:
    loop = 1 if scheduler.composed else scheduler.loop_cycles
    row = stateful.row(scheduler, MIXES["1 uniform"], 500, QUICK)
    assert (row["cycles_per_phv"], row["misordered"], row["lost_updates"], row["ratio_to_bound"]) == (loop, 0, 0, 1)
    row = stateful.row(scheduler, MIXES["Zipf 1.0"], 500, QUICK)
    assert 1 <= row["cycles_per_phv"] < 3 and row["misordered"] == row["lost_updates"] == 0
    row = stateful.random_row(scheduler, 1, 5000, QUICK)
    assert row == {"scheduler": scheduler.name, "stalls_percent": 30, "phvs": 5000, "misordered": 0, "lost_updates": 0}


def test_judge_sees_lost_updates_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flows that share a state in a memory that is too small; a queue without the reorder buffer that is asked for."""
    small = {**BY_NAME["sluice"].parameters, "AddressBits": 8}
    found = stateful.run(small, [1, 257] * 20, options=QUICK)
    assert found["lost_updates"] > 30 and found["misordered"] == 0
    unordered = {**BY_NAME["paper"].parameters, "Reorder": 0}
    program = stateful.built(unordered, QUICK)
    monkeypatch.setattr(stateful, "built", lambda *_: program)
    found = stateful.run(BY_NAME["paper"].parameters, [1, 1, 2, 3] * 10, options=QUICK)
    assert found["misordered"] > 10 and found["lost_updates"] == 0


def test_tables_of_the_docs() -> None:
    wrong = {"misordered": 0, "lost_updates": 0}
    rows = [
        {"scheduler": scheduler.name, "traffic": traffic.name, "loop_cycles": scheduler.loop_cycles, "cycles_per_phv": 1.5, **wrong}
        for scheduler in SCHEDULERS
        for traffic in TRAFFIC
    ]
    depths = [{"flows": flows, "depth": depth, "cycles_per_phv": flows / depth, **wrong} for flows in (1, 4) for depth in (2, 8)]
    random = [{"scheduler": "paper", "phvs": 1000, "misordered": 0, "lost_updates": 3}]
    written = stateful.tables({"rows": rows, "depths": depths, "random": random, "phvs": 100})
    assert set(written) == every.places("stateful")
    assert "| Zipf 1.3 | 1.50 | 1.50 | 1.50 | 1.50 | 1.50 |" in written["stateful"]
    assert "| 4 | 2.00 | 0.50 |" in written["stateful-depth"]
    assert written["stateful-checks"].endswith("each scheduler: 3.")
