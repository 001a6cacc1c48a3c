# SPDX-License-Identifier: Apache-2.0
"""The benchmark of rules through rte_flow, at a small size: it runs, and every driver takes and gives back all rules."""

from __future__ import annotations

import io
import re
import shutil

import pytest
from rich.console import Console

from bench import every, flows

KEYS = ("insertions_per_s", "deletions_per_s")


@pytest.mark.skipif(shutil.which(flows.PROGRAM) is None, reason=f"{flows.PROGRAM} is not installed: make dpdk")
def test_rules_go_into_every_driver_and_out_again() -> None:
    found = flows.measure(lambda text: None, True, rules=500, rtl_rules=40, runs=1)
    for name in (*flows.NOOPS, "functional", "rtl"):
        assert min(found[name]["insertions_per_s"], found[name]["deletions_per_s"]) > 0
    assert found["rtl"]["insertion_cycles"] > found["rtl"]["deletion_cycles"] > 30, "with its operand an insertion takes 34 more"
    assert found["rtl"]["query_cycles"] == 0 < found["rtl"]["register_query_cycles"]
    asked = found["queries"]
    assert set(asked) == set(flows.QUERIES) and all(one["queries_per_s"] > 0 for one in asked.values())
    out = io.StringIO()
    flows.show(found, Console(file=out, width=120))
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:4]]
        for line in out.getvalue().splitlines()
        if len(cells := line.split("│")) == 5
    }
    drivers = {"functional": "functional device", "noop": "no-op", "noop_handles": "no-op with handles", "rtl": "RTL, 40 rules"}
    assert rows == {text: [f"{found[name][key]:,}" for key in KEYS] for name, text in drivers.items()}
    for one in asked.values():
        assert f"{one['query_ns']:,} ns, {one['queries_per_s']:,} a second" in out.getvalue()
    written = flows.tables(found)
    assert set(written) == every.places("flows")
    assert f"| functional device | 500 | {rows['functional device'][0]} | {rows['functional device'][1]} |" in written["flows"]
    for name in flows.NOOPS:
        shares = [found["functional"][key] / found[name][key] for key in KEYS]
        assert [found[f"of_{name}"][key] for key in KEYS] == pytest.approx(shares, abs=0.0006)
        said = re.search(rf"over {drivers[name]}: ([\d.]+)% in, ([\d.]+)% out", out.getvalue())
        assert said and [float(said[n]) / 100 for n in (1, 2)] == pytest.approx(shares, abs=0.0011)


def test_a_rate_is_the_median_of_its_runs_and_keeps_them_beside() -> None:
    runs = [dict(zip(KEYS, rates, strict=True)) for rates in ((5, 300), (1, 100), (3, 900))]
    assert flows.typical(runs) == {"insertions_per_s": 3, "deletions_per_s": 300, "runs": runs}


@pytest.mark.skipif(shutil.which(flows.PROGRAM) is None, reason=f"{flows.PROGRAM} is not installed: make dpdk")
def test_a_driver_that_refuses_a_rule_has_no_rate() -> None:
    with pytest.raises(RuntimeError, match=r"the TCAM is full \(256 rules\)"):
        flows.once(flows.build_driver(), "net_sluice0,device=functional,lanes=[none]", 66_000)
