# SPDX-License-Identifier: Apache-2.0
"""The harnesses find the figures of small runs, and count lost updates, wrong results and wrong order; the tables of the docs, of
figures made up here. Slow: programs with the other schedulers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import every, stateful
from bench.simulator import QUICK
from bench.stateful import paper, program_rows, programs, schedulers, synthetic, unit
from bench.stateful.schedulers import BLOCK, OF_PROGRAMS, SYNTHETIC, TRAFFIC, Scheduler
from testing.slow import except_for

BY_NAME = {scheduler.name: scheduler for scheduler in SYNTHETIC}
MIXES = {traffic.name: traffic for traffic in TRAFFIC}
SLUICE = next(scheduler for scheduler in OF_PROGRAMS if scheduler.name == "sluice")
BEFORE, CONTAINERS = 16, 48  # where they are in a record


@pytest.mark.parametrize("scheduler", SYNTHETIC, ids=BY_NAME)
def test_figures_of_small_runs(scheduler: Scheduler) -> None:
    loop = 1 if scheduler.composed else scheduler.loop_cycles
    row = synthetic.row(scheduler, MIXES["1 uniform"], 500, QUICK)
    assert (row["cycles_per_phv"], row["misordered"], row["lost_updates"], row["ratio_to_bound"]) == (loop, 0, 0, 1)
    row = synthetic.row(scheduler, MIXES["Zipf 1.0"], 500, QUICK)
    assert 1 <= row["cycles_per_phv"] < 3 and row["misordered"] == row["lost_updates"] == 0
    row = synthetic.random_row(scheduler, 1, 5000, QUICK)
    assert (row["phvs"], row["misordered"], row["lost_updates"]) == (5000, 0, 0)


def test_a_million_flows() -> None:
    row = synthetic.many_flows_row(20_000, QUICK)
    assert row["flows"] == 2**20 and row["ratio_to_bound"] < 1.1 and row["misordered"] == row["lost_updates"] == 0


def test_judge_sees_lost_updates_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flows that share a state in a memory that is too small; a queue without the reorder buffer that is asked for."""
    small = {**BY_NAME["sluice"].parameters, "AddressBits": 8}
    found = synthetic.run(small, [1, 257] * 20, options=QUICK)
    assert found["lost_updates"] > 30 and found["misordered"] == 0
    unordered = {**BY_NAME["paper"].parameters, "Reorder": 0}
    program = synthetic.built(unordered, QUICK)
    monkeypatch.setattr(synthetic, "built", lambda *_: program)
    found = synthetic.run(BY_NAME["paper"].parameters, [1, 1, 2, 3] * 10, options=QUICK)
    assert found["misordered"] > 10 and found["lost_updates"] == 0


@pytest.mark.parametrize("name", programs.APPLICATIONS)
@pytest.mark.parametrize(
    "scheduler", except_for([one for one in OF_PROGRAMS if one != SLUICE], OF_PROGRAMS), ids=lambda scheduler: scheduler.name
)
def test_figures_of_programs(scheduler: Scheduler, name: str) -> None:
    application = programs.application(name)
    assert application.composes and len(application.packets) == programs.PACKETS
    row = program_rows.row(scheduler, application, MIXES["1 uniform"], 1000, QUICK)
    assert (row["cycles_per_phv"], row["misordered"], row["lost_updates"]) == (scheduler.loop_cycles, 0, 0)
    stalled = program_rows.random_rows(application, (scheduler,), 5000, QUICK)[0]
    assert (stalled["phvs"], stalled["misordered"], stalled["lost_updates"]) == (5000, 0, 0)


def judged(change: Callable[[list[bytes]], list[bytes]], name: str = "hitters") -> dict[str, Any]:
    """What the harness finds of a program, with the records that it judges by changed."""
    application, addresses = programs.application(name), MIXES["4 uniform"].addresses(400)
    with program_rows.files(application, change([*programs.records(application, addresses)])) as inputs:
        return program_rows.run(SLUICE, inputs, options=QUICK)


def flipped(record: bytes, at: int) -> bytes:
    return record[:at] + bytes([record[at] ^ 1]) + record[at + 1 :]


def test_judge_of_programs_sees_a_wrong_state_and_a_wrong_packet() -> None:
    assert judged(lambda records: records)["lost_updates"] == 0
    assert judged(lambda records: [*records[:9], flipped(records[9], BEFORE), *records[10:]])["lost_updates"] == 1
    found = judged(lambda records: [*records[:9], flipped(records[9], CONTAINERS), *records[10:]])
    assert found["wrong_results"] == found["lost_updates"] == 1


