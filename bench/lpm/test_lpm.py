# SPDX-License-Identifier: Apache-2.0
"""The table of the docs, of figures made up here: each is in its place."""

from __future__ import annotations

from typing import Any

from bench import every, lpm


def test_table_of_the_docs() -> None:
    one = {"searches_per_cycle": 1.0, "latency_cycles": 16, "write_cycles": 25, "lookup_stalls_during_write": 0}
    result: dict[str, Any] = {"tables": {"32x512": {**one, "wrong_results": 0, "lookups": 200000}}}
    result["rte_lpm"] = {"rules": 512, "single_mlookups_per_s": 194.0, "bulk_mlookups_per_s": 208.0}
    written = lpm.tables(result)
    assert set(written) == every.places("lpm") and "| write, cycles | 25 |" in written["lpm"] and "194.0, 208.0" in written["lpm"]
