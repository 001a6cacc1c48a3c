# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of the whole device at small sizes: they run, and what they claim holds."""

from __future__ import annotations

from pathlib import Path

from bench import every, forward, rules
from bench.forward.device import rows
from bench.rules.library import measure as measure_library

SIZES = {"lanes": 4, "lpm4": 64, "lpm6": 32, "exact4": 64, "exact6": 64}  # of shell/sim/test_device.py: built once


def quiet(text: str) -> None:
    """No progress."""


def test_every_table_forwards_a_flit_in_every_cycle_and_the_right_bytes(tmp_path: Path) -> None:
    found = rows(quiet, sizes=(64, 65, 200), device_sizes=SIZES, count=90, flow_count=16)
    assert len(found) == 3 * 2 * 3
    for row in found:
        assert row["flits_per_cycle"] >= 0.99, row
        assert (row["wrong_packets"], row["missed_packets"]) == (0, 0), row
        assert row["latency_cycles_loaded"]["min"] >= row["latency_cycles"] > 0
    assert {row["size"] for row in found if row["version"] == 6} == {66, 200}, "IPv6 has no smaller packet"
    result = {"rows": found, "rate_clock_mhz": 200.0, "peers": {"testpmd_mac": {"missing": "not here"}}}
    forward.plot(result, tmp_path)
    written = forward.tables({**result, "wrong_packets": 0, "missed_packets": 0})
    assert set(written) == every.places("forward") and written["forward-peers"] == "Not measured: testpmd_mac: not here."
    assert (tmp_path / "forward.svg").stat().st_size > 10_000


def test_rule_operations_through_the_library_reach_every_table() -> None:
    found = measure_library(SIZES)
    assert sorted(found) == ["exact 104x64", "exact 296x64", "lpm 128x32", "lpm 32x64"]
    for figures in found.values():
        assert set(figures) == set(rules.KINDS)
        assert all(one["operations"] >= 28 and one["cycles"] > 0 for one in figures.values())
