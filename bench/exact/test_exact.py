# SPDX-License-Identifier: Apache-2.0
"""The table of the docs, of figures made up here: each is in its place."""

from __future__ import annotations

from bench import every, exact


def test_table_of_the_docs() -> None:
    cycles = {f"{kind}_cycles": {"average": 26.25, "max": 1297} for kind in ("populate", "delete", "update")}
    figures = {
        "searches_per_cycle": 1.0,
        "latency_cycles": 9,
        "wrong_results": 0,
        "false_misses_during_moves": 0,
        "searches": 9900000,
    }
    written = exact.tables({**cycles, **figures, "entries": 131072, "slots": 145408, "refused": 0, "rte_hash": {"missing": "DPDK"}})
    assert set(written) == every.places("exact") and "| populate, cycles: average, most | 26.2, 1,297 |" in written["exact"]
    assert "| searches | 9,900,000 |" in written["exact"] and "| - |" in written["exact"]
