# SPDX-License-Identifier: Apache-2.0
"""What other work used is told from the kernel's counters, without what the benchmark itself used."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import machine

TICKS = "cpu  {user} 5 7 1000 50 1 2 900 {user} 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"


@pytest.mark.parametrize(("others", "busy"), [(0, False), (20, False), (100, True), (400, True)])
def test_other_work_makes_the_machine_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int, busy: bool) -> None:
    own, clock = 300, iter([10.0, 12.0])  # ticks of both seconds that pass
    monkeypatch.setattr(machine.os, "sysconf", lambda _: 100)
    monkeypatch.setattr(machine.time, "monotonic", lambda: next(clock))
    used = iter([4.0, 4.0 + own / 100])
    monkeypatch.setattr(machine, "_own_seconds", lambda: next(used))
    stat, loads = tmp_path / "stat", tmp_path / "loadavg"
    stat.write_text(TICKS.format(user=100))
    loads.write_text("0.75 0.2 0.1 1/100 4711\n")
    watch = machine.Watch(stat, loads)
    stat.write_text(TICKS.format(user=100 + own + others))
    told = watch.told()
    assert (told["used"], told["used_by_others"], told["busy"]) == (1.5, others / 200, busy)
    assert told["load_average_before"] == 0.75
    said = machine.warning(told)
    assert (said is not None) == busy and (said is None or f"{others / 200:.2f} of" in said)