def test_judge_of_programs_sees_an_update_that_is_lost() -> None:
    """Records as if each packet had a flow of its own; and of another program."""

    def forgotten(records: list[bytes]) -> list[bytes]:
        alone = programs.records(programs.application("hitters"), range(len(records)))
        return [record[:4] + other[4:] for record, other in zip(records, alone, strict=True)]

    assert judged(forgotten)["lost_updates"] > 300
    addresses = MIXES["4 uniform"].addresses(400)
    found = judged(lambda records: [*programs.records(programs.application("knocking"), addresses)])
    assert found["wrong_results"] > 300


def test_judge_of_the_unit_sees_a_wrong_lane() -> None:
    numbers = [1, 1, 2, 1]
    assert unit.wrong_lanes(numbers, [1, 2, 1, 1]) == 0
    assert unit.wrong_lanes(numbers, [1, 1, 1, 1]) == 1
    assert unit.wrong_lanes(numbers, [1, 2]) == 2


@pytest.mark.slow
def test_latency_of_the_unit() -> None:
    lone, loaded = unit.measure(QUICK)["rows"]
    assert lone["wrong"] == loaded["wrong"] == 0 and lone["cycles_least"] == lone["cycles_most"] <= loaded["cycles"]


def test_clock_is_of_the_slowest_part_or_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedulers, "golden", lambda: {SLUICE.part: {"ecp5.mhz": 200.0}})
    assert schedulers.clock(SLUICE.parts) == {"clock_ns": None, "clock_of": f"not placed and routed: {BLOCK}"}
    monkeypatch.setattr(schedulers, "golden", lambda: {SLUICE.part: {"ecp5.mhz": 200.0}, BLOCK: {"ecp5.mhz": 125.0}})
    assert schedulers.clock(SLUICE.parts) == {"clock_ns": 8.0, "clock_of": BLOCK}


def test_parameters_are_those_of_the_cost() -> None:
    for scheduler in (*SYNTHETIC, *OF_PROGRAMS):
        for part in scheduler.parts:
            given = schedulers.PARTS[part]["parameters"]
            assert {name: scheduler.parameters[name] for name in given} == given
    assert paper.default("sl_scheduler", "Depth") == 8 and paper.default("sl_stateful_unit", "Conditions") == 8


def made_up() -> dict[str, Any]:
    """A result, smaller than a real one."""
    wrong = {"misordered": 0, "lost_updates": 0}
    spans = {name: {"least": 2, "most": 5} for name in program_rows.LATENCIES}
    rows = [
        {
            **{"scheduler": scheduler.name, "program": scheduler.program or "knocking", "traffic": traffic.name, "flows": 4},
            **{"loop_cycles": scheduler.loop_cycles, "clock_ns": None, "loop_ns": None, "clock_of": "no clock"},
            **{"cycles_per_phv": 1.5, "latencies": spans, **wrong},
        }
        for scheduler in (*SYNTHETIC, *OF_PROGRAMS)
        for traffic in TRAFFIC
    ]
    depths = [{"flows": flows, "depth": depth, "cycles_per_phv": flows / depth, **wrong} for flows in (1, 4) for depth in (2, 8)]
    areas = [{"depth": depth, "xcup.lut": 100.0 * depth, "ecp5.mhz": 212.4} for depth in (2, 8)]
    loads = [{"load": name, "cycles": 31.0, "ns": None} for name in unit.GAPS]
    return {
        "rows": rows,
        "depths": depths,
        "many_flows": {"flows": 2**20, "cycles_per_phv": 1.004, **wrong},
        "random": [{"scheduler": "paper", "phvs": 1000, "misordered": 0, "lost_updates": 3}],
        "phvs": 100,
        "latencies": stateful.latencies([row for row in rows if row["program"] == "knocking"]),
        "unit_latency": {"rows": loads},
        "paper": {**paper.measure(), "depths": areas},
    }


def test_tables_of_the_docs() -> None:
    written = stateful.tables(made_up())
    assert set(written) == every.places("stateful")
    assert "| Zipf 1.3 | 1.50 | 1.50 | 1.50 | 1.50 | 1.50 |" in written["stateful"]
    assert "| 4 | 2.00 | 0.50 |" in written["stateful-depth"] and "| UltraScale+ LUT | 200 | 800 |" in written["stateful-depth"]
    assert written["stateful-checks"].endswith(
        "1,000 with random stalls: 3. One of the runs has 1,048,576 flows, whose records `sluice` takes in 1.00 cycles each."
    )
    assert "actions done, with reorder buffer | 2 |" in written["stateful-latency"]
    assert "| ALUs of actions | 22 | 22 |" in written["stateful-parameters"]


def test_plots(tmp_path: Path) -> None:
    stateful.plot(made_up(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"stateful_{name}.svg" for name in ("area", "depth", "methods")]


def test_cycles_are_compared_with_the_model() -> None:
    rows = [
        {"scheduler": "paper", "program": "x", "traffic": f"{flows} uniform", "cycles_per_phv": 2 * cycles}
        for flows, cycles in stateful.MODEL.items()
    ]
    assert set(stateful.to_model(rows).values()) == {2.0}
